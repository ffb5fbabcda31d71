"""Nothing is lost: controllers are killed with SIGKILL, and the runs go on in the next ones."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import command_world
import process_time
from controller_process import ControllerProcesses, stop_between_writes
from killed_world import (
    NAMES,
    SYNCED,
    V1,
    V2,
    WORK,
    at_every_boundary,
    at_every_division,
    at_random,
    nothing,
    release,
    until,
)

_HOLDER = "select owner from leases where name = 'controller'"
_EVERYTHING = """
    select 'run', id, version, digest from runs
    union all select 'application', name, version, status from applications
    union all select 'log', run_id, count(*), '' from logs group by run_id
"""


async def test_killed_at_every_boundary_and_at_random_it_ends_as_if_undisturbed(
    tmp_path: Path,
) -> None:
    commits = tmp_path / "commits"
    shutil.copytree(command_world.EXAMPLES / "simple", commits)
    command_world.commit(commits, "Deploy v1")

    expected = await release(tmp_path / "undisturbed", commits, nothing)
    boundaries = await release(tmp_path / "boundaries", commits, at_every_boundary)
    moments = await release(tmp_path / "moments", commits, at_random(7))

    assert "us Deployment simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert boundaries == expected
    assert moments == expected


_IN_WAVES = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  waves:
  - {name: first, targets: {names: [us]}, soak: 300ms}
  - {name: second}
"""
_PIPELINE = """\
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
WAVES = (("us",), ("eu",))


def committed(directory: Path, application: str, **files: str) -> Path:
    """Write a repository whose application is this, with files beside it."""
    shutil.copytree(command_world.EXAMPLES / "simple", directory)
    (directory / "app.pipecd.yaml").unlink()
    (directory / "volary.yaml").write_text(application)
    for name, text in files.items():
        (directory / f"{name}.yaml").write_text(text)
    command_world.commit(directory, "Deploy v1")
    return directory


async def test_killed_in_every_state_of_a_wave_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    commits = committed(tmp_path / "commits", _IN_WAVES + _PIPELINE)

    expected = await release(tmp_path / "undisturbed", commits, nothing, waves=WAVES)
    boundaries = await release(tmp_path / "boundaries", commits, at_every_boundary, waves=WAVES)
    moments = await release(tmp_path / "moments", commits, at_random(5), waves=WAVES)

    assert "eu Deployment simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert boundaries == expected
    assert moments == expected


_DIVIDED = """\
  trafficRouting: {method: istio, istio: {host: simple}}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 70, canary: 30}}
    - {name: K8S_TRAFFIC_ROUTING, with: {primary: 40, canary: 60}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_TRAFFIC_ROUTING, with: {all: primary}}
    - {name: K8S_CANARY_CLEAN}
"""
_SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: simple}
spec:
  selector: {app: simple}
  ports: [{port: 80, targetPort: 9085}]
"""
_ROUTES = """
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: simple}
spec:
  hosts: [simple]
  http:
  - name: main
    route: [{destination: {host: simple, subset: primary}, weight: 100}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: simple}
spec:
  host: simple
  subsets:
  - {name: primary, labels: {pipecd.dev/variant: primary}}
  - {name: canary, labels: {pipecd.dev/variant: canary}}
"""


async def test_killed_in_the_middle_of_routing_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    """Each time when a cluster has stored new weights, before the answer is there."""
    commits = committed(
        tmp_path / "commits", _IN_WAVES + _DIVIDED, service=_SERVICE, routes=_ROUTES
    )

    expected = await release(tmp_path / "0", commits, nothing, waves=WAVES, istio=True)
    divisions = await release(tmp_path / "1", commits, at_every_division, waves=WAVES, istio=True)

    assert "eu VirtualService.networking.istio.io simple" in expected
    assert "us Deployment simple-canary" not in expected
    assert divisions == expected


async def test_another_process_takes_over_and_the_stopped_one_can_write_nothing(
    tmp_path: Path,
) -> None:
    """The first process stands still (SIGSTOP) in mid-run, and wakes when it is overtaken."""
    async with (
        # Slow enough that no Deployment runs out of its ten minutes while processes start.
        command_world.world(tmp_path, *NAMES, speed=5.0) as world,
    ):
        # No Deployment runs out of its time while processes start, however long that takes.
        world.edit("deployment.yaml", "spec:", "spec:\n  progressDeadlineSeconds: 1000000")
        controllers = ControllerProcesses(
            tmp_path / "volary.db", world.directory, world.fleet, lease=1.5
        )
        async with controllers.started("first") as first:
            await until(controllers, SYNCED, bool)
            # Until the first process is stopped the run does not end, however late that is.
            for name in NAMES:
                world.running.clusters[name].faults.images.add("*/simple:v2", "never-ready")
            second_commit = world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            for name in NAMES:
                await world.running.clusters[name].until(
                    lambda view: bool(view.get("Deployment", "default", "simple-canary")),
                    timeout=process_time.HANG,
                )
            assert controllers.ask(WORK) == [(1,)]
            await stop_between_writes(controllers, first)
            for name in NAMES:
                command_world.cure(world.running.clusters[name])
            async with controllers.started("second"):
                await until(controllers, _HOLDER, lambda owner: owner == "second")
                await until(controllers, SYNCED, lambda commit: commit == second_commit)
                # What a probe finds out last about the clusters of a release.
                known = "select document from applications"
                await until(controllers, known, lambda text: text.count('"identity"') == len(NAMES))
                before = controllers.ask(_EVERYTHING)
                os.kill(first, signal.SIGCONT)
                # It wakes up, tries to go on, and is refused; then it stands by.
                await asyncio.sleep(1.0)
                assert controllers.ask(_EVERYTHING) == before
                assert controllers.ask(_HOLDER) == [("second",)]
            # And the other way round: a process that stands by takes over from a dead one.
            await until(controllers, _HOLDER, lambda owner: owner == "first")
        for name in NAMES:
            assert world.images(name) == f"{V2} 2/2"
