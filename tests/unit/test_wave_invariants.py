"""The watcher of the fault scenarios names each thing that must not happen."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import event_invariants
import route_weights
import stage_world
from kube_sandbox.apiserver.storage import verbs
from stage_world import KEY, NEW, OLD
from volary.engine.observers import feed
from volary.model import json
from volary.model.statuses import TaskStatus
from wave_invariants import Allowed, Watch, watched

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WAVES = {"first": ("us", "eu"), "rest": ("asia",)}


class Tale:
    """Events of one run, as they are kept."""

    def __init__(self, allowed: Allowed) -> None:
        self.events = event_invariants.Events(allowed)
        started = feed.RunStarted(
            at=NOON,
            run="run-1",
            application="shop",
            commit=NEW,
            running_commit=OLD,
            targets=("us", "eu", "asia"),
            stages=(),
            waves=WAVES,
        )
        self.events.hear(feed.to_json(started))

    def starts(self, stage: str, *targets: str) -> None:
        for each in targets:
            self.events.hear(feed.TaskStarted(**self._words(stage, each), deadline=None))

    def ends(self, stage: str, *targets: str, status: TaskStatus = TaskStatus.SUCCEEDED) -> None:
        for each in targets:
            ended = feed.TaskFinished(
                **self._words(stage, each), status=status, reason="so it was", details=()
            )
            self.events.hear(ended)

    def done(self, wave: str, *targets: str) -> None:
        for stage in (f"{wave}/1-K8S_SYNC", f"{wave}/2-WAVE_GATE"):
            self.starts(stage, *targets)
            self.ends(stage, *targets)

    @staticmethod
    def _words(stage: str, target: str) -> dict[str, Any]:
        name = stage.rpartition("-")[2]
        return {
            "at": NOON,
            "run": "run-1",
            "stage": stage,
            "stage_name": name,
            "target": target,
            "attempt": 1,
        }


def test_a_wave_that_begins_when_all_before_it_hold_is_right() -> None:
    tale = Tale(Allowed())
    tale.done("first", "us", "eu")
    tale.done("rest", "asia")
    assert tale.events.broken == []


def test_a_wave_that_begins_early_is_named() -> None:
    tale = Tale(Allowed(failures=1))
    tale.done("first", "us")
    tale.starts("first/1-K8S_SYNC", "eu")
    tale.ends("first/1-K8S_SYNC", "eu")
    tale.starts("first/2-WAVE_GATE", "eu")
    tale.starts("rest/1-K8S_SYNC", "asia")
    assert tale.events.broken == ["rest/1-K8S_SYNC begins on asia before eu of first holds"]


def test_a_proof_that_is_taken_again_counts_only_when_it_is_passed_again() -> None:
    tale = Tale(Allowed())
    tale.done("first", "us", "eu")
    tale.starts("first/2-WAVE_GATE", "us")
    tale.ends("first/2-WAVE_GATE", "us", status=TaskStatus.CANCELLED)
    tale.starts("rest/1-K8S_SYNC", "asia")
    assert tale.events.broken == ["rest/1-K8S_SYNC begins on asia before us of first holds"]


@pytest.mark.parametrize("status", [TaskStatus.FAILED, TaskStatus.UNREACHABLE])
def test_a_budget_that_is_exceeded_is_named(status: TaskStatus) -> None:
    tale = Tale(Allowed(failures=0, unreachable=0))
    tale.done("first", "us")
    tale.ends("first/1-K8S_SYNC", "eu", status=status)
    tale.starts("rest/1-K8S_SYNC", "asia")
    assert tale.events.broken == [
        f"rest/1-K8S_SYNC begins on asia, but of first 1 are {status}, 0 may be: eu"
    ]


def test_one_more_of_a_wave_that_is_beyond_its_budget_is_named_too() -> None:
    tale = Tale(Allowed())
    tale.ends("first/1-K8S_SYNC", "eu", status=TaskStatus.FAILED)
    tale.starts("first/1-K8S_SYNC", "us")
    assert tale.events.broken == [
        "first/1-K8S_SYNC begins on us, but of first 1 are failed, 0 may be: eu"
    ]


def test_the_budget_of_all_waves_together_is_watched() -> None:
    tale = Tale(Allowed(failures=1, unreachable=1, total=1))
    tale.ends("first/1-K8S_SYNC", "eu", status=TaskStatus.FAILED)
    tale.ends("first/1-K8S_SYNC", "us", status=TaskStatus.UNREACHABLE)
    tale.starts("rest/1-K8S_SYNC", "asia")
    assert tale.events.broken == ["rest/1-K8S_SYNC begins on asia, but all waves lost eu, us"]


def test_who_is_tried_again_is_not_gone() -> None:
    tale = Tale(Allowed())
    tale.ends("first/1-K8S_SYNC", "eu", status=TaskStatus.UNREACHABLE)
    assert tale.events.is_unreachable("eu")
    tale.done("first", "eu", "us")
    tale.done("rest", "asia")
    assert not tale.events.is_unreachable("eu")
    assert tale.events.broken == []


def test_who_is_asked_to_go_back_is_not_taken_for_lost() -> None:
    tale = Tale(Allowed())
    tale.ends("first/1-K8S_SYNC", "eu", status=TaskStatus.UNREACHABLE)
    tale.starts("rollback", "eu")
    assert not tale.events.is_unreachable("eu")
    tale.ends("rollback", "eu", status=TaskStatus.UNREACHABLE)
    assert tale.events.is_unreachable("eu")


def weighted(kind: str, *entries: tuple[str, object]) -> json.JsonObject:
    """A route of a kind that sends weights to Services, or to subsets."""
    named = [{"name": name, "weight": weight} for name, weight in entries]
    spec: json.JsonObject = {}
    match kind:
        case "VirtualService":
            route = [
                {"destination": {"host": "shop", "subset": name}, "weight": weight}
                for name, weight in entries
            ]
            spec = {"http": [{"name": "main", "route": route}]}
        case "TrafficSplit":
            spec = {"backends": [{"service": name, "weight": weight} for name, weight in entries]}
        case "TraefikService":
            spec = {"weighted": {"services": named}}
        case "HTTPRoute":
            spec = {"rules": [{"name": "main", "backendRefs": named}]}
    return {"kind": kind, "metadata": {"name": "shop"}, "spec": spec}


KINDS = ("VirtualService", "HTTPRoute", "TrafficSplit", "TraefikService")


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_do_not_add_up_are_named(kind: str) -> None:
    right = weighted(kind, ("shop", 70), ("shop-canary", 30))
    less = weighted(kind, ("shop", 70), ("shop-canary", 20))
    assert route_weights.wrong(right, None, "shop") == []
    (said,) = route_weights.wrong(less, right, "shop")
    assert "add up to 90" in said


def test_quantities_are_parts_of_one() -> None:
    right = weighted("TrafficSplit", ("shop", "700m"), ("shop-canary", "300m"))
    less = weighted("TrafficSplit", ("shop", "700m"), ("shop-canary", "200m"))
    assert route_weights.wrong(right, None, "shop") == []
    (said,) = route_weights.wrong(less, right, "shop")
    assert "add up to 9/10" in said


def test_a_route_to_nobody_is_named() -> None:
    nobody = weighted("HTTPRoute", ("shop", 0), ("reports", 1))
    assert route_weights.wrong(nobody, None, "shop") == ["rule main sends nothing to shop"]


def test_the_part_of_others_has_to_stay() -> None:
    before = weighted("HTTPRoute", ("shop", 3), ("reports", 1))
    same = weighted("HTTPRoute", ("shop", 270), ("shop-canary", 30), ("reports", 100))
    more = weighted("HTTPRoute", ("shop", 70), ("shop-canary", 30), ("reports", 1))
    assert route_weights.wrong(same, before, "shop") == []
    assert route_weights.wrong(more, before, "shop") == [
        "rule main sends 100/101 of all to shop, not 3/4"
    ]


def test_an_ingress_beside_another_gets_no_more_than_everything() -> None:
    def beside(weight: str) -> json.JsonObject:
        note = {"nginx.ingress.kubernetes.io/canary-weight": weight}
        return {"kind": "Ingress", "metadata": {"name": "shop-canary", "annotations": note}}

    assert route_weights.wrong(beside("30"), None, "shop") == []
    assert route_weights.wrong(beside("130"), None, "shop") == ["canary's weight is 130"]


@contextlib.asynccontextmanager
async def meshed() -> AsyncIterator[stage_world.World]:
    """Given: the shop behind a VirtualService on two clusters."""
    async with stage_world.world("us", "eu", istio=True) as given:
        more = [
            stage_world.made(stage_world.virtual_service(primary=100)),
            stage_world.made(stage_world.destination_rule()),
        ]
        given.sources = {commit: [*each, *more] for commit, each in given.sources.items()}
        await given.deployed(OLD)
        yield given


@contextlib.contextmanager
def broken(given: stage_world.World, allowed: Allowed | None = None) -> Iterator[Watch]:
    """Watch a block in which something does not hold."""
    with (
        pytest.raises(AssertionError),
        watched(given, waves=(("us",), ("eu",)), allowed=allowed) as watch,
    ):
        yield watch


def change(given: stage_world.World, target: str, kind: str, spec: json.JsonObject) -> None:
    """When: somebody changes an object in a cluster, past us."""
    cluster = given.running.clusters[target]
    found = cluster.registry.kind_of(given.get(target, kind, "shop"))
    cluster.registry.patch(
        found, "default", "shop", {"spec": spec}, verbs.PatchType.MERGE, verbs.Options()
    )


async def test_what_is_wrong_in_a_cluster_is_named_at_the_change() -> None:
    async with meshed() as given:
        with broken(given) as watch:
            weights = stage_world.virtual_service(primary=70, canary=20)["spec"]
            change(given, "us", "VirtualService.networking.istio.io", weights)
        assert watch.broken == [
            "VirtualService shop on us: weights of route main add up to 90: [70, 20]",
            "us lost 22% of its requests: ('the Service default/shop has no ready endpoint',)",
        ]

        weights = stage_world.virtual_service(primary=100)["spec"]
        change(given, "us", "VirtualService.networking.istio.io", weights)
        with broken(given) as watch:
            change(given, "eu", "Service", {"selector": {"app": "shop", KEY: "nobody"}})
        assert "Service shop on eu selects no pod that is ready" in watch.broken


async def test_a_later_wave_that_has_the_release_first_is_named() -> None:
    async with meshed() as given:
        with broken(given) as watch:
            await given.deployed(NEW, targets=("eu",))
        assert watch.broken == ["eu gets 2222222, but us of wave 1 does not hold it, and 0 may not"]


async def test_one_that_may_be_missing_is_not_named() -> None:
    async with meshed() as given:
        with watched(given, waves=(("us",), ("eu",)), allowed=Allowed(failures=1)):
            await given.deployed(NEW, targets=("eu",))
        with watched(given, waves=(("eu",), ("us",))):
            await given.deployed(NEW, targets=("us",))


@pytest.mark.parametrize("believed", [False, True])
async def test_what_is_deleted_where_nobody_can_be_reached_is_named(*, believed: bool) -> None:
    """It is lost, or some run takes it for lost and has not asked it again."""
    async with meshed() as given:
        with broken(given) as watch:
            if believed:
                tale = Tale(Allowed(unreachable=1))
                tale.events.broken = watch.events.broken
                watch.clusters.is_unreachable = tale.events.is_unreachable
                tale.ends("first/1-K8S_SYNC", "us", status=TaskStatus.UNREACHABLE)
            else:
                given.running.clusters["us"].faults.change({"lost": "hang"})
            registry = given.running.clusters["us"].registry
            registry.delete(registry.kind("v1", "ConfigMap"), "default", "settings")
        why = "a run takes for lost" if believed else "is lost"
        assert watch.broken == [f"ConfigMap settings was deleted on us, which {why}"]


async def test_what_a_cluster_was_asked_for_before_it_was_lost_is_not_named() -> None:
    async with meshed() as given:
        with watched(given, waves=(("us",), ("eu",))):
            us = given.running.clusters["us"]
            kind, how = (
                us.registry.kind("v1", "ConfigMap"),
                verbs.Deletion(propagation="Foreground"),
            )
            us.registry.delete(kind, "default", "settings", how)
            assert us.view.get("ConfigMap", "default", "settings"), "it goes once all else is gone"
            us.faults.change({"lost": "hang"})
            await us.until(lambda view: view.get("ConfigMap", "default", "settings") is None)
