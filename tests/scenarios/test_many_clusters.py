"""One release over many clusters, three of ten of which fail in five ways; its process is killed.

The suite has a few clusters, with each way in one of its two tests. ``VOLARY_CLUSTERS=100`` takes
more; ``--log-cli-level=INFO`` says what became of them.
"""

import contextlib
import json
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import command_world
import process_time
import wave_invariants
from controller_process import ControllerProcesses
from killed_world import SPEED, SYNCED, V1, V2, WORK, state_of
from kube_sandbox.apiserver.storage import storage
from volary.engine.runs import state
from wave_invariants import Allowed

V3 = "example/simple:v3"
_LOG = logging.getLogger(__name__)
_COUNT = int(os.environ.get("VOLARY_CLUSTERS", "0"))
#: What is wrong with bad clusters, in turn.
FAULTS: tuple[dict[str, object], ...] = (
    {"images": {"*/simple:v2": "crash"}},
    {"lost": "hang"},
    {"denied": ["patch *", "create *", "update *", "delete *"]},
    {"errorRate": "100%"},
    {"lost": "refuse"},
)
_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: simple}}
spec:
  service: {{kind: Service, name: simple}}
  workloads: [{{kind: Deployment, name: simple}}]
  waves:
  - name: first
    size: 20%
    progressDeadline: {deadline:.0f}s
  - name: rest
    maxConcurrency: 10
    budget: {{failures: {failures}, unreachable: {unreachable}}}
    onUnreachable: skip
    progressDeadline: {deadline:.0f}s
  pipeline:
    stages:
    - {{name: K8S_CANARY_ROLLOUT, with: {{replicas: 1}}}}
    - {{name: K8S_PRIMARY_ROLLOUT}}
    - {{name: K8S_CANARY_CLEAN}}
"""
_RUNS = "select status, reason, document from runs order by created, id"
_TASKS = "select target, status, reason from tasks where stage = ?"
_APPLICATIONS = "select document from applications"
_CONCLUDED = """
    select (select count(*) from runs where finished is not null) from applications
    where not json_extract(document, '$.under_way')
