"""Traffic that goes back to primary: step by step, at once, or drained; in memory."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import memory_cluster
from memory_cluster import pod, split
from memory_world import World, now
from volary.model.pipeline import pipelines, variant
from volary.model.pipeline.stage_kinds import traffic_stages, waiting_stages
from volary.stages.kinds import clean, primary_rollout, rollback
from volary.stages.runtime import execution
from volary.stages.traffic import backend_readiness, division, live_routes, routes

pytestmark = pytest.mark.looptime
V = variant.Variant
WAIT = pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=1)))


def progressive(step: int = 0, **given: Any) -> pipelines.Stage:
    options = traffic_stages.ProgressiveTrafficOptions(
        interval=timedelta(seconds=60), step_weight_promotion=step, **given
    )
    return pipelines.Stage(traffic_stages.PROGRESSIVE_TRAFFIC.name, options)


@pytest.mark.parametrize(
    ("begun", "step"),
    [
        ((), None),
        ((WAIT,), None),
        ((progressive(),), None),
        ((progressive(25),), 25),
        ((progressive(25), WAIT), 25),
        ((progressive(25), progressive(30)), 30),
        ((progressive(25), progressive()), None),
    ],
)
def test_the_last_stage_says_whether_traffic_returns_in_steps(
    begun: tuple[pipelines.Stage, ...], step: int | None
) -> None:
    found = primary_rollout.step_options(begun)
    assert (found.step_weight_promotion if found else None) == step


def world(**weights: int) -> World:
    given = World()
    given.cluster.put(split(**weights))
    return given


async def test_traffic_returns_a_step_at_a_time() -> None:
    given = world(shop=40, shop_canary=60)

    await primary_rollout.return_in_steps(given.work(begun=(progressive(25),)), given.source)

    shown = [dict(each.observed_weights or {}) for each in given.report.progress_said]
    assert [each for each in shown if each] == [
        {"primary": 65, "canary": 35},
        {"primary": 90, "canary": 10},
        {"primary": 100},
    ]
    assert given.weights == {"shop": 100}
    assert now() == 120


@pytest.mark.parametrize("begun", [(), (progressive(),)])
async def test_without_steps_it_stays_for_now(begun: tuple[pipelines.Stage, ...]) -> None:
    given = world(shop=40, shop_canary=60)
    await primary_rollout.return_in_steps(given.work(begun=begun), given.source)
    assert given.weights == {"shop": 40, "shop-canary": 60}


async def test_where_canary_has_none_there_is_nothing_to_return() -> None:
    given = World()
    await primary_rollout.return_in_steps(given.work(begun=(progressive(25),)), given.source)
    assert (given.cluster.writes, now()) == ([], 0)

    given.cluster.remove("TrafficSplit", "shop")
    await primary_rollout.return_in_steps(given.work(begun=(progressive(25),)), given.source)
    assert given.cluster.writes == []


async def test_baseline_keeps_its_part_until_the_end() -> None:
    given = world(shop=70, shop_canary=20, shop_baseline=10)
    given.cluster.put(memory_cluster.service("shop-baseline", "baseline"), pod("base", "baseline"))
    await primary_rollout.return_in_steps(given.work(begun=(progressive(10),)), given.source)
    assert given.weights == {"shop": 90, "shop-baseline": 10}


async def test_a_step_is_not_taken_by_a_stage_that_was_stopped() -> None:
    given = world(shop=40, shop_canary=60)
    given.later(30, lambda: given.stop.raise_flag("by ana"))
    with pytest.raises(execution.StoppedError):
        await primary_rollout.return_in_steps(given.work(begun=(progressive(25),)), given.source)
    assert given.weights == {"shop": 65, "shop-canary": 35}


async def test_a_variant_is_drained_before_its_pods_go() -> None:
    given = world(shop=70, shop_canary=20, shop_baseline=10)
    given.cluster.put(memory_cluster.service("shop-baseline", "baseline"), pod("base", "baseline"))

    await clean.drain(given.work(), V.CANARY, given.source)

    assert given.weights == {"shop": 90, "shop-baseline": 10}


async def test_where_nothing_is_to_be_drained_nothing_is_written() -> None:
    given = World()
    await clean.drain(given.work(), V.CANARY, given.source)
    given.cluster.remove("TrafficSplit", "shop")
    await clean.drain(given.work(), V.CANARY, given.source)
    assert given.cluster.writes == []


async def test_primary_has_to_be_able_to_take_it() -> None:
    given = world(shop=70, shop_canary=30)
    given.cluster.put(pod("old", "primary", ready=False))
    with pytest.raises(execution.StageFailedError, match="no traffic is sent to primary"):
        await clean.drain(given.work(), V.CANARY, given.source)
    assert given.weights == {"shop": 70, "shop-canary": 30}


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "no canary to remove"),
        (1, "canary removed, 1 object"),
        (2, "canary removed, 2 objects"),
    ],
)
def test_how_much_went(count: int, said: str) -> None:
    assert clean.removed("canary", count) == said


@pytest.mark.parametrize("ready", [False, True])
async def test_a_rollback_gives_routes_back_to_a_primary_with_pods_only(ready: bool) -> None:
    given = world(shop=0, shop_canary=100)
    given.cluster.put(pod("old", "primary", ready=ready))
    work = given.work()
    carriers = await live_routes.read(work, [given.source[2]])

    waiting = await rollback._return_now(work, carriers, given.source)

    assert waiting == ([] if ready else carriers)
    assert given.weights == ({"shop": 100} if ready else {"shop": 0, "shop-canary": 100})
    assert bool(given.report.warnings) is not ready
    assert now() == 0


@pytest.mark.parametrize(("ready", "expected"), [(0, False), (1, True), (2, True)])
async def test_one_ready_pod_is_enough(ready: int, expected: bool) -> None:
    given = World()
    given.cluster.remove("Pod", "new")
    for number in range(2):
        given.cluster.put(pod(f"new-{number}", "canary", ready=number < ready))
    work = given.work()
    (carrier,) = await live_routes.read(work, [given.source[2]])
    behind = backend_readiness.Backends(work, carrier, given.source)
    assert await behind.has_pods(V.CANARY) is expected


@pytest.mark.parametrize("wanted", [division.PRIMARY, division.Division(50, canary=50)])
async def test_a_route_that_comes_with_canary_cannot_be_made_without_it(
    wanted: division.Division,
) -> None:
    given = World()
    routing = given.application.traffic_routing
    nginx = replace(routing, method=type(routing.method).NGINX)
    given.application = replace(given.application, traffic_routing=nginx)
    backend = {"service": {"name": "shop", "port": {"number": 80}}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop"},
        "spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]},
    }
    given.source[2] = given.source[2].with_body(ingress)
    work = given.work()

    if wanted is division.PRIMARY:
        assert await routes.divide(work, given.source, wanted) == division.Observed(100)
        assert work.lines[0].endswith("is not there, so primary gets all traffic")
        return
    with pytest.raises(execution.StageFailedError, match="K8S_CANARY_ROLLOUT makes it"):
        await routes.divide(work, given.source, wanted)
