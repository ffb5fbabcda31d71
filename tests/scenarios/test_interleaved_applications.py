"""Two applications of one name go through all stages at once, and die at any request.

Whatever their requests are interleaved with, and wherever a process ends and the next one begins
its stage again, each ends with exactly its own objects and never asks for a change of the other's.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import strategies as st

import process_time
import stage_world
from kube_sandbox import fleet as kube_sandbox_fleet
from volary.clusters.api import discovery
from volary.clusters.client import client_pool, clients
from volary.engine import executor
from volary.model import applications, json
from volary.model.fleet import fleets
from volary.model.objects import manifest, ownership
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)
from volary.stages import executor as stage_executor
from volary.stages.runtime import contexts

OLD, NEW = stage_world.OLD, stage_world.NEW
_WRITES = ("apply", "create", "replace", "patch", "delete")
_READS = ("get", "list", "discover")
_ONE_POD = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
_NONE = stage_kind.NoOptions()
_TO_CANARY = traffic_stages.TrafficOptions(0, canary=100)
_TO_PRIMARY = traffic_stages.TrafficOptions(100)
_PRUNING = rollout_stages.SyncOptions(prune=True)
#: Name, options, the commit and what runs before it.
_Stage = tuple[str, stage_kind.StageOptions, str, str]
_BEGIN: tuple[_Stage, ...] = (
    (rollout_stages.SYNC.name, _PRUNING, OLD, ""),
    (rollout_stages.CANARY_ROLLOUT.name, _ONE_POD, NEW, OLD),
    (rollout_stages.BASELINE_ROLLOUT.name, _ONE_POD, NEW, OLD),
    (traffic_stages.TRAFFIC_ROUTING.name, _TO_CANARY, NEW, OLD),
    (
        rollout_stages.PRIMARY_ROLLOUT.name,
        rollout_stages.PrimaryRolloutOptions(prune=True),
        NEW,
        OLD,
    ),
)
_ENDS: dict[str, tuple[_Stage, ...]] = {
    "released": (
        (traffic_stages.TRAFFIC_ROUTING.name, _TO_PRIMARY, NEW, OLD),
        (rollout_stages.CANARY_CLEAN.name, _NONE, NEW, OLD),
        (rollout_stages.BASELINE_CLEAN.name, _NONE, NEW, OLD),
    ),
    "rolled back": ((added_stages.ROLLBACK.name, _NONE, NEW, OLD),),
    "synced": ((rollout_stages.SYNC.name, _PRUNING, NEW, OLD),),
}


@dataclass(frozen=True)
class Script:
    """What becomes of one application."""

    end: str
    #: After how many requests each of its processes dies; the last one lives.
    deaths: tuple[int, ...]
    #: Whether what it asked for was done before it died.
    answered: bool


_SCRIPTS = st.builds(
    Script,
    st.sampled_from(sorted(_ENDS)),
    st.lists(st.integers(1, 45), max_size=4).map(tuple),
    st.booleans(),
)


@dataclass(eq=False)
class Process:
    """A client that lets requests wait at random, and notes what they would change.

    After the last request of a process nothing of it reaches the cluster any more.
    """

    client: clients.Client
    chance: random.Random
    left: int
    answered: bool
    written: list[tuple[str, str, str]]
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self.client, name)
        return self._asking(name, verb) if name in (*_WRITES, *_READS) else verb

    def _asking(
        self, name: str, verb: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        async def ask(*words: Any, **named: Any) -> Any:
            await asyncio.sleep(self.chance.choice((0, 0, 0, 0.001, 0.004)))
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.answered):
                await self._die()
            if name in _WRITES:
                self.written.append((name, *_what(words, named)))
            answer = await verb(*words, **named)
            if self.left == 0:
                await self._die()
            return answer

        return ask

    async def _die(self) -> None:
        self.killed.set()
        await asyncio.Event().wait()


def _what(words: Sequence[Any], named: dict[str, Any]) -> tuple[str, str]:
    """Return the namespace and the name of what a request is about."""
    resource, what, *_ = words
    assert isinstance(resource, discovery.Resource)
    if isinstance(what, str):
        return named.get("namespace", ""), what
    metadata = what["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")


@dataclass
class _Pool:
    """The clients of one process."""

    process: Process
    fleet: fleets.Fleet

    async def client(self, _target: str) -> Any:
        return self.process

    def member(self, target: str) -> fleets.Cluster | None:
        return next((one for one in self.fleet.clusters if one.name == target), None)


@dataclass
class Deployed:
    """An application, what it deploys, and what it asked for."""

    application: applications.Application
    namespace: str
    #: Of its Deployment and Service.
    name: str
    script: Script
    written: list[tuple[str, str, str]] = field(default_factory=list)

    def manifests(self, commit: str) -> list[manifest.Manifest]:
        image = "shop:v1" if commit == OLD else "shop:v2"
        service = stage_world.service(**{"app": self.name, stage_world.KEY: "primary"})
        service["metadata"]["name"] = self.name
        bodies = [
            stage_world.deployment(image, name=self.name),
            service,
            stage_world.config(f"{self.name}-settings"),
        ]
        # What Git drops, and what it adds.
        bodies.append(stage_world.config(f"{self.name}-{commit[0]}"))
        for body in bodies:
            body["metadata"]["namespace"] = self.namespace
        return [stage_world.made(body) for body in bodies]

    async def carry_out(
        self, client: clients.Client, members: fleets.Fleet, chance: random.Random
    ) -> None:
        """Go through all stages, in as many processes as it takes."""
        deaths = list(self.script.deaths)

        async def render(commit: str, _target: str) -> list[manifest.Manifest]:
            return self.manifests(commit)

        def begin() -> tuple[Process, stage_executor.ClusterExecutor]:
            left = deaths.pop(0) if deaths else 1_000_000
            process = Process(client, chance, left, self.script.answered, self.written)
            pool: Any = _Pool(process, members)
            # What two variants leave behind is more than half of an application as small as this.
            options = contexts.Options(
                drain_delay=timedelta(seconds=0.01), allow_mass_deletion=True
            )
            return process, stage_executor.ClusterExecutor(
                self.application, pool, render, stage_world.Clock(), options
            )

        process, carrying = begin()
        begun: list[pipelines.Stage] = []
        for name, stage_options, commit, running in (*_BEGIN, *_ENDS[self.script.end]):
            stage, attempt = pipelines.Stage(name, stage_options), 1
            while not await self._finished(
                process, carrying, stage, (commit, running), attempt, tuple(begun)
            ):
                process, carrying = begin()
                attempt += 1
            begun.append(stage)

    async def _finished(
        self,
        process: Process,
        carrying: stage_executor.ClusterExecutor,
        stage: pipelines.Stage,
        commits: tuple[str, str],
        attempt: int,
        begun: tuple[pipelines.Stage, ...],
    ) -> bool:
        """Carry a stage out; say whether its process has survived it."""
        commit, running = commits
        context = executor.TaskContext(
            run_id=f"run of {commit}",
            application=self.application.name,
            commit=commit,
            running_commit=running,
            stage_id=stage.name,
            stage=stage,
            target="us",
            attempt=attempt,
            deadline=stage_world.Clock().now() + timedelta(seconds=30),
            begun=begun,
        )
        report = stage_world.Report()
        async with asyncio.TaskGroup() as group:
            stage_task = group.create_task(carrying.execute(context, report))
            death = group.create_task(process.killed.wait())
            await asyncio.wait((stage_task, death), return_when=asyncio.FIRST_COMPLETED)
            died = process.killed.is_set()
            (stage_task if died else death).cancel()
            if died:
                return False
            outcome = await stage_task
        assert outcome.status == "succeeded", (self.script, stage.name, outcome)
        return True

    @property
    def names(self) -> set[tuple[str, str]]:
        """What it has in the end, but for its inventory."""
        commit = OLD if self.script.end == "rolled back" else NEW
        return {(item.kind, item.name) for item in self.manifests(commit)}

    def is_own(self, namespace: str, name: str) -> bool:
        known = (self.name, "volary-inventory-" + self.application.owner.id)
        return namespace == self.namespace and name.startswith(known)


def _two(is_shared: bool, scripts: tuple[Script, Script]) -> list[Deployed]:
    """Two applications of one name: in two namespaces, or from two directories in one."""
    return [
        Deployed(
            applications.Application(
                "shop", origin=ownership.Origin("example.com/shop", "" if number == 0 else "second")
            ),
            "default" if is_shared or number == 0 else "theirs",
            "store" if is_shared and number == 1 else "shop",
            script,
        )
        for number, script in enumerate(scripts)
    ]


async def _carry_out(directory: Path, both: list[Deployed], seed: int) -> None:
    settings = kube_sandbox_fleet.Settings(speed=80, tls=False, seed=1)
    async with contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(
            kube_sandbox_fleet.start(("us",), directory=directory, settings=settings)
        )
        cluster = running.clusters["us"]
        members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(cluster.kubeconfig_path),)),))
        pool = await stack.enter_async_context(
            client_pool.open_pool(members, clock=stage_world.Clock(), limits=stage_world.LIMITS)
        )
        client = await pool.client("us")
        assert isinstance(client, clients.Client)
        registry = cluster.registry
        theirs: json.JsonObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "theirs"},
        }
        registry.create(registry.kind("v1", "Namespace"), "", theirs)
        async with asyncio.TaskGroup() as group:
            for number, deployed in enumerate(both):
                chance = random.Random(seed * 2 + number)
                group.create_task(deployed.carry_out(client, members, chance))
        for deployed in both:
            strange = [what for what in deployed.written if not deployed.is_own(*what[1:])]
            assert strange == []
            present = {
                (kind, body["metadata"]["name"])
                for kind in ("Deployment", "Service", "ConfigMap")
                for body in cluster.view.list(kind, deployed.namespace)
                if deployed.application.owner.id
                == (body["metadata"].get("labels") or {}).get("volary.dev/application-id")
            }
            assert present == deployed.names, deployed.script
        # Nothing is there that belongs to neither of them.
        for namespace in {deployed.namespace for deployed in both}:
            names = {
                body["metadata"]["name"]
                for kind in ("Deployment", "Service", "ConfigMap")
                for body in cluster.view.list(kind, namespace)
            } - {"kubernetes", "kube-root-ca.crt"}
            assert all(any(one.is_own(namespace, name) for one in both) for name in names), names


# An example takes a second: to look for the smallest would take minutes.
@hypothesis.settings(
    max_examples=8,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
)
@hypothesis.given(
    is_shared=st.booleans(), scripts=st.tuples(_SCRIPTS, _SCRIPTS), seed=st.integers(0, 1_000)
)
def test_each_ends_with_its_own_objects_and_never_asks_for_the_others(
    tmp_path_factory: Any, is_shared: bool, scripts: tuple[Script, Script], seed: int
) -> None:
    directory = tmp_path_factory.mktemp("fleet")
    hypothesis.note(f"{scripts}, seed {seed}")
    with asyncio.Runner(loop_factory=process_time.Loop) as runner:
        runner.run(_carry_out(directory, _two(is_shared, scripts), seed))
