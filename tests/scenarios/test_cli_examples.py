"""Every folder of ``examples/`` is deployed for real, then released in a second version."""

import re
import sys
from pathlib import Path
from typing import Any

import command_world

#: Renders the example's one template with the values it is called with, as helm does.
HELM = f"""#!{sys.executable}
import re, sys
name, chart = sys.argv[2:4] if sys.argv[1] == "template" else sys.argv[1:3]
values = {{}}
files = [chart + "/values.yaml"]
files += [each.partition("=")[2] for each in sys.argv if each.startswith("--values=")]
for file in files:
    values.update(line.strip().split(": ", 1) for line in open(file) if ": " in line)
text = open(chart + "/templates/deployment.yaml").read()
text = text.replace("{{{{ .Release.Name }}}}", name)
print(re.sub(r"{{{{ .Values.(\\w+) }}}}", lambda found: values[found[1]], text))
"""


async def released(given: command_world.World, file: str, old: str, new: str) -> list[Any]:
    """Deploy, release the change by whatever the example says, and return the stages it took."""
    first = await given.run()
    assert first.code == 0, first
    given.edit(file, old, new, message="Release v2")
    second = await given.run("--output", "json")
    assert second.code == 0, second
    return [each["name"] for each in second.events[0]["stages"]]


async def test_istio(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="istio", istio=True) as given:
        stages = await released(given, "manifests.yaml", "shop:v1", "shop:v2")

        assert stages.count("K8S_TRAFFIC_ROUTING") == 2
        assert given.images("us", "shop").startswith("example/shop:v2")
        live = given.find("us", "VirtualService.networking.istio.io", "shop")
        subsets = [each["destination"]["subset"] for each in live["spec"]["http"][0]["route"]]
        assert subsets == ["primary"]


async def test_kustomize(tmp_path: Path) -> None:
    """Each cluster gets its overlay; a cluster without one is left out."""
    async with command_world.world(tmp_path, "us", "eu", "asia", example="kustomize") as given:
        stages = await released(given, "base/deployment.yaml", "catalog:v1", "catalog:v2")

        assert stages == ["K8S_SYNC"]
        for target in ("us", "eu"):
            assert given.running.clusters[target].view.list("Deployment", "catalog")
        assert not given.running.clusters["asia"].view.list("Deployment")


async def test_helm(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="helm") as given:
        program = tmp_path / "bin/helm"
        program.parent.mkdir()
        program.write_text(HELM)
        program.chmod(0o755)
        given.environment["PATH"] = f"{program.parent}:{given.environment['PATH']}"

        stages = await released(given, "values-prod.yaml", "billing:v1", "billing:v2")

        assert stages == ["K8S_CANARY_ROLLOUT", "K8S_PRIMARY_ROLLOUT", "K8S_CANARY_CLEAN"]
        assert given.images("us", "billing") == "example/billing:v2 2/2"


async def test_helm_that_is_not_installed(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="helm") as given:
        given.environment["PATH"] = str(tmp_path)

        ended = await given.run()

        assert ended.code == 2, ended
        assert "the program helm was not found\n  hint: install helm 3" in ended.err


async def test_stateful(tmp_path: Path) -> None:
    """Only where the label says so."""
    prod = {"env": "prod"}
    async with command_world.world(
        tmp_path, "us", "test", example="stateful", labels={"us": prod, "test": {"env": "test"}}
    ) as given:
        stages = await released(given, "manifests.yaml", "queue:v1", "queue:v2")

        assert stages == ["K8S_CANARY_ROLLOUT", "K8S_PRIMARY_ROLLOUT", "K8S_CANARY_CLEAN"]
        assert given.images("us", "queue", "StatefulSet") == "example/queue:v2 3/3"
        assert given.find("us", "StatefulSet", "queue-canary") is None
        assert given.find("test", "StatefulSet", "queue") is None


