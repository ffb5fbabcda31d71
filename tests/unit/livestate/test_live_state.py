"""Following clusters in memory: shared, coalesced, honest about silence, and ended by nothing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from live_fleet import OWNER, MemoryFleet, applied, names, pod, stored
from memory_cluster import MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.client import fleet_clients
from volary.livestate import live_objects, live_state
from volary.model import errors
from volary.model.fleet import fleets
from volary.model.objects import object_health, ownership
from volary.model.statuses import HealthStatus

pytestmark = pytest.mark.looptime


@contextlib.asynccontextmanager
async def following(fleet: MemoryFleet, **more: Any) -> AsyncIterator[live_state.LiveState]:
    clients = cast("fleet_clients.FleetClients", fleet)
    live = live_state.LiveState(clients, fleet.clock, chance=lambda: 0.5, **more)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(live.keep_following())
        yield live
        task.cancel()


async def until(live: live_state.LiveState, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not holds():
            await live.changed(1.0)


def shop() -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.put(
        stored(("apps", "Deployment", "web"), ("", "ConfigMap", "gone")),
        applied("Deployment", "web"),
        pod("web-1", "uid-Deployment-web"),
    )
    return cluster


def known(live: live_state.LiveState) -> live_objects.KnownObjects:
    objects = live.known_objects("us", OWNER)
    assert objects is not None
    return objects


def follows(live: live_state.LiveState, kind: str) -> bool:
    return live.is_current("us") and known(live).follows(("", kind))


async def test_a_tree_says_what_is_there_and_what_is_missing() -> None:
    cluster = shop()
    async with following(MemoryFleet({"us": cluster})) as live:
        await until(live, lambda: live.is_current("us") and follows(live, "ConfigMap"))

        view = live.tree("us", OWNER)

        assert names(view.tree) == ["gone", "web", "web-1"]
        assert [key.name for key in known(live).keys] == ["web"]
        assert live.find("us", OWNER, view.tree.nodes[1].node.key) is not None


async def test_a_kind_that_comes_into_use_is_followed_from_then_on() -> None:
    cluster = shop()
    async with following(MemoryFleet({"us": cluster})) as live:
        await until(live, lambda: live.is_current("us"))
        assert not follows(live, "Service")

        cluster.put(
            stored(("apps", "Deployment", "web"), ("", "Service", "web")), applied("Service", "web")
        )

        await until(live, lambda: follows(live, "Service"))
        assert live.is_current("us")
        await until(live, lambda: names(live.tree("us", OWNER).tree) == ["web", "web", "web-1"])


async def test_changes_of_many_applications_are_told_together() -> None:
    cluster = MemoryCluster()
    owners = [ownership.Owner(f"app{number}", f"{number:016x}") for number in range(300)]
    every = [
        body
        for owner in owners
        for body in (
            stored(("", "ConfigMap", owner.name), owner=owner),
            applied("ConfigMap", owner.name, owner),
        )
    ]
    cluster.put(*every)
    async with following(MemoryFleet({"us": cluster})) as live:
        await until(live, lambda: live.is_current("us"))
        listener = live.listen()
        for owner in owners:
            live.tree("us", owner)
        await asyncio.sleep(1)
        waking: list[int] = []

        async def count() -> None:
            while True:
                await live.changed(600)
                waking.append(live.version)

        async with asyncio.TaskGroup() as group:
            counting = group.create_task(count())
            for owner in owners:
                # Each in a moment of its own.
                cluster.put(applied("ConfigMap", owner.name, owner, data={"a": "b"}))
                await asyncio.sleep(0)
            heard: set[Any] = set()
            async with asyncio.timeout(60):
                while len(heard) < len(owners):
                    heard |= await listener.changed()
            await asyncio.sleep(1)
            counting.cancel()

        assert heard == {("us", owner.id) for owner in owners}
        assert len(waking) <= 3, waking
        listener.close()


async def test_a_cluster_whose_api_sends_garbage_stops_nobody() -> None:
    broken = shop()
    broken.put(
        {
            "kind": "Deployment",
            "metadata": {"name": "odd", "labels": {"volary.dev/managed-by": "volary"}},
        }
    )
    async with following(MemoryFleet({"us": shop(), "eu": broken})) as live:
        await until(live, lambda: live.is_current("us") and live.is_current("eu"))
        assert any("could not be understood" in warning for warning in live.warnings("eu"))
        assert "web-1" in names(live.tree("eu", OWNER).tree)

        broken.error = ValueError("a bug that the garbage finds")
        broken.put()
        await until(live, lambda: any("ValueError" in one for one in live.warnings("eu")))
        broken.error = None

        await until(live, lambda: not any("ValueError" in one for one in live.warnings("eu")))
        assert live.is_current("us")


async def test_what_may_not_be_read_is_said_and_the_rest_is_shown() -> None:
    cluster = shop()
    fleet = MemoryFleet({"us": cluster})
    listed = cluster.watch

    def watch(resource: Any, **options: Any) -> Any:
        if resource.kind == "Pod" and not options.get("namespace"):
            raise api_errors.Forbidden("pods are forbidden", status=403)
        return listed(resource, **options)

    cluster.watch = watch  # type: ignore[method-assign]
    async with following(fleet) as live:
        # In the whole cluster it may not be followed, in the namespaces of applications it may.
        await until(live, lambda: "web-1" in names(live.tree("us", OWNER).tree))
        assert live.is_current("us")


async def test_a_cluster_that_cannot_be_reached_is_tried_again_and_again() -> None:
    fleet = MemoryFleet({"us": shop()}, unavailable={"us": "its kubeconfig is missing"})
    async with following(fleet) as live:
        await until(live, lambda: live.why_stale("us") == "its kubeconfig is missing")
        await asyncio.sleep(300)
        fleet.unavailable.clear()

        await until(live, lambda: live.is_current("us"))

        assert "web" in names(live.tree("us", OWNER).tree)


async def test_a_cluster_that_falls_silent_is_stale_and_what_was_known_stays() -> None:
    cluster = shop()
    async with following(MemoryFleet({"us": cluster})) as live:
        await until(live, lambda: live.is_current("us"))
        before = live.tree("us", OWNER)

        cluster.error = errors.TemporaryError("no answer")
        cluster.trouble = "no answer"

        await until(live, lambda: not live.is_current("us"))
        assert live.why_stale("us") == "the cluster does not answer: no answer"
        change = live.changes("us", OWNER, before.version)
        await until(live, lambda: live.changes("us", OWNER, before.version) is not None)
        assert names(live.tree("us", OWNER).tree) == names(before.tree)

        cluster.error, cluster.trouble = None, ""
        listener = live.listen()
        await until(live, lambda: live.is_current("us"))
        assert await listener.changed() == {("us", OWNER.id)}
        assert change is None or not change.removed


async def test_a_suspended_cluster_is_left_alone() -> None:
    members = (fleets.Cluster("us", kubeconfig=("x",), suspended=True),)
    async with following(MemoryFleet({"us": shop()}, members=members)) as live:
        await until(live, lambda: "suspends" in live.why_stale("us"))
        assert live.known_objects("us", OWNER) is None


async def test_a_cluster_that_leaves_the_fleet_is_forgotten() -> None:
    fleet = MemoryFleet({"us": shop(), "eu": shop()})
    async with following(fleet) as live:
        await until(live, lambda: live.is_current("us") and live.is_current("eu"))
        live.tree("eu", OWNER)

        del fleet.clusters["eu"]

        await until(live, lambda: live.why_stale("eu") == "it is not followed")
        assert live.known_objects("eu", OWNER) is None
        await until(live, lambda: not live.tree("eu", OWNER).tree.nodes)
        assert live.is_current("us")


async def test_no_more_watches_are_opened_than_there_may_be() -> None:
    async with following(MemoryFleet({"us": shop()}), most_watches=2) as live:
        await until(live, lambda: any("2 watches are open" in one for one in live.warnings("us")))


class Refusing(MemoryCluster):
    """A cluster that its reader may not read as a whole, and in one namespace may."""

    def __init__(self, *allowed: str) -> None:
        super().__init__()
        self.allowed = allowed

    def watch(self, resource: Any, **options: Any) -> Any:
        if options.get("namespace") not in self.allowed:
            raise api_errors.Forbidden(f"{resource.plural} are forbidden", status=403)
        return super().watch(resource, **options)


class OfTeam:
    """Reads the namespace of a team on behalf of that team."""

    def __init__(self, fleet: MemoryFleet) -> None:
        self.fleet = fleet

    def namespaces(self, cluster: str) -> tuple[str, ...]:
        return ("default",)

    def clients(self, cluster: str, namespace: str) -> Any:
        return self.fleet


async def test_who_may_read_nothing_reads_namespaces_on_behalf_of_their_teams() -> None:
    mine, of_team = Refusing(), Refusing("default")
    of_team.put(
        stored(("apps", "Deployment", "web")),
        applied("Deployment", "web"),
        pod("web-1", "uid-Deployment-web"),
    )
    behalf = OfTeam(MemoryFleet({"us": of_team}))
    async with following(MemoryFleet({"us": mine}), behalf=behalf) as live:
        await until(live, lambda: "web-1" in names(live.tree("us", OWNER).tree))
        assert live.is_current("us")


async def test_of_what_nobody_may_read_nothing_is_called_missing() -> None:
    async with following(MemoryFleet({"us": Refusing()})) as live:
        await until(live, lambda: any("may not be read" in one for one in live.warnings("us")))

        view = live.tree("us", OWNER)

        assert (view.tree.nodes, view.tree.health.status) == ((), HealthStatus.UNKNOWN)
        assert not live.is_current("us") or not known(live).is_whole


def by_data(healthy: str) -> tuple[object_health.Rule, ...]:
    return (object_health.Rule("", "ConfigMap", healthy=f"object.data.phase == '{healthy}'"),)


async def test_an_applications_own_rules_of_health_count_for_it_alone() -> None:
    """Also for what was there before they were known, and no more once the file has none."""
    cluster, other = MemoryCluster(), ownership.Owner("other", "fedcba9876543210")
    cluster.put(
        stored(("", "ConfigMap", "mine")), applied("ConfigMap", "mine", data={"phase": "a"})
    )
    cluster.put(applied("ConfigMap", "theirs", other, data={"phase": "a"}))

    def health(live: live_state.LiveState, owner: ownership.Owner = OWNER) -> HealthStatus:
        return live.health("us", owner)

    async with following(MemoryFleet({"us": cluster})) as live:
        await until(live, lambda: follows(live, "ConfigMap"))
        before = (health(live), live.tree("us", OWNER))

        await live.use_rules([OWNER], by_data("b"))
        await until(live, lambda: health(live) is HealthStatus.PROGRESSING)
        change = live.changes("us", OWNER, before[1].version)
        assert health(live, other) is HealthStatus.HEALTHY

        cluster.put(applied("ConfigMap", "mine", data={"phase": "b"}))
        await until(live, lambda: health(live) is HealthStatus.HEALTHY)
        await live.use_rules([OWNER], by_data("c"))
        await until(live, lambda: health(live) is HealthStatus.PROGRESSING)
        await live.use_rules([OWNER], ())
        await until(live, lambda: health(live) is HealthStatus.HEALTHY)

    assert before[0] is HealthStatus.HEALTHY
    assert change is not None
    assert [node.node.name for node in change.tree.nodes] == ["mine"]
