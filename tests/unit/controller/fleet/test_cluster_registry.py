"""The registry stores before it counts, writes only changes, and answers who taints clusters."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import damaged_rows
import store_fixtures as given
from volary.clusters.client import client_pool
from volary.controller.fleet import cluster_registry, taint_commands
from volary.controller.persistence import change_signal
from volary.model.fleet import cluster_health, fleets, taints
from volary.placement import health_states
from volary.store import factory, records, stores

MEMBERS = fleets.Fleet(
    (
        fleets.Cluster("us"),
        fleets.Cluster("eu", taints=(taints.Taint("gpu"),)),
        fleets.Cluster("old", suspended=True),
    )
)
State = cluster_health.ClusterState


@dataclass
class World:
    store: stores.Store
    clusters: client_pool.ClientPool
    clock: given.TurnedClock
    known: cluster_registry.ClusterRegistry
    asked: int = 0

    def keys(self, name: str) -> list[str]:
        member = self.clusters.member(name)
        assert member is not None
        return [str(each) for each in member.taints]

    async def written(self) -> dict[str, records.ClusterRecord]:
        return {each.name: each for each in await self.store.clusters.list()}

    async def ask(self, action: str, cluster: str = "us", **said: Any) -> str:
        document = {"action": action, "cluster": cluster, **said}
        self.asked += 1
        name, now = f"r{self.asked}", self.clock.now()
        request = records.RequestRecord(name, "cluster", "ana", now, document=document)
        await self.store.requests.ask(request)
        return await taint_commands.carry_out(request, self.known, self.clock.now(), fence=None)


@pytest.fixture
async def marked() -> AsyncIterator[World]:
    clock = given.TurnedClock()
    async with (
        factory.open_store("memory:", clock=clock) as store,
        client_pool.open_pool(MEMBERS, clock=clock) as clusters,
    ):
        known = cluster_registry.ClusterRegistry(
            store,
            clusters,
            clock,
            cluster_health.HealthRules(),
            change_signal.ChangeSignal(),
            MEMBERS,
        )
        await known.enter(MEMBERS, fence=None)
        yield World(store, clusters, clock, known)


async def test_who_is_in_the_fleet_is_kept(marked: World) -> None:
    states = {name: each.state for name, each in (await marked.written()).items()}

    assert states == {"eu": "unknown", "old": "suspended", "us": "unknown"}


async def test_only_changes_are_written(marked: World) -> None:
    now = marked.clock.now()
    ready = health_states.observe(
        marked.known.of("us"),
        cluster_health.ProbeResult(State.READY),
        now,
        cluster_health.HealthRules(),
    )
    first = await marked.known.take([ready], fence=None)
    written, beats = await marked.written(), marked.known.kept.count
    marked.clock.turn(seconds=10)
    later = health_states.observe(
        marked.known.of("us"),
        cluster_health.ProbeResult(State.READY),
        marked.clock.now(),
        cluster_health.HealthRules(),
    )
    second = await marked.known.take([later], fence=None)

    assert [each.cluster for each in first] == ["us"]
    assert second == ()
    assert await marked.written() == written
    assert marked.known.kept.count == beats
    assert marked.known.of("us").observed == marked.clock.now()


async def test_a_cluster_that_cannot_be_read_is_cordoned_until_somebody_says_otherwise(
    tmp_path: Path,
) -> None:
    """Whether a person had cordoned it is not known, and nothing is written over."""
    clock, address = given.TurnedClock(), f"sqlite:{tmp_path}/volary.db"
    half = damaged_rows.DOCUMENTS["half a text"]
    async with (
        factory.open_store(address, clock=clock) as store,
        client_pool.open_pool(MEMBERS, clock=clock) as clusters,
    ):
        rules, signal = cluster_health.HealthRules(), change_signal.ChangeSignal()
        parts = (store, clusters, clock, rules, signal, MEMBERS)
        await cluster_registry.ClusterRegistry(*parts).enter(MEMBERS, fence=None)
        await damaged_rows.damage(address, "clusters", "document", half, name="us")
        world = World(store, clusters, clock, cluster_registry.ClusterRegistry(*parts))

        await world.known.load()
        await world.known.enter(MEMBERS, fence=None)
        await world.known.forget(["us"], fence=None)

        cordon = world.known.of("us").cordon
        assert cordon is not None
        assert cordon.reason.startswith("what is stored of it cannot be read: its document")
        assert await damaged_rows.stored(address, "clusters", "document", name="us") == half
        assert await world.ask("uncordon") == ""
        assert world.known.of("us").cordon is None
        assert not (await world.written())["us"].unreadable


async def test_a_leaver_is_remembered_and_a_look_at_it_does_not_bring_it_back(
    marked: World,
) -> None:
    seen = marked.known.of("us")
    left = replace(MEMBERS, clusters=MEMBERS.clusters[1:])
    await marked.known.enter(left, fence=None)
    await marked.known.take([seen], fence=None)

    assert marked.known.of("us").left is not None
    assert marked.clusters.former == ("us",)
    await marked.known.enter(MEMBERS, fence=None)
    assert marked.known.of("us").left is None
    assert marked.clusters.former == ()


async def test_cordon_drain_and_uncordon(marked: World) -> None:
    assert await marked.ask("cordon", reason="1.36") == ""
    assert marked.keys("us") == ["volary.dev/cordoned:NoSchedule"]
    assert await marked.ask("cordon") == "us is already cordoned by ana: 1.36"
    assert await marked.ask("drain", reason="now") == ""
    assert marked.keys("us") == ["volary.dev/cordoned:NoSchedule", "volary.dev/drained:NoExecute"]
    cordon = marked.known.of("us").cordon
    assert cordon is not None
    assert cordon.reason == "1.36"
    assert await marked.ask("uncordon") == ""
    assert marked.keys("us") == []
    assert await marked.ask("uncordon") == "us is not cordoned"


async def test_taints_by_hand_are_kept_replaced_and_taken_away(marked: World) -> None:
    assert await marked.ask("taint", "eu", key="a", value="1", effect="NoSchedule") == ""
    assert await marked.ask("taint", "eu", key="a", value="2", effect="NoSchedule") == ""
    assert await marked.ask("taint", "eu", key="a", value="3", effect="NoExecute") == ""
    assert marked.keys("eu") == ["gpu:NoSchedule", "a=3:NoExecute", "a=2:NoSchedule"]
    assert await marked.ask("untaint", "eu", key="a", effect="NoSchedule") == ""
    assert await marked.ask("untaint", "eu", key="a") == ""
    assert marked.keys("eu") == ["gpu:NoSchedule"]
    assert await marked.ask("untaint", "eu", key="gpu") == "gpu is written in the fleet file"
    assert await marked.ask("untaint", "eu", key="a") == "eu has no taint a"
    assert await marked.ask("cordon", "mars") == "there is no cluster mars in the fleet"


async def test_what_a_rule_made_is_not_taken_away_by_hand(marked: World) -> None:
    mark = taints.Taint(taints.UNREACHABLE, by=taints.BY_RULE, reason="no answer in time")
    await marked.known.take([health_states.taint(marked.known.of("us"), [mark])], fence=None)

    refused = await marked.ask("untaint", key=taints.UNREACHABLE)

    assert refused == "volary.dev/unreachable follows from how us is: no answer in time"


async def test_another_process_reads_what_was_kept(marked: World) -> None:
    await marked.ask("cordon", reason="1.36")
    async with client_pool.open_pool(MEMBERS, clock=marked.clock) as clusters:
        other = cluster_registry.ClusterRegistry(
            marked.store,
            clusters,
            marked.clock,
            cluster_health.HealthRules(),
            change_signal.ChangeSignal(),
            MEMBERS,
        )
        await other.load()

        member = clusters.member("us")

    assert member is not None
    assert [str(each) for each in member.taints] == ["volary.dev/cordoned:NoSchedule"]


async def test_all_that_outlives_the_process_comes_back(marked: World) -> None:
    """What lives only as long as the process does not."""
    at = marked.clock.now()
    kept = cluster_health.ClusterHealth(
        "us",
        State.NOT_READY,
        since=at - timedelta(seconds=40),
        reason="the API server says it is not ready",
        taints=(
            taints.Taint(
                taints.CORDONED,
                "upgrade",
                taints.Effect.NO_SCHEDULE,
                at - timedelta(hours=1),
                by="ana",
                reason="1.36",
            ),
        ),
        first_seen=at - timedelta(days=3),
        left=at - timedelta(seconds=1),
        identity="uid-1",
    )
    seen = replace(kept, observed=at, steady=at, answers=True)

    await marked.known.change("us", lambda _: seen, fence=None)

    async with client_pool.open_pool(MEMBERS, clock=marked.clock) as clusters:
        other = replace(marked.known, clusters=clusters)
        await other.load()
    assert marked.known.of("us") == seen
    assert other.of("us") == kept


async def test_requests_and_probes_feed_one_health(marked: World) -> None:
    """The pool tells the outcomes of requests; whoever waits learns that a cluster is back."""
    told: list[set[str]] = []
    marked.known.on_reachable = lambda names: told.append(set(names))
    now = marked.clock.now()
    ready = cluster_health.ProbeResult(State.READY)
    probed = health_states.observe(marked.known.of("us"), ready, now, marked.known.rules)
    await marked.known.take([probed], fence=None)

    marked.clusters.on_outcome("us", "connection refused")
    lost = marked.known.of("us")
    marked.clusters.on_outcome("us", "")
    marked.clusters.on_outcome("us", "")
    back = marked.known.of("us")

    assert (lost.state, lost.answers) == (State.READY, False)
    assert lost.pending == cluster_health.PendingChange(
        State.UNREACHABLE, now, "connection refused"
    )
    assert (back.pending, back.answers) == (None, True)
    assert told == [{"us"}]


async def test_what_requests_say_is_not_stored(marked: World) -> None:
    before = await marked.written()

    marked.clusters.on_outcome("us", "connection refused")

    assert await marked.written() == before


async def test_who_joins_or_leaves_is_logged_once(
    marked: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for fleet in (MEMBERS, replace(MEMBERS, clusters=MEMBERS.clusters[1:]), MEMBERS):
        for _ in range(2):
            await marked.known.enter(fleet, fence=None)

    assert [record.getMessage() for record in caplog.records] == [
        f"cluster {MEMBERS.clusters[0].name} left the fleet: runs under way there go on, and what"
        " runs there stays",
        f"cluster {MEMBERS.clusters[0].name} joined the fleet",
    ]
