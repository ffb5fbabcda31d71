"""Moving traffic on one cluster, in memory and in virtual time."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import memory_cluster
from memory_cluster import pod, service, split
from memory_world import SELECTING, SHOP, World, now
from volary.clusters.api import api_errors
from volary.clusters.apply import preconditions
from volary.manifests.ownership import field_managers, tracking
from volary.model import applications, json, routing_options
from volary.model.objects import manifest, ownership
from volary.model.pipeline import variant
from volary.stages.runtime import execution
from volary.stages.traffic import check_watches, division, live_routes, readiness_watch, routes

pytestmark = pytest.mark.looptime
V = variant.Variant
HALF, CANARY = division.Division(50, canary=50), division.Division(0, canary=100)


async def test_traffic_is_divided_and_read_back() -> None:
    given = World()

    work = await given.divide(HALF)

    assert given.weights == {"shop": 50, "shop-canary": 50}
    assert given.observed == division.Observed(50, 50)
    assert given.cluster.writes == [("TrafficSplit", "shop", field_managers.TRAFFIC_MANAGER)]
    assert work.lines == ["TrafficSplit shop: primary 50 %, canary 50 %"]
    assert work.touched
    assert work.context.propagation.left == timedelta(seconds=3)
    assert now() == 0


async def test_who_goes_on_with_a_run_takes_routes_that_runs_move_for_changed_just_now() -> None:
    given = World()
    never_moved, later = given.work(), given.work()
    for work in (never_moved, later):
        work.context.propagation.take_up()
    await live_routes.of(never_moved, given.source)
    moved = split()
    moved["metadata"]["managedFields"] = [{"manager": field_managers.TRAFFIC_MANAGER}]
    given.cluster.put(moved)
    await live_routes.of(later, given.source)

    assert never_moved.context.propagation.left == timedelta(0)
    assert later.context.propagation.left == timedelta(seconds=3)


async def test_nobody_gets_traffic_without_a_ready_pod() -> None:
    given = World()
    given.cluster.put(pod("new", "canary", ready=False))

    with pytest.raises(
        execution.StageFailedError, match="no traffic is sent to canary: none"
    ) as no:
        await given.divide(HALF)

    assert str(no.value) == (
        "no traffic is sent to canary: none of its pods is ready"
        " (app=shop,pipecd.dev/variant=canary)"
    )
    assert given.weights == {"shop": 100}
    assert given.cluster.writes == []
    assert now() == 60


async def test_a_short_absence_is_bridged() -> None:
    given = World()
    given.cluster.put(pod("new", "canary", ready=False))
    given.later(20, lambda: given.cluster.put(pod("new", "canary")))

    await given.divide(HALF)

    assert given.weights == {"shop": 50, "shop-canary": 50}
    assert now() == 20


async def test_no_longer_than_the_stage_may_take() -> None:
    given = World()
    given.cluster.put(pod("new", "canary", ready=False))
    with pytest.raises(execution.StageFailedError):
        await given.divide(HALF, seconds=10)
    assert now() == 10


async def test_the_service_of_the_route_has_to_lead_to_the_variant() -> None:
    given = World()
    given.cluster.put(service("shop-canary", "other"))

    with pytest.raises(execution.StageFailedError, match="no traffic is sent to canary: the Serv"):
        await given.divide(HALF)

    assert given.cluster.writes == []


async def test_who_had_its_share_before_still_needs_endpoints() -> None:
    """Its Service may lead to nobody by now, and the stage is not done then."""
    given = World()
    await given.divide(HALF)
    given.cluster.put(service("shop-canary", "other"))

    with pytest.raises(execution.StageFailedError, match="no traffic is sent to canary"):
        await given.divide(HALF)


async def test_a_stage_that_is_stopped_writes_nothing() -> None:
    given = World()
    given.cluster.put(pod("new", "canary", ready=False))
    given.later(5, lambda: given.stop.raise_flag("by ana"))

    with pytest.raises(execution.StoppedError):
        await given.divide(HALF)

    assert (given.cluster.writes, now()) == ([], 5)


async def test_whoever_edits_the_route_meanwhile_is_not_overwritten() -> None:
    given = World()
    theirs = split(shop=100, other=100)
    given.cluster.before_write.append(lambda: given.cluster.put(theirs))

    await given.divide(HALF)

    assert given.weights == {"shop": 50, "shop-canary": 50, "other": 100}
    assert len(given.cluster.writes) == 1


async def test_a_route_that_keeps_changing_is_given_up() -> None:
    given = World()
    for number in range(preconditions.TRIES):
        theirs = split(shop=100, other=number + 1)
        given.cluster.before_write.append(lambda theirs=theirs: given.cluster.put(theirs))

    with pytest.raises(execution.StageFailedError, match="kept changing while it was read"):
        await given.divide(HALF)

    assert given.cluster.writes == []


async def test_a_refused_write_has_touched_nothing() -> None:
    given = World()
    work = given.work()
    for _ in range(preconditions.TRIES):
        given.cluster.before_write.append(
            lambda: given.cluster.put(split(shop=100, other=int(given.cluster._version)))
        )
    with pytest.raises(execution.StageFailedError):
        await routes.divide(work, given.source, HALF)
    assert not work.touched


async def test_a_write_of_which_nothing_is_known_may_have_touched_the_cluster() -> None:
    given = World()
    work = given.work()

    def cut() -> None:
        raise api_errors.Unreachable("no answer")

    given.cluster.before_write.append(cut)
    with pytest.raises(api_errors.Unreachable):
        await routes.divide(work, given.source, HALF)
    assert work.touched


async def test_what_reads_back_otherwise_fails() -> None:
    given = World()
    keep = given.cluster._keep

    def tampered(body: json.JsonObject) -> json.JsonObject:
        is_route = body["kind"] == "TrafficSplit"
        return keep({**body, "spec": split(shop=90, shop_canary=10)["spec"]} if is_route else body)

    given.cluster._keep = tampered  # type: ignore[method-assign]
    with pytest.raises(execution.StageFailedError) as failed:
        await given.divide(HALF)
    assert str(failed.value) == (
        "TrafficSplit default/shop was written, but reads back as primary 90 %, canary 10 %"
        " instead of primary 50 %, canary 50 %"
    )


async def test_another_applications_route_stays_as_it_is() -> None:
    given = World()
    body = split()
    cart = tracking.track(
        manifest.Manifest(body),
        owner=ownership.Owner("cart", "cart-1"),
        commit="1",
        variant=variant.Variant.PRIMARY,
        label=variant.VariantLabel(),
    )
    given.cluster.put(cart.body)

    with pytest.raises(execution.StageFailedError, match="is the application cart's"):
        await given.divide(HALF)


async def test_what_is_live_is_said() -> None:
    given = World()
    given.cluster.put(split(shop=70, shop_canary=30))
    assert await routes.observe(given.work(), given.source) == division.Observed(70, 30)

    given.cluster.remove("TrafficSplit", "shop")
    assert await routes.observe(given.work(), given.source) is None


async def test_traffic_returns_to_primary_as_soon_as_it_can_take_it() -> None:
    given = World()
    given.cluster.put(split(shop=0, shop_canary=100), pod("old", "primary", ready=False))
    given.later(7, lambda: given.cluster.put(pod("old", "primary")))
    work = given.work()

    moved = await routes.live_routes.read(work, [given.source[2]])
    await routes.return_to_primary(work, moved, given.source)

    assert given.weights == {"shop": 100}
    assert now() == 7


async def test_a_selector_is_switched_and_its_endpoints_are_seen_to_follow() -> None:
    given = World(SELECTING)

    await given.divide(CANARY)

    live = given.cluster.find("Service", "shop")
    assert live is not None
    assert live["spec"]["selector"][memory_cluster.KEY] == "canary"
    assert given.observed == division.Observed(0, 100)
    assert given.report.progress_said[-1].sentence == "waiting for the endpoints of shop"


async def test_endpoints_that_do_not_follow_fail() -> None:
    given = World(SELECTING)
    slices = given.cluster.find("EndpointSlice", "shop")
    assert slices is not None
    given.cluster._follow = lambda: None  # type: ignore[method-assign]

    with pytest.raises(execution.StageFailedError) as failed:
        await given.divide(CANARY)

    assert str(failed.value) == (
        "Service default/shop was changed, but its endpoints still lead to old"
    )
    assert now() == 60


def route(*, accepted: str = "") -> json.JsonObject:
    """A route of the Gateway API, as its gateway answers it."""
    conditions = [
        {"type": kind, "status": accepted, "reason": "Busy", "observedGeneration": 1}
        for kind in ("Accepted", "ResolvedRefs")
        if accepted
    ]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop", "generation": 1},
        "spec": {
            "parentRefs": [{"name": "edge"}],
            "rules": [{"backendRefs": [{"name": "shop", "port": 80}]}],
        },
        "status": {"parents": [{"parentRef": {"name": "edge"}, "conditions": conditions}]},
    }


@pytest.mark.parametrize(
    ("answers", "seconds", "problem"),
    [
        ("True", 1000, ""),
        ("", 1000, "Gateway edge: the last change is not answered yet"),
        ("", 30, "Gateway edge: the last change is not answered yet"),
        ("False", 1000, "Gateway edge: not accepted: Busy"),
    ],
)
async def test_gateways_have_to_accept_a_route(answers: str, seconds: float, problem: str) -> None:
    routing = routing_options.TrafficRouting(method=routing_options.RoutingMethod.GATEWAY_API)
    given = World(applications.Application("shop", service=SHOP.service, traffic_routing=routing))
    given.source[2] = manifest.Manifest(route())
    given.cluster.put(route(accepted=answers))

    if not problem:
        await given.divide(HALF, seconds)
        assert now() == 0
        return
    with pytest.raises(execution.StageFailedError) as failed:
        await given.divide(HALF, seconds)
    assert str(failed.value) == f"HTTPRoute default/shop was written, but {problem}"
    assert now() == min(300, seconds)


async def test_traffic_is_given_back_without_waiting_for_a_gateway_that_never_answered() -> None:
    routing = routing_options.TrafficRouting(method=routing_options.RoutingMethod.GATEWAY_API)
    given = World(applications.Application("shop", service=SHOP.service, traffic_routing=routing))
    given.source[2] = manifest.Manifest(route())
    given.cluster.put({**route(), "status": {}})
    with pytest.raises(execution.StageFailedError, match="no controller has answered yet"):
        await given.divide(HALF, 30)
    began = now()

    await given.divide(division.PRIMARY)

    assert now() == began


async def test_a_late_answer_of_a_gateway_is_waited_for() -> None:
    routing = routing_options.TrafficRouting(method=routing_options.RoutingMethod.GATEWAY_API)
    given = World(applications.Application("shop", service=SHOP.service, traffic_routing=routing))
    given.source[2] = manifest.Manifest(route())
    given.cluster.put(route())

    def accept() -> None:
        live = given.cluster.find("HTTPRoute", "shop") or {}
        given.cluster.put({**live, "status": route(accepted="True")["status"]})

    given.later(120, accept)
    await given.divide(HALF)
    assert now() == 120


# Watching canary's pods.


def watch(given: World, **options: Any) -> readiness_watch.ReadinessWatch:
    return readiness_watch.ReadinessWatch(given.work(), given.source, **options)


@pytest.mark.parametrize(
    ("ready", "threshold", "enough"),
    [(4, 100, True), (3, 100, False), (3, 75, True), (2, 75, False)],
)
async def test_enough_of_canarys_pods_are_ready(ready: int, threshold: int, enough: bool) -> None:
    given = World()
    given.cluster.put(memory_cluster.deployment("canary", ready=ready, replicas=4))

    seen = await watch(given, threshold=threshold).look()

    assert seen == ("" if enough else f"{ready} of 4 canary pods ready")


async def test_no_canary_is_not_enough() -> None:
    given = World()
    given.cluster.put(memory_cluster.deployment("primary"))
    seen = await watch(given, threshold=0).look()
    assert seen == "there is no canary"


async def test_too_few_pods_are_borne_until_the_deadline() -> None:
    given = World()
    given.cluster.put(memory_cluster.deployment("canary", ready=1))
    watched = watch(given, deadline=timedelta(seconds=60))

    for _ in range(6):
        assert await watched.look() == "1 of 2 canary pods ready"
        await asyncio.sleep(10)
    with pytest.raises(execution.StageFailedError) as failed:
        await watched.look()
    assert str(failed.value) == "1 of 2 canary pods ready, for 60 seconds now"


async def test_enough_pods_begin_the_deadline_again() -> None:
    given = World()
    watched = watch(given, deadline=timedelta(seconds=60))
    for _ in range(3):
        given.cluster.put(memory_cluster.deployment("canary", ready=1))
        await watched.look()
        await asyncio.sleep(50)
        given.cluster.put(memory_cluster.deployment("canary"))
        assert await watched.look() == ""


async def test_what_cannot_become_ready_fails_at_once() -> None:
    given = World()
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    given.cluster.put(memory_cluster.deployment("canary", ready=0, conditions=[late]))
    with pytest.raises(execution.StageFailedError, match=r"^canary cannot become ready: "):
        await watch(given).look()


async def test_canary_without_a_pod_fails_a_rest_within_seconds() -> None:
    given = World()
    watched = watch(given, has_traffic=True)
    given.later(30, lambda: given.cluster.put(pod("new", "canary", ready=False)))

    async with watched.kept():
        with pytest.raises(execution.StageFailedError) as failed:
            await watched.rest(timedelta(seconds=600))

    assert str(failed.value) == "canary gets traffic, but none of its pods is ready any more"
    assert now() == 40


async def test_a_pod_that_restarts_once_is_no_failure() -> None:
    given = World()
    watched = watch(given, has_traffic=True)
    given.later(30, lambda: given.cluster.put(pod("new", "canary", ready=False)))
    given.later(39, lambda: given.cluster.put(pod("new", "canary")))

    async with watched.kept():
        await watched.rest(timedelta(seconds=600))

    assert now() == 600
    assert "no canary pod is ready" in [each.sentence for each in given.report.progress_said]


async def test_without_traffic_nobody_misses_canary() -> None:
    given = World()
    given.cluster.put(pod("new", "canary", ready=False))
    watched = watch(given)
    async with watched.kept():
        await watched.rest(timedelta(seconds=60))
    assert now() == 60


async def test_a_rest_ends_when_the_stage_is_stopped() -> None:
    given = World()
    watched = watch(given)
    given.later(5, lambda: given.stop.raise_flag("by ana"))
    async with watched.kept():
        with pytest.raises(execution.StoppedError):
            await watched.rest(timedelta(seconds=60))
    assert now() == 5


async def test_pods_that_cannot_be_watched_fail_a_rest() -> None:
    given = World()
    given.cluster.error = api_errors.Forbidden("pods are forbidden", status=403)
    watched = watch(given)
    with pytest.raises(api_errors.Forbidden):
        async with watched.kept():
            await watched.rest(timedelta(seconds=60))


async def test_a_watch_that_breaks_wakes_who_rests() -> None:
    given = World()
    watched = watch(given)

    def fail() -> None:
        given.cluster.error = api_errors.Forbidden("pods are forbidden", status=403)
        given.cluster.put(pod("new", "canary", ready=False))

    given.later(30, fail)
    with pytest.raises(api_errors.Forbidden):
        async with watched.kept():
            await watched.rest(timedelta(seconds=600))

    assert now() == 30


ROLLED_OUT = replace(SHOP, workloads=(routing_options.ObjectReference("Service", "shop"),))


@pytest.mark.parametrize(
    ("ready", "leaving", "threshold", "said"),
    [
        ([True, True], [], 100, ""),
        ([True, False], [], 100, "1 of 2 pods behind canary ready"),
        ([True, False], [], 50, ""),
        ([True], [False], 100, ""),
        ([False], [True], 50, "0 of 1 pods behind canary ready"),
        ([], [], 100, "0 of 0 pods behind canary ready"),
    ],
)
async def test_of_a_service_that_is_rolled_out_its_pods_have_to_be_ready(
    ready: list[bool], leaving: list[bool], threshold: int, said: str
) -> None:
    given = World(ROLLED_OUT)
    given.cluster.remove("Pod", "new")
    given.cluster.remove("Pod", "old")
    given.source = [manifest.Manifest(service())]
    for number, is_ready in enumerate(ready):
        given.cluster.put(pod(f"pod-{number}", "primary", ready=is_ready))
    for number, is_ready in enumerate(leaving):
        body = pod(f"leaving-{number}", "primary", ready=is_ready)
        body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        given.cluster.put(body)

    assert await watch(given, threshold=threshold).look() == said


async def test_every_check_of_stages_in_a_namespace_reads_what_watches_tell() -> None:
    given = World()
    work = given.work()
    first = await routes.read(work, given.source)
    async with (
        check_watches.followed(work, given.source),
        check_watches.followed(work, given.source),
        watch(given).kept(),
    ):
        await asyncio.sleep(1)
        with given.cluster.refusing_reads():
            assert (await live_routes.again(work, first)).live == first.live
            given.observed = await routes.divide(work, given.source, HALF, known=first)
        assert given.weights == {"shop": 50, "shop-canary": 50}
        assert given.observed == division.Observed(50, 50)


async def test_a_stage_that_is_alone_asks() -> None:
    given = World()
    work = given.work()
    first = await routes.read(work, given.source)
    async with check_watches.followed(work, given.source):
        await asyncio.sleep(1)
        with given.cluster.refusing_reads(), pytest.raises(api_errors.Forbidden):
            await live_routes.again(work, first)


async def test_what_a_late_watch_tells_is_not_taken_for_what_was_written() -> None:
    """Somebody else has changed the routes since, and no watch has told of either yet."""
    given = World()
    work = given.work()
    first = await routes.read(work, given.source)
    async with (
        check_watches.followed(work, given.source),
        check_watches.followed(work, given.source),
    ):
        await asyncio.sleep(1)
        with given.cluster.late_watches():
            await routes.divide(work, given.source, HALF, known=first)
            assert given.weights == {"shop": 50, "shop-canary": 50}
            now_live = await live_routes.again(work, first)
    assert now_live.live == given.cluster.find("TrafficSplit", "shop")


@pytest.mark.parametrize("canary", [0, 10])
async def test_who_only_waits_notices_a_canary_that_goes_down(canary: int) -> None:
    given = World()
    given.cluster.put(split(shop=100 - canary, shop_canary=canary))
    given.later(30, lambda: given.cluster.put(pod("new", "canary", ready=False)))

    async def waiting() -> str:
        await asyncio.sleep(600)
        return "waited"

    made = readiness_watch.while_ready(given.work(), given.source, waiting)
    if not canary:
        assert await made == "waited"
        return
    with pytest.raises(execution.StageFailedError, match="none of its pods is ready any more"):
        await made
    assert now() == 40


async def test_not_being_able_to_look_is_no_alarm() -> None:
    given = World()
    given.cluster.put(split(shop=90, shop_canary=10))
    given.cluster.error = api_errors.Unreachable("no answer")

    def back() -> None:
        given.cluster.error = None

    given.later(25, back)
    given.later(60, lambda: given.cluster.put(pod("new", "canary", ready=False)))

    made = readiness_watch.while_ready(given.work(), given.source, lambda: asyncio.sleep(600))
    with pytest.raises(execution.StageFailedError):
        await made

    assert now() == 70
    assert len(given.report.warnings) == 3


@pytest.mark.parametrize(
    ("phase", "deleted", "counts"),
    [
        ("Running", False, True),
        ("Failed", False, False),
        ("Succeeded", False, False),
        ("Running", True, False),
    ],
)
def test_pods_that_are_meant_to_be_ready(phase: str, deleted: bool, counts: bool) -> None:
    body = pod("new", "canary")
    body["status"]["phase"] = phase
    if deleted:
        body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert readiness_watch._counts(body) is counts
