"""The probe asks every cluster in each round, and tells at once that one is back."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

import process_time
import reconciler_fixtures as given
import scripted_server
from volary.clusters.client import client_pool
from volary.controller.fleet import cluster_registry, health_probe
from volary.model import clocks
from volary.model.fleet import cluster_health, fleets, taints

State = cluster_health.ClusterState
REFUSED = cluster_health.ProbeResult(State.NOT_READY, "the credentials were not accepted")
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
    #: Whom it was asked about, in order.
    asked: list[str] = field(default_factory=list)

    async def __call__(
        self, clusters: client_pool.ClientPool, name: str, patience: timedelta
    ) -> cluster_health.ProbeResult:
        self.asked.append(name)
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


@contextlib.asynccontextmanager
async def probed(
    asked: "ScriptedProbe",
    rules: cluster_health.HealthRules = RULES,
    members: fleets.Fleet = given.MEMBERS,
    clock: clocks.Clock | None = None,
    **more: Any,
) -> AsyncIterator[tuple[cluster_registry.ClusterRegistry, Story]]:
    """The clusters of `members` are probed for as long as the block lasts."""
    async with given.leading() as world:
        register, story = world.leader.register, Story()
        register.rules, register.members = rules, members
        register.clock = clock or register.clock
        probe = health_probe.HealthProbe(
            register, None, (story.rounds.put,), on_reachable=story.answer, ask=asked, **more
        )
        probing = world.leader.group.create_task(probe.keep_probing())
        yield register, story
        probing.cancel()


AT_ONCE = replace(RULES, success_threshold=timedelta())


async def test_a_suspended_cluster_is_not_asked() -> None:
    members = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu", suspended=True)))
    asked = ScriptedProbe()
    async with probed(asked, members=members) as (_, story):
        seen = await story.next_round()

    assert set(asked.asked) == {"us"}
    assert (seen["us"].state, seen["eu"].state) == (State.READY, State.SUSPENDED)
    assert {"us"} in story.reachable


async def test_every_cluster_is_asked_once_in_a_round() -> None:
    asked = ScriptedProbe()
    async with probed(asked) as (_, story):
        await story.rounds.get()
        first = sorted(asked.asked)

    assert first == ["eu", "us"]


async def test_a_change_of_state_is_told_once_with_what_was_before() -> None:
    asked = ScriptedProbe()
    news: list[tuple[str, State, State]] = []

    def tell(before: cluster_health.ClusterHealth, after: cluster_health.ClusterHealth) -> None:
        news.append((after.cluster, before.state, after.state))

    async with probed(asked, AT_ONCE, news=tell) as (_, story):
        await story.next_round()
        asked.states["eu"] = State.UNREACHABLE
        await story.next_round()
        await story.next_round()

    assert [one for one in news if one[0] == "eu"] == [
        ("eu", State.UNKNOWN, State.READY),
        ("eu", State.READY, State.UNREACHABLE),
    ]
    assert [one for one in news if one[0] == "us"] == [("us", State.UNKNOWN, State.READY)]


async def test_one_that_left_long_ago_is_forgotten() -> None:
    asked = ScriptedProbe()
    async with probed(asked) as (register, story):
        await story.next_round()
        left = register.clock.now() - timedelta(days=91)
        recent = register.clock.now() - timedelta(days=89)
        register._known = {
            **register.known,
            "old": cluster_health.ClusterHealth("old", left=left),
            "new": cluster_health.ClusterHealth("new", left=recent),
        }
        await story.next_round()
        await story.next_round()
        known = set(register.known)

    assert known == {"us", "eu", "new"}


async def test_only_while_it_probes_does_this_process_lead_and_tell() -> None:
    async with probed(ScriptedProbe()) as (register, story):
        await story.next_round()
        leads = register.is_leader

    told = list(story.reachable)
    register.observe_requests("us", "connection refused")
    register.observe_requests("us", "")
    assert leads
    assert not register.is_leader
    assert story.reachable == told


def kubeconfig_of(server: str) -> str:
    return json.dumps(
        {
            "clusters": [{"name": "eu", "cluster": {"server": server}}],
            "contexts": [{"name": "eu", "context": {"cluster": "eu"}}],
        }
    )


async def says_who_it_is(_: scripted_server.Asked) -> web.StreamResponse:
    return scripted_server.answer({"metadata": {"uid": "u-1"}})


async def test_a_kubeconfig_that_says_something_else_is_tried_in_the_same_round(
    tmp_path: Path,
) -> None:
    """A cluster that moved must not count as lost until the next round."""
    file = tmp_path / "config"
    file.write_text(kubeconfig_of("http://127.0.0.1:9"))
    members = fleets.Fleet((fleets.Cluster("eu", kubeconfig=(str(file),), context="eu"),))
    moved: list[str] = []

    async def ask(
        clusters: client_pool.ClientPool, name: str, patience: timedelta
    ) -> cluster_health.ProbeResult:
        client = await clusters.client(name)
        assert not isinstance(client, client_pool.Unavailable)
        moved.append(client.server)
        file.write_text(kubeconfig_of("http://127.0.0.1:10"))
        return REFUSED if len(moved) == 1 else cluster_health.ProbeResult(State.READY)

    async with given.leading() as world:
        register, story = world.leader.register, Story()
        register.rules = replace(AT_ONCE, interval=timedelta(minutes=1))
        register.replace(members)
        probe = health_probe.HealthProbe(register, None, (story.rounds.put,), ask=ask)
        probing = world.leader.group.create_task(probe.keep_probing())
        first = await story.rounds.get()
        probing.cancel()

    assert [health.state for health in first.clusters] == [State.READY]
    assert moved == ["http://127.0.0.1:9", "http://127.0.0.1:10"]


async def test_who_waits_has_clusters_probed_and_nobody_else() -> None:
    asked, awaited = ScriptedProbe({"eu": State.UNREACHABLE}), ["eu"]
    async with given.leading() as world:
        register, story = world.leader.register, Story()
        register.rules, register.on_reachable = RULES, story.answer
        waiting = world.leader.group.create_task(
            health_probe.probe_awaited(register, lambda: awaited, ask=asked)
        )
        await process_time.until(lambda: len(asked.asked) > 2)
        silent = list(story.reachable)
        asked.states.clear()
        await process_time.until(lambda: story.reachable)
        awaited.clear()
        await asyncio.sleep(0)
        before = len(asked.asked)
        await asyncio.sleep(0.1)
        waiting.cancel()

    assert silent == []
    assert story.reachable[0] == {"eu"}
    assert set(asked.asked) == {"eu"}
    assert len(asked.asked) <= before + 1


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


class JumpingClock:
    """The time of the process, and what it was put forward by."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return process_time.now() + self.ahead


