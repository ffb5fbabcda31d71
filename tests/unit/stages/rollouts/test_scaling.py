"""How many pods canary gets where others decide primary's number; in memory."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import memory_client
import memory_cluster
import stage_contexts
from memory_world import SHOP, World, now
from volary.manifests.ownership import field_managers
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, waiting_stages
from volary.stages.rollouts import scaling
from volary.stages.runtime import execution

pytestmark = pytest.mark.looptime
FLEET, SECOND = stage_kind.Scope.FLEET, timedelta(seconds=1)


def workload(replicas: int | None = 2, kind: str = "Deployment") -> manifest.Manifest:
    body = memory_cluster.deployment("primary", replicas=replicas or 0)
    body["kind"] = kind
    del body["status"]
    if replicas is None:
        del body["spec"]["replicas"]
    return manifest.Manifest(body)


def scaler(name: str = "shop", kind: str | None = "Deployment", of: str = "ScaledObject") -> Any:
    target: json.JsonObject = {"name": name, **({"kind": kind} if kind else {})}
    return manifest.Manifest(
        {"kind": of, "metadata": {"name": "scaler"}, "spec": {"scaleTargetRef": target}}
    )


@pytest.mark.parametrize(
    ("item", "others", "expected"),
    [
        (workload(), [], False),
        (workload(None), [], True),
        (workload(), [scaler()], True),
        (workload(), [scaler(of="HorizontalPodAutoscaler")], True),
        (workload(), [scaler(kind=None)], True),
        (workload(), [scaler("cart")], False),
        (workload(), [scaler(kind="StatefulSet")], False),
        (workload(), [scaler(of="PodDisruptionBudget")], False),
    ],
)
def test_whose_the_number_of_pods_is(
    item: manifest.Manifest, others: list[manifest.Manifest], expected: bool
) -> None:
    assert scaling.is_scaled_by_others(item, [item, *others]) is expected


def world(live: int = 6, canary: int | None = 1) -> World:
    given = World()
    given.cluster.put(memory_cluster.deployment("primary", replicas=live, ready=live))
    if canary is not None:
        given.cluster.put(memory_cluster.deployment("canary", replicas=canary, ready=canary))
    given.source = [workload(2), scaler()]
    return given


async def test_what_others_decide_is_taken_from_the_cluster() -> None:
    given = world(6)
    found = await scaling.with_live_replicas(given.work(), given.source)
    assert found[0].body["spec"]["replicas"] == 6
    assert found[1] is given.source[1]


@pytest.mark.parametrize(("live", "count"), [(0, 1), (1, 1), (3, 3)])
async def test_there_is_at_least_one(live: int, count: int) -> None:
    given = world(live)
    found = await scaling.with_live_replicas(given.work(), given.source)
    assert found[0].body["spec"]["replicas"] == count


async def test_what_git_decides_stays_and_nothing_is_asked() -> None:
    given = world(6)
    given.source = [workload(2)]
    given.cluster.error = errors.PermanentError("asked")
    found = await scaling.with_live_replicas(given.work(), given.source)
    assert found == given.source


async def test_what_is_not_there_yet_stays_as_in_git() -> None:
    given = world()
    given.cluster.remove("Deployment", "shop")
    found = await scaling.with_live_replicas(given.work(), given.source)
    assert found == given.source


@pytest.mark.parametrize(
    ("replicas", "of", "live"),
    [
        (rollout_stages.Replicas(50, is_percentage=True), stage_kind.Scope.CLUSTER, 6),
        (rollout_stages.Replicas(50, is_percentage=True), FLEET, 2),
        (rollout_stages.Replicas(1), stage_kind.Scope.CLUSTER, 2),
        (None, stage_kind.Scope.CLUSTER, 2),
    ],
)
async def test_only_a_percentage_of_a_cluster_needs_the_live_number(
    replicas: rollout_stages.Replicas | None, of: stage_kind.Scope, live: int
) -> None:
    given = world(6)
    options = rollout_stages.VariantRolloutOptions(replicas=replicas, of=of)
    found = await scaling.with_stage_replicas(given.work(), given.source, options)
    assert found[0].body["spec"]["replicas"] == live


@pytest.mark.parametrize(
    ("share", "count"), [(50, 3), (51, 4), (100, 6), (200, 6), (20, 2), (34, 3)]
)
async def test_canary_grows_with_its_share(share: int, count: int) -> None:
    given = world(6)
    ready = memory_cluster.deployment("canary", replicas=count, ready=count)
    given.later(5, lambda: given.cluster.put(ready))
    work = given.work()

    await scaling.scale_canary(work, given.source, share)

    assert given.cluster.writes == [("Deployment", "shop-canary", field_managers.SCALE_MANAGER)]
    assert work.lines == [
        f"Deployment default/shop-canary has {count} pods for {share}% of the traffic"
    ]
    assert work.touched
    assert now() >= 5, "they have to run before they get traffic"


@pytest.mark.parametrize("canary", [3, 4])
async def test_canary_is_never_made_smaller(canary: int) -> None:
    given = world(6, canary)
    work = given.work()
    assert await scaling.scale_canary(work, given.source, 50) == ""
    assert (given.cluster.writes, work.touched, work.lines) == ([], False, [])


async def test_a_canary_that_is_not_there_cannot_be_scaled() -> None:
    given = world(6, None)
    with pytest.raises(errors.PermanentError, match="shop-canary is not there to be scaled"):
        await scaling.scale_canary(given.work(), given.source, 50)


async def test_a_stage_that_was_stopped_scales_nothing() -> None:
    given = world(6)
    given.stop.raise_flag("by ana")
    with pytest.raises(execution.StoppedError):
        await scaling.scale_canary(given.work(), given.source, 50)
    assert given.cluster.writes == []


async def test_canary_is_scaled_whoever_wrote_its_number_before() -> None:
    cluster = memory_client.MemoryCluster()
    kind = memory_client.DEPLOYMENTS
    cluster.put(kind, memory_cluster.deployment("primary", replicas=6, ready=6))
    canary = memory_cluster.deployment("canary", replicas=3, ready=3)
    canary["metadata"]["namespace"] = "default"
    canary["spec"]["replicas"] = 1
    await cluster.apply(kind, canary, field_manager="somebody")
    made = execution.Work(stage_contexts.context(client=cluster.client), now() + 60)

    await scaling.scale_canary(made, [workload(2)], 50)

    live = cluster.find(kind, "shop-canary")
    assert live is not None
    assert live["spec"]["replicas"] == 3


def test_canary_is_scaled_as_it_was_rolled_out() -> None:
    def rollout(suffix: str, strategy: str) -> pipelines.Stage:
        options = rollout_stages.VariantRolloutOptions(suffix=suffix)
        stage = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, options)
        return replace(stage, strategy=strategy)

    baseline = pipelines.Stage(
        rollout_stages.BASELINE_ROLLOUT.name, rollout_stages.VariantRolloutOptions(suffix="b")
    )
    wait = pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(SECOND))
    application = replace(SHOP, pipeline=(wait, baseline, rollout("x", "fast"), rollout("y", "")))

    assert scaling._canary_options(application, "").suffix == "y"
    assert scaling._canary_options(application, "fast").suffix == "x"
    assert scaling._canary_options(application, "other") == rollout_stages.VariantRolloutOptions()


def test_only_the_number_is_written() -> None:
    item = manifest.Manifest(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {}}}
    )
    spaced = item.with_body({**item.body, "metadata": {"name": "a", "namespace": "x"}})
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3}}

    assert scaling._scale(item, 3) == {**head, "metadata": {"name": "a"}}
    assert scaling._scale(spaced, 3) == {**head, "metadata": {"name": "a", "namespace": "x"}}


async def test_a_share_of_the_fleet_may_be_nothing() -> None:
    given = world()
    said = await scaling.roll_out(given.work(), "canary", [])
    assert said == "no canary here: none of the fleet's share is this cluster's"
