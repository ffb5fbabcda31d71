"""The probe asks every cluster in each round, and tells at once that one is back."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta

import reconciler_fixtures as given
from volary.clusters.client import client_pool
from volary.controller.fleet import health_probe
from volary.model.fleet import cluster_health

State = cluster_health.ClusterState
#: A cluster fails at once, and is ready for good only after longer than any test lasts.
RULES = cluster_health.HealthRules(
    interval=timedelta(milliseconds=10),
    failure_threshold=timedelta(),
    success_threshold=timedelta(days=1),
)


@dataclass
class ScriptedProbe:
    """Says of every cluster what it is told to; of one that is not named that it is ready."""

    states: dict[str, State | Exception] = field(default_factory=dict)

    async def __call__(
        self, clusters: client_pool.ClientPool, name: str, patience: timedelta
    ) -> cluster_health.ProbeResult:
        said = self.states.get(name, State.READY)
        if isinstance(said, Exception):
            raise said
        return cluster_health.ProbeResult(said, "" if said is State.READY else "as it was told")


@dataclass
class Story:
    """What was told, in order."""

    rounds: asyncio.Queue[cluster_health.FleetHealth] = field(default_factory=asyncio.Queue)
    reachable: list[set[str]] = field(default_factory=list)

    def answer(self, names: Collection[str]) -> None:
        self.reachable.append(set(names))

    async def next_round(self) -> dict[str, cluster_health.ClusterHealth]:
        """Return how the clusters are after a round that has not begun yet."""
        while not self.rounds.empty():
            self.rounds.get_nowait()
        await self.rounds.get()
        seen = await self.rounds.get()
        return {cluster.cluster: cluster for cluster in seen.clusters}


async def test_who_is_back_is_told_long_before_it_counts_as_ready() -> None:
    async with given.leading() as world:
        register, asked, story = world.leader.register, ScriptedProbe(), Story()
        register.rules = RULES
        asked.states["eu"] = State.UNREACHABLE
        probe = health_probe.HealthProbe(
            register, None, (story.rounds.put,), on_reachable=story.answer, ask=asked
        )
        probing = world.leader.group.create_task(probe.keep_probing())
        lost = await story.next_round()
        told_while_lost = list(story.reachable)
        story.reachable.clear()
        asked.states.clear()
        back = await story.next_round()
        probing.cancel()

    assert (lost["us"].state, lost["eu"].state) == (State.READY, State.UNREACHABLE)
    assert not any("eu" in names for names in told_while_lost)
    assert back["eu"].state is State.UNREACHABLE
    assert back["eu"].answers
    assert {"eu"} in story.reachable
    assert {"us", "eu"} in story.reachable


async def test_a_bug_about_one_cluster_does_not_keep_the_others_from_being_seen() -> None:
    async with given.leading() as world:
        register, asked, story = world.leader.register, ScriptedProbe(), Story()
        register.rules = replace(RULES, success_threshold=timedelta())
        asked.states["eu"] = RuntimeError("a bug")
        probe = health_probe.HealthProbe(register, None, (story.rounds.put,), ask=asked)
        probing = world.leader.group.create_task(probe.keep_probing())
        seen = await story.next_round()
        probing.cancel()

    assert seen["us"].state is State.READY
    assert seen["eu"].state is State.NOT_READY
    assert seen["eu"].reason == "internal error (RuntimeError), see the log"
