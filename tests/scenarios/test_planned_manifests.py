"""Helm is upgraded while a run waits, and renders the same commit otherwise from then on."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import command_world
import process_time
from controller_world import ANA, SPEED, Controlled, controlled

V1, V2 = "example/simple:v1", "example/simple:v2"
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  input: {helmChart: {path: chart}}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: WAIT_APPROVAL, with: {approvers: [ana]}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
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
    (world.directory / "app.pipecd.yaml").unlink()
    files = {f"chart/templates/{name}.yaml": text for name, text in templates.items()}
    return world.write(
        {"volary.yaml": APPLICATION, "chart/Chart.yaml": "name: simple\n", **files},
        message="Deploy v1",
    )


def push_v2(world: command_world.World) -> str:
    world.edit("chart/templates/rendered.yaml", "V1", "V2", message="")
    return world.edit("chart/templates/deployment.yaml", V1, V2)


@contextlib.asynccontextmanager
async def life(world: command_world.World) -> AsyncIterator[Controlled]:
    async with controlled(world, store=f"sqlite:{world.directory.parent / 'volary.db'}") as given:
        yield given


async def asks(given: Controlled, commit: str) -> str:
    """Wait until the run of a commit asks for approval, and return it."""
    summary = None
    async with asyncio.timeout(process_time.HANG):
        while summary is None or (summary.commit, summary.status) != (commit, "waiting"):
            await asyncio.sleep(0.02)
            summary = next(iter(await given.runs()), None)
    return summary.id


def config(world: command_world.World) -> dict[str, str]:
    data: dict[str, str] = world.find("us", "ConfigMap", "rendered")["data"]
    return data


async def test_a_run_applies_what_it_was_planned_with_and_goes_back_to_it(
    tmp_path: Path, helm: Helm
) -> None:
    async with command_world.world(tmp_path, "us", speed=SPEED) as world:
        first = write_chart(world)
        async with life(world) as given:
            await given.synced(first)
            run = await asks(given, push_v2(world))

        helm.upgrade("helm-2")
        async with life(world) as given:
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
        async with life(world) as given:
            await given.synced(first)
            run = await asks(given, push_v2(world))
        before = world.find("us", "Secret", "drawn")["data"]

        helm.upgrade("helm-2")
        async with life(world) as given:
            await given.ask_run("approve", run, ANA)
            ended = await given.ended(run)
            said = str(await given.service.run(run))

        assert ended.status == "failed"
        assert "Secret drawn would not be as planned" in said
        assert "drawn-by" not in said
        assert world.find("us", "Secret", "drawn")["data"] == before
        assert config(world) == {"by": "helm-1", "of": "V1"}
        kept = (tmp_path / "volary.db").read_bytes()
        assert b"drawn-by" not in kept
