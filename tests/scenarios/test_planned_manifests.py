"""Helm is upgraded while a run waits, and renders the same commit otherwise from then on."""

import signal
import sys
from pathlib import Path

import pytest

import command_world
import waiting_world
from controller_world import ANA, SPEED
from waiting_world import V1, V2, V3

APPLICATION = waiting_world.APPLICATION + "  input: {helmChart: {path: chart}}\n"
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: rendered}
data: {by: HELM, of: V1}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: drawn}
stringData: {lot: drawn-by-HELM}
"""
#: What charts are rendered by: it says which version of helm it is.
PROGRAM = f"""#!{sys.executable}
import pathlib, sys
version = pathlib.Path(__file__).with_name("version").read_text()
for template in sorted(pathlib.Path(sys.argv[3], "templates").iterdir()):
    print(template.read_text().replace("HELM", version))
    print("---")
"""


class Helm:
    """The helm of the machine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        program = directory / "helm"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self.upgrade("helm-1")

    def upgrade(self, version: str) -> None:
        (self.directory / "version").write_text(version)


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Helm:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return Helm(directory)


def write_chart(world: command_world.World, **more: str) -> str:
    """Make the example a chart, with more templates, and commit it."""
    templates = {"rendered": CONFIG, **more}
    for name in ("config", "deployment", "service"):
        templates[name] = (world.directory / f"{name}.yaml").read_text()
        (world.directory / f"{name}.yaml").unlink()
    files = {f"chart/templates/{name}.yaml": text for name, text in templates.items()}
    return waiting_world.describe(
        world, APPLICATION, files | {"chart/Chart.yaml": "name: simple\n"}
    )


def push_v2(world: command_world.World) -> str:
    world.edit("chart/templates/rendered.yaml", "V1", "V2", message="")
    return world.edit("chart/templates/deployment.yaml", V1, V2)


def config(world: command_world.World) -> dict[str, str]:
    data: dict[str, str] = world.find("us", "ConfigMap", "rendered")["data"]
    return data


async def test_a_run_applies_what_it_was_planned_with_and_goes_back_to_it(
    tmp_path: Path, helm: Helm
) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        first = write_chart(world)
        async with waiting_world.life(world) as given:
            await given.synced(first)
            run = await given.asks(push_v2(world))

        helm.upgrade("helm-2")
        async with waiting_world.life(world) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            after = config(world)
            helm.upgrade("helm-3")
            back = await given.service.ask_application("rollback", "simple", ANA)
            undone = await given.ended(back.run)

        assert (ended.status, undone.status) == ("succeeded", "succeeded"), undone.reason
        assert after == {"by": "helm-1", "of": "V2"}
        assert config(world) == {"by": "helm-1", "of": "V1"}
        assert world.images("us") == f"{V1} 2/2"


async def test_a_secret_that_is_rendered_otherwise_is_named_and_not_applied(
    tmp_path: Path, helm: Helm
) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        first = write_chart(world, secret=SECRET)
        async with waiting_world.life(world) as given:
            await given.synced(first)
            run = await given.asks(push_v2(world))
        before = world.find("us", "Secret", "drawn")["data"]

        helm.upgrade("helm-2")
        async with waiting_world.life(world) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            said = str(await given.service.run(run))
            as_it_was, left = world.find("us", "Secret", "drawn")["data"], config(world)

            # The way back to what renders now.
            forth = await given.service.ask_application("rollback", "simple", ANA, to=first)
            back = await given.ended(forth.run)

        assert ended.status == "failed"
        assert "Secret drawn would not be as planned" in said
        assert "drawn-by" not in said
        assert (as_it_was, left) == (before, {"by": "helm-1", "of": "V1"})
        assert back.status == "succeeded", back.reason
        assert world.find("us", "Secret", "drawn")["data"] != before
        assert config(world) == {"by": "helm-2", "of": "V1"}
        assert world.images("us") == f"{V1} 2/2"
        kept = (tmp_path / "volary.db").read_bytes()
        assert b"drawn-by" not in kept


async def test_on_a_laptop_a_run_goes_on_with_what_it_was_planned_with(
    tmp_path: Path, helm: Helm
) -> None:
    """Also when the checkout has other files by now."""
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        write_chart(world)
        await world.deployed()
        world.running.clusters["us"].faults.change({"images": {"*:v2": "never-ready"}})
        push_v2(world)
        words = ("run", ".", "--fleet", world.fleet, "--approve-as", "ana")
        async with world.start(*words) as started:
            await started.until("us K8S_CANARY_ROLLOUT: (applying|.*0 of 1 pods available)")
            started.interrupt(signal.SIGKILL)
            await started.ended()
        world.running.clusters["us"].faults.clear()
        helm.upgrade("helm-2")
        world.edit("chart/templates/deployment.yaml", V2, V3)

        ended = await world.volary(*words, "--resume")

        assert ended.code == 0, ended
        assert config(world) == {"by": "helm-1", "of": "V2"}
        assert world.images("us") == f"{V2} 2/2"