async def test_in_a_round_that_is_in_doubt_only_who_answers_counts() -> None:
    clock, asked = JumpingClock(), ScriptedProbe({"eu": State.UNREACHABLE})
    async with probed(asked, AT_ONCE, clock=clock) as (_, story):
        before = await story.next_round()
        asked.states = {"us": State.UNREACHABLE}
        clock.ahead = timedelta(hours=1)
        doubted = await story.rounds.get()
        after = {health.cluster: health for health in doubted.clusters}

    assert (before["us"].state, before["eu"].state) == (State.READY, State.UNREACHABLE)
    assert after["eu"].state is State.READY
    assert after["us"].state is State.READY, "that it failed then is no evidence"


async def test_what_an_earlier_process_knew_counts_from_the_beginning() -> None:
    async with given.leading() as world:
        mark = taints.Taint(taints.CORDONED, "", taints.Effect.NO_SCHEDULE, given.AT, "ana", "1.36")
        earlier = world.leader.register
        await earlier.enter(given.MEMBERS, fence=None)
        await earlier.change("us", lambda known: replace(known, taints=(mark,)), fence=None)
        later, story = (
            cluster_registry.ClusterRegistry(
                world.store, earlier.clusters, earlier.clock, RULES, earlier.kept, given.MEMBERS
            ),
            Story(),
        )
        probe = health_probe.HealthProbe(later, None, (story.rounds.put,), ask=ScriptedProbe())
        probing = world.leader.group.create_task(probe.keep_probing())
        seen = await story.next_round()
        probing.cancel()

    assert [taint.reason for taint in seen["us"].taints] == ["1.36"]


async def test_who_a_cluster_is_is_asked_once_and_whenever_it_was_away(tmp_path: Path) -> None:
    """Else one that was built anew would go on under the name of the one before."""
    file, asked = tmp_path / "config", ScriptedProbe()
    members = fleets.Fleet((fleets.Cluster("eu", kubeconfig=(str(file),), context="eu"),))
    async with scripted_server.serve() as server, given.leading() as world:
        server.handler = says_who_it_is
        file.write_text(kubeconfig_of(server.url))
        register, story = world.leader.register, Story()
        register.rules = replace(AT_ONCE, failure_threshold=timedelta(days=1))
        register.replace(members)
        probe = health_probe.HealthProbe(register, None, (story.rounds.put,), ask=asked)
        probing = world.leader.group.create_task(probe.keep_probing())
        first = await story.next_round()
        await story.next_round()
        once = len(server.seen)
        asked.states["eu"] = State.UNREACHABLE
        failing = await story.next_round()
        asked.states.clear()
        await story.next_round()
        await story.next_round()
        again = len(server.seen)
        probing.cancel()

    assert first["eu"].identity == "u-1"
    assert (failing["eu"].state, failing["eu"].pending is None) == (State.READY, False)
    assert (once, again) == (1, 2)
