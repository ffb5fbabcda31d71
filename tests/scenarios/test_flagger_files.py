"""A directory with Flagger's files is released as it is."""

from pathlib import Path

import command_world
from volary.sandbox import verbs


async def test_a_canary_is_carried_out_on_every_cluster(tmp_path: Path) -> None:
    """First deployment, then a release by weights: routes, pods, configuration, scaler."""
    async with command_world.world(tmp_path, "us", "eu", example="flagger", istio=True) as given:
        first = await given.run()
        assert first.code == 0, first
        for target in ("us", "eu"):
            service = given.find(target, "Service", "greeter")
            assert service["spec"]["selector"] == {"app": "greeter"}
            assert given.find(target, "Canary.flagger.app", "greeter") is None
            await scaled(given, target, to=4)
        given.edit("workload.yaml", "GREETING: hello", "GREETING: good day", message="Say it")
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")
        given.edit("canary.yaml", "stepWeight: 50", "stepWeight: 100", message="At once")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        stages = [each["name"] for each in second.events[0]["stages"]]
        assert stages == [
            "K8S_CANARY_ROLLOUT",
            "K8S_PROGRESSIVE_TRAFFIC",
            "K8S_PRIMARY_ROLLOUT",
            "K8S_CANARY_CLEAN",
        ]
        for target in ("us", "eu"):
            assert given.images(target, "greeter") == "example/greeter:v2 4/4"
            assert given.find(target, "Deployment", "greeter-canary") is None
            assert given.find(target, "ConfigMap", "greeter-canary") is None
            config = given.find(target, "ConfigMap", "greeter")
            assert config["data"] == {"GREETING": "good day"}
            route = given.find(target, "VirtualService.networking.istio.io", "greeter")
            rule = route["spec"]["http"][0]
            assert rule["retries"]["attempts"] == 3
            assert [each["destination"]["subset"] for each in rule["route"]] == ["primary"]


async def test_what_skips_the_analysis_still_starts_canary_first(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="flagger", istio=True) as given:
        text = (given.directory / "canary.yaml").read_text()
        start = text[: text.index("  analysis:")] + "  skipAnalysis: true\n"
        given.write({"canary.yaml": start}, message="No analysis")
        first = await given.run()
        assert first.code == 0, str(first)
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        stages = [each["name"] for each in second.events[0]["stages"]]
        assert stages == ["K8S_CANARY_ROLLOUT", "K8S_PRIMARY_ROLLOUT", "K8S_CANARY_CLEAN"]
        assert given.images("us", "greeter").startswith("example/greeter:v2")


async def test_a_canary_that_never_starts_leaves_primary_alone(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="flagger", istio=True) as given:
        first = await given.run()
        assert first.code == 0, str(first)
        before = given.images("us", "greeter")
        given.running.clusters["us"].faults.images.add("example/greeter:v2", "bad")
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run()

        assert second.code == 1, str(second)
        assert "K8S_CANARY_ROLLOUT" in second.err
        assert given.images("us", "greeter") == before
        assert given.find("us", "Deployment", "greeter-canary") is None


async def test_the_converted_file_is_carried_out_like_the_canary(tmp_path: Path) -> None:
    """In place of the Canary, in steps of a second."""
    async with command_world.world(tmp_path, "us", example="flagger", istio=True) as given:
        converted = await given.volary("convert", "flagger", "canary.yaml")
        assert converted.code == 0, str(converted)
        (given.directory / "canary.yaml").unlink()
        given.write({"volary.yaml": converted.out.replace("10s", "1s")}, message="Convert")
        linted = await given.volary("lint", ".")
        assert linted.code == 0, str(linted)
        first = await given.run()
        assert first.code == 0, str(first)
        await scaled(given, "us", to=4)
        given.edit("workload.yaml", "greeter:v1", "greeter:v2", message="Release v2")

        second = await given.run("--output", "json")

        assert second.code == 0, str(second)
        assert given.images("us", "greeter") == "example/greeter:v2 4/4"
        weights = [
            each["observedWeights"]["canary"]
            for each in second.events
            if "canary" in each.get("observedWeights", {})
        ]
        assert weights == sorted(weights)
        assert {50, 100} <= set(weights)
        assert "greeter-canary has 4 pods for 100% of the traffic" in second.out


async def scaled(given: command_world.World, target: str, *, to: int) -> None:
    """Given: an autoscaler has decided how many pods primary has."""
    cluster = given.running.clusters[target]
    cluster.registry.patch(
        cluster.registry.kind("apps/v1", "Deployment"),
        "default",
        "greeter",
        {"spec": {"replicas": to}},
        verbs.PatchType.MERGE,
        verbs.Options(manager="kube-controller-manager", agent="kube-controller-manager"),
    )
    await cluster.until(
        lambda view: view.get("Deployment", "default", "greeter")["status"]["readyReplicas"] == to
    )