async def test_quick_sync(tmp_path: Path) -> None:
    """The namespace is created, and what left Git is removed."""
    async with command_world.world(tmp_path, "us", example="quick-sync") as given:
        text = (given.directory / "manifests.yaml").read_text()
        cron_job = text[text.index("---\napiVersion: batch/v1") :]

        stages = await released(given, "manifests.yaml", cron_job, "")

        assert stages == ["K8S_SYNC"]
        assert given.find("us", "Deployment", "tools", "tools") is not None
        assert given.find("us", "CronJob", "tools-cleanup", "tools") is None


async def test_blue_green(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu", example="blue-green") as given:
        # Without real traffic there is nobody to measure by.
        text = (given.directory / "volary.yaml").read_text()
        without = re.sub(r"          postPromotion:\n(            .*\n)+", "", text)
        given.write({"volary.yaml": without.replace("Delay: 5s", "Delay: 1s")})
        stages = await released(given, "manifests.yaml", "shop:v1", "shop:v2")

        assert "K8S_BLUE_GREEN" in stages
        for target in ("us", "eu"):
            assert given.images(target, "shop") == "example/shop:v2 2/2"
            assert given.find(target, "Service", "shop-preview") is None


async def test_scripts(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu", example="scripts") as given:
        await given.deployed()
        given.edit("manifests.yaml", "billing:v1", "billing:v2", message="Release v2")

        ended = await given.run("--output", "json")

        assert ended.code == 0, ended
        lines = [each["line"] for each in ended.events if each.get("event") == "task-logged"]
        assert sum("schema billing goes up for billing" in each for each in lines) == 1
        assert {"looking at us", "looking at eu"} <= set(lines)


async def test_regions(tmp_path: Path) -> None:
    """Replicas are divided, each region has its own, and one cluster of each goes first."""
    places = {"us": "us", "us-2": "us", "eu": "eu", "asia": "asia"}
    labels = {name: {"region": region} for name, region in places.items()}
    async with command_world.world(tmp_path, *places, example="regions", labels=labels) as given:
        await given.deployed()
        given.edit("deployment.yaml", "regions:v1", "regions:v2", message="Release v2")

        ended = await given.run("--output", "json")

        assert ended.code == 0, ended
        waves = [(each["name"], each["targets"]) for each in ended.events[0]["waves"]]
        assert waves == [("first", ["us", "eu", "asia"]), ("rest", ["us-2"])]
        found = {name: given.images(name, "regions") for name in places}
        assert found == {
            "us": "example/regions:v2 3/3",
            "us-2": "example/regions:v2 3/3",
            "eu": "example/regions:v2 1/1",
            "asia": "example/regions:v2 1/1",
        }
        config = given.find("asia", "ConfigMap", "regions")
        assert config is not None
        assert "currency: JPY" in config["data"]["settings.yaml"]
        deployment = given.find("eu", "Deployment", "regions")
        assert deployment is not None
        assert deployment["metadata"]["labels"]["region"] == "eu"


async def test_karmada(tmp_path: Path) -> None:
    """Plain policies of Karmada's say where it goes, how it is divided, and what differs."""
    places = {"us": "us", "eu": "eu", "asia": "asia", "attic": "us", "test": "eu"}
    labels = {
        name: {"region": region, "env": "test" if name == "test" else "prod"}
        for name, region in places.items()
    }
    async with command_world.world(tmp_path, *places, example="karmada", labels=labels) as given:
        stages = await released(given, "workload.yaml", "web:v1", "web:v2")

        assert stages == ["K8S_SYNC"]
        assert {name: given.images(name, "web") for name in ("us", "eu", "asia")} == {
            "us": "example/web:v2 4/4",
            "eu": "eu.example.org/example/web:v2 2/2",
            "asia": "example/web:v2 2/2",
        }
        for name in ("attic", "test"):
            assert given.find(name, "Deployment", "web") is None
        deployment = given.find("eu", "Deployment", "web")
        assert deployment is not None
        assert {"team": "web", "tier": "gold"}.items() <= deployment["metadata"]["labels"].items()
        container = deployment["spec"]["template"]["spec"]["containers"][0]
        assert container["env"] == [{"name": "CURRENCY", "value": "EUR"}]
        config = given.find("asia", "ConfigMap", "web")
        assert config is not None
        assert "currency: JPY" in config["data"]["settings.yaml"]