"""
_EVENTS = "select document from events order by position"


@dataclass
class Release:
    """v2 after v1, and what is seen of it in the clusters."""

    world: command_world.World
    controllers: ControllerProcesses
    #: How many of the second wave may fail.
    failures: int
    #: What is wrong with the first bad cluster.
    first_fault: int = 0
    #: Commit by version, and what a cluster is like that has it.
    commits: dict[str, str] = field(default_factory=dict)
    states: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    #: The images that the primary of a cluster has had since, in order.
    images: dict[str, list[str]] = field(default_factory=dict)
    #: Clusters that have had a canary.
    begun: set[str] = field(default_factory=set)
    #: The process that is killed.
    alive: list[int] = field(default_factory=list)

    @property
    def waves(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The clusters of each wave."""
        names = tuple(self.world.running.clusters)
        return names[: len(names) // 5], names[len(names) // 5 :]

    @property
    def bad(self) -> dict[str, dict[str, object]]:
        """What is wrong with clusters of the second wave, three of ten of all."""
        first, rest = self.waves
        count = 3 * (len(first) + len(rest)) // 10
        chosen = [rest[place * len(rest) // count] for place in range(count)]
        return {
            name: FAULTS[(place + self.first_fault) % len(FAULTS)]
            for place, name in enumerate(chosen)
        }

    @property
    def good(self) -> list[str]:
        """The others."""
        bad = self.bad
        return [name for name in self.world.running.clusters if name not in bad]

    def application(self, deadline: float) -> dict[str, str]:
        text = _APPLICATION.format(
            failures=self.failures, unreachable=len(self.bad), deadline=deadline
        )
        return {"volary.yaml": text}

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Look at every change; in the middle of the second wave everything comes at once.

        What must hold at every moment is looked at as well, and in the end the events.
        """
        allowed = Allowed(failures=self.failures, unreachable=len(self.bad))
        with (
            wave_invariants.watched(
                self.world, application="simple", waves=self.waves, allowed=allowed
            ) as watch,
            contextlib.ExitStack() as stack,
        ):
            for name, cluster in self.world.running.clusters.items():
                stack.callback(cluster.registry.subscribe(self._watcher(name)))
            yield
            told = self.controllers.ask(_EVENTS)
            watch.hear([msgspec.json.decode(document) for (document,) in told])

    def _watcher(self, name: str) -> Callable[[storage.Change], None]:
        enough = len(self.waves[0]) + max(2, len(self.waves[1]) // 8)

        def changed(change: storage.Change) -> None:
            body = change.item.body
            if body["kind"] != "Deployment" or change.event is storage.Event.DELETED:
                return
            if body["metadata"]["name"] == "simple":
                image = body["spec"]["template"]["spec"]["containers"][0]["image"]
                images = self.images.setdefault(name, [V1])
                images += [image] if images[-1] != image else []
                return
            self.begun.add(name)
            if len(self.begun) >= enough and self.alive:
                os.kill(self.alive.pop(), signal.SIGKILL)
                for bad, fault in self.bad.items():
                    self.world.running.clusters[bad].faults.change(fault)

        return changed

    def mend(self) -> None:
        """All clusters are well."""
        for name in self.bad:
            self.world.running.clusters[name].faults.clear()

    def state(self, name: str) -> dict[str, Any]:
        """What a cluster is like, without its name."""
        return {title.partition(" ")[2]: what for title, what in state_of(self.world, name).items()}

    def unlike(self, version: str, names: Mapping[str, Any] | list[str]) -> list[str]:
        """Those of some clusters whose objects are not those of a version."""
        return [name for name in names if self.state(name) != self.states[version]]

    def disagreements(self) -> dict[str, Any]:
        """Clusters whose objects are not what the store says of them.

        Where the store says that the last run has left something, that may be there besides.
        """
        ((document,),) = self.controllers.ask(_APPLICATIONS)
        said = json.loads(document)["releases"]["clusters"]
        left = {name for name, target in self.targets().items() if target["left_out"]}
        left = {name for name in left if self.targets()[name]["touched"]}
        versions = {commit: version for version, commit in self.commits.items()}
        found = {}
        for name in self.world.running.clusters:
            expected = self.states.get(versions.get(said[name]["commit"], ""), {})
            state = self.state(name)
            if name in left:
                state = {title: what for title, what in state.items() if title in expected}
                state, expected = _without_inventories(state), _without_inventories(expected)
            if not expected or state != expected:
                differing = [
                    title
                    for title in {**state, **expected}
                    if state.get(title) != expected.get(title)
                ]
                found[name] = said[name]["commit"], differing
        return found

    async def until(self, query: str, value: object) -> None:
        """Look into the database, now and then, until the single value of `query` is so."""
        await process_time.until(lambda: self.controllers.ask(query) == [(value,)], every=0.3)

    def targets(self) -> dict[str, Any]:
        """What the store says of the clusters of the newest run."""
        *_, (_, _, document) = self.controllers.ask(_RUNS)
        return {target["name"]: target for target in json.loads(document)["clusters"]}

    async def agreed(self) -> None:
        """Wait until nothing is under way, and store and clusters say the same."""
        try:
            await process_time.until(
                lambda: self.controllers.ask(WORK) == [(0,)] and not self.disagreements(),
                every=0.5,
            )
        except TimeoutError:
            raise AssertionError(f"they do not agree: {self.disagreements()}") from None


def _without_inventories(state: Mapping[str, Any]) -> dict[str, Any]:
    return {
        title: what for title, what in state.items() if "objects" not in what[0].get("data", {})
    }


@contextlib.asynccontextmanager
async def given(
    base: Path, count: int, *, failures: int, first_fault: int = 0
) -> AsyncIterator[Release]:
    """v1 on all of so many clusters."""
    names = [f"c-{number:03}" for number in range(count)]
    async with command_world.world(base, *names, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        controllers = ControllerProcesses(base / "volary.db", world.directory, world.fleet)
        release = Release(world, controllers, failures, first_fault)
        first = release.commits["v1"] = world.write(release.application(3600), message="v1")
        begin = time.monotonic()
        async with controllers.started():
            await release.until(SYNCED, first)
        # As long as all of them took, a few times over: only what hangs takes as long.
        world.write(release.application(max(20.0, 4 * (time.monotonic() - begin))))
        await world.settled()
        release.states["v1"] = release.state(names[0])
        assert release.disagreements() == {}
        yield release


async def released(release: Release) -> tuple[str, str]:
    """Release v2; the process is killed, and three of ten clusters fail at the same moment.

    Returns status and reason of the run.
    """
    world, controllers = release.world, release.controllers
    with release.watched():
        release.commits["v2"] = world.edit("deployment.yaml", V1, V2, message="v2")
        async with controllers.started() as process:
            release.alive.append(process)
            await process_time.until(lambda: not release.alive)
        assert controllers.ask(WORK) == [(1,)]
        async with controllers.started():
            # What the end of the run means is written down after it.
            await release.until(_CONCLUDED, 2)
    (_, (status, reason, _)) = controllers.ask(_RUNS)
    _LOG.info("%s: %s", status, reason)
    for name, fault in release.bad.items():
        _LOG.info("%s %s: %s", name, fault, release.targets()[name])
    return status, reason


async def test_good_clusters_keep_a_release_that_may_go_without_the_bad_ones(
    tmp_path: Path,
) -> None:
    """The next release has all of them again, and takes away what was left on bad ones."""
    count = _COUNT or 10
    async with given(tmp_path, count, failures=count) as release:
        status, reason = await released(release)

        assert status == "succeeded_with_exceptions", reason
        left_out = [name for name, target in release.targets().items() if target["left_out"]]
        assert left_out == list(release.bad)
        # Where only the version was bad, it was taken back at once.
        assert (
            release.unlike("v1", [name for name in left_out if "images" in release.bad[name]]) == []
        )
        # Nobody who is well was taken back, not even for a moment.
        assert [name for name in release.good if release.images[name] != [V1, V2]] == []
        release.states["v2"] = release.state(release.good[0])
        release.mend()
        assert release.disagreements() == {}

        release.commits["v3"] = release.world.edit("deployment.yaml", V2, V3, message="v3")
        async with release.controllers.started():
            await release.until(SYNCED, release.commits["v3"])
        await release.world.settled()
        release.states["v3"] = release.state(release.good[0])
        assert release.world.images(release.good[0]) == f"{V3} 2/2"
        assert release.unlike("v3", list(release.world.running.clusters)) == []


async def test_all_go_back_when_more_fail_than_may_and_who_cannot_is_named(
    tmp_path: Path,
) -> None:
    async with given(tmp_path, _COUNT or 7, failures=0, first_fault=3) as release:
        status, reason = await released(release)

        assert status == "failed", reason
        assert release.unlike("v1", release.good) == []
        tasks = release.controllers.ask(_TASKS, state.ROLLBACK_ID)
        named = {target for target, status, why in tasks if status != "succeeded" and why}
        assert set(release.unlike("v1", release.bad)) <= named
        # Who did not answer is rolled back once it does.
        release.mend()
        async with release.controllers.started():
            await release.agreed()
        assert release.disagreements() == {}
