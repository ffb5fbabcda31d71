"""The disk of a server's database and mirrors is full, or breaks, in the middle of a run."""

import contextlib
import functools
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import command_world
import process_time
import server_processes
import small_disks

NAMES = ("us", "eu")
V1, V2 = "example/simple:v1", "example/simple:v2"
_APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
    - {name: WAIT_APPROVAL, with: {approvers: [local]}}
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


def data_in(base: Path) -> Path:
    """Return the directory with the database and the mirrors of a server."""
    return base / f"data-{server_processes.ADDRESSES[0]}"


@dataclass(frozen=True, slots=True)
class Given:
    """Clusters and a repository, and servers whose data is on a disk."""

    base: Path
    world: command_world.World
    disk: small_disks.SmallDisk
    writes: server_processes.Writes

    def server(self) -> contextlib.AbstractAsyncContextManager[server_processes.ServerProcess]:
        """Run a server."""
        store = f"sqlite:{self.disk.directory}/volary.db"
        start = functools.partial(self.disk.shell.start, self.world)
        return server_processes.started(self.world, self.base, store, start=start)

    def break_pods(self) -> None:
        """From now on no pod of the second version gets ready."""
        for name in NAMES:
            self.world.running.clusters[name].faults.images.add("*/simple:v2", "never-ready")

    def mend_pods(self) -> None:
        """Pods get ready again, in the place of those that do not."""
        for name in NAMES:
            cluster = self.world.running.clusters[name]
            cluster.faults.images.clear()
            kind = cluster.registry.kind("v1", "Pod")
            for pod in cluster.view.list("Pod", "default"):
                cluster.registry.delete(kind, "default", pod["metadata"]["name"])

    async def canaries(self) -> None:
        """Wait until the canary is everywhere, and nothing is written any more."""
        for name in NAMES:
            await self.world.running.clusters[name].until(
                lambda view: bool(view.get("Deployment", "default", "simple-canary")),
                timeout=process_time.HANG,
            )
        await self.writes.still()

    def deployments_written(self, since: int) -> list[str]:
        """Return the writes to Deployments after the first `since`."""
        return [sent.line for sent in self.writes.sent[since:] if "deployments/" in sent.line]

    async def ends_right(self, server: server_processes.ServerProcess, commit: str) -> None:
        """Wait for the end of the run; look at what came of it."""
        await server.synced(commit)
        await server.until("/readyz", bool)
        runs = (await server.get("/api/v1/runs"))[1]["items"]
        assert [run["status"] for run in runs] == ["succeeded"] * 2, runs
        for name in NAMES:
            assert self.world.images(name) == f"{V2} 2/2"
            assert self.world.find(name, "Deployment", "simple-canary") is None


def stands_still(problem: str) -> str:
    """Return the pattern of what is said when a step of a run cannot be kept."""
    # On a slow machine its time is over before that.
    return f"run .* waits for the database: {problem}|leadership ends"


async def lives(server: server_processes.ServerProcess, problem: str) -> None:
    """Wait until it says that it is not ready, and why; look whether it lives."""
    await server.until("/readyz", lambda body: problem in body["detail"], status=503)
    assert await server.get("/healthz") == (200, "ok\n")


@contextlib.asynccontextmanager
async def given_on(disk: small_disks.SmallDisk, base: Path) -> AsyncIterator[Given]:
    """Given: clusters, and a repository whose first version was not deployed yet."""
    writes = server_processes.Writes()
    async with command_world.world(
        base, *NAMES, speed=60.0, middlewares=(writes.middleware,)
    ) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        # No Deployment runs out of its own time, however long that takes.
        world.edit("deployment.yaml", "spec:", "spec:\n  progressDeadlineSeconds: 1000000")
        world.write({"volary.yaml": _APPLICATION}, message="Deploy v1")
        yield Given(base, world, disk, writes)


async def test_a_run_stands_still_while_the_disk_is_full_and_then_goes_on(tmp_path: Path) -> None:
    """Also in another process, when the first one is killed meanwhile."""
    full = "the database's disk is full"
    async with (
        small_disks.in_memory(data_in(tmp_path), megabytes=16) as disk,
        given_on(disk, tmp_path) as given,
    ):
        async with given.server() as server:
            await server.synced()

            # A push is not seen as long as there is no room for it.
            await disk.fill()
            commit = given.world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            await server.process.until("shop: .*No space left on device")
            await disk.empty()
            run = await server.waiting(commit)

            # Nobody is told that an approval was taken which cannot be kept.
            before = len(given.writes.sent)
            await disk.fill()
            status, said = await server.ask("approve", run)
            assert (status, full in said["detail"]) == (503, True), said
            await lives(server, full)
            assert (await server.waiting(commit))["seen"] == run["seen"]
            assert len(given.writes.sent) == before
            await disk.empty()
            await server.until("/readyz", bool)
            given.break_pods()
            # A process that drives again may be slow to answer: it is taken all the same.
            await server.ask("approve", await server.waiting(commit))

            # A stage is done, and that cannot be kept: no other one begins.
            await given.canaries()
            await disk.fill()
            before = len(given.writes.sent)
            given.mend_pods()
            await server.process.until(stands_still(full))
            await lives(server, full)
            server.process.interrupt(signal.SIGKILL)
        async with given.server() as server:
            await server.process.until(f"the lease cannot be read: {full}")
            await lives(server, full)
            assert given.deployments_written(before) == []
            await disk.empty()
            await given.ends_right(server, commit)


async def test_a_run_stands_still_when_the_disk_breaks_and_goes_on_when_it_is_repaired(
    tmp_path: Path,
) -> None:
    """The kernel makes a file system read-only in which it finds an error."""
    async with (
        small_disks.in_a_file(data_in(tmp_path), megabytes=32) as disk,
        given_on(disk, tmp_path) as given,
    ):
        async with given.server() as server:
            await server.synced()
            given.break_pods()
            commit = given.world.edit("deployment.yaml", V1, V2, message="Deploy v2")
            await server.ask("approve", await server.waiting(commit))
            await given.canaries()

            # A stage is done, and that cannot be kept: no other one begins.
            await disk.fail()
            before = len(given.writes.sent)
            given.mend_pods()
            broken = "the database's disk does not work"
            await server.process.until(stands_still(broken))
            await lives(server, broken)
            server.process.interrupt(signal.SIGKILL)
        words = ("server", "--config", str(tmp_path / f"{server.address}.yaml"))
        async with disk.shell.start(given.world, *words) as process:
            ended = await process.ended()
        assert (ended.code, "Read-only file system" in ended.err) == (2, True), ended
        assert given.deployments_written(before) == []

        await disk.repair()
        async with given.server() as server:
            await given.ends_right(server, commit)
