"""Which part of the requests each variant gets, stage after stage."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import pipelines, traffic
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.model.placement import rollouts
from volary.stages.judgement import variant_shares
from volary.stages.judgement.variant_shares import EVERYTHING, Shares

Replicas, Rollout = rollout_stages.Replicas, rollout_stages.VariantRolloutOptions
NONE = stage_kind.NoOptions()


def pods(count: int) -> list[manifest.Manifest]:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}}
    return [manifest.Manifest({**body, "spec": {"replicas": count}})]


def application(
    *stages: tuple[stage_kind.StageKind[object] | object, stage_kind.StageOptions],
    method: routing_options.RoutingMethod = routing_options.RoutingMethod.ISTIO,
) -> applications.Application:
    return applications.Application(
        name="shop",
        traffic_routing=routing_options.TrafficRouting(method),
        pipeline=tuple(
            pipelines.Stage(kind.name, options, index)  # type: ignore[attr-defined]
            for index, (kind, options) in enumerate(stages)
        ),
    )


CANARY = (rollout_stages.CANARY_ROLLOUT, Rollout(Replicas(10, is_percentage=True)))
BASELINE = (rollout_stages.BASELINE_ROLLOUT, Rollout(Replicas(2)))
JUDGED = (waiting_stages.ANALYSIS, waiting_stages.AnalysisOptions(timedelta(0)))
PRIMARY = (rollout_stages.PRIMARY_ROLLOUT, rollout_stages.PrimaryRolloutOptions())
CLEAN = (rollout_stages.CANARY_CLEAN, NONE)


def test_a_router_sends_nothing_before_it_is_told_to() -> None:
    divides = traffic_stages.TrafficOptions(70, 20, 10)
    found = variant_shares.of_stages(
        application(CANARY, JUDGED, (traffic_stages.TRAFFIC_ROUTING, divides), JUDGED, CLEAN),
        pods(20),
    )

    assert found["2-ANALYSIS"] == Shares(0.0, 0.0, 1.0)
    assert found["4-ANALYSIS"] == Shares(0.2, 0.1, 0.7)
    assert found["5-K8S_CANARY_CLEAN"] == EVERYTHING


def test_without_a_router_pods_share_the_requests() -> None:
    found = variant_shares.of_stages(
        application(
            CANARY, JUDGED, BASELINE, JUDGED, PRIMARY, JUDGED,
            method=routing_options.RoutingMethod.POD_SELECTOR,
        ),
        pods(16),
    )  # fmt: skip

    assert found["2-ANALYSIS"] == Shares(2 / 18, 0.0, 16 / 18), "2 of 16 are 10 percent"
    assert found["4-ANALYSIS"] == Shares(0.1, 0.1, 0.8)
    assert found["6-ANALYSIS"] == found["4-ANALYSIS"], "canary still runs"


def test_steps_count_as_their_mean_and_afterwards_as_the_last() -> None:
    steps = traffic_stages.ProgressiveTrafficOptions(step_weight=20, max_weight=50)
    listed = traffic_stages.ProgressiveTrafficOptions(step_weights=(1, 5))
    kind = traffic_stages.PROGRESSIVE_TRAFFIC
    found = variant_shares.of_stages(application(CANARY, (kind, steps), JUDGED), pods(4))
    (share,) = [
        variant_shares.of_stages(application((*CANARY,), (kind, listed)), pods(4))[f"2-{kind.name}"]
    ]

    assert found[f"2-{kind.name}"].canary == pytest.approx((20 + 40 + 50) / 300)
    assert found["3-ANALYSIS"] == Shares(0.5, 0.0, 0.5)
    assert share.canary == pytest.approx(0.03)


def test_copies_are_requests_too() -> None:
    mirror = traffic_stages.TrafficOptions(100, mirror=30)
    rounds = traffic_stages.ProgressiveTrafficOptions(iterations=5, mirror=True, mirror_weight=40)
    kind = traffic_stages.PROGRESSIVE_TRAFFIC
    found = variant_shares.of_stages(
        application(CANARY, (traffic_stages.TRAFFIC_ROUTING, mirror), (kind, rounds)), pods(4)
    )

    assert found["2-K8S_TRAFFIC_ROUTING"] == Shares(0.3, 0.0, 1.0)
    assert found[f"3-{kind.name}"] == Shares(0.4, 0.0, 1.0)


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        (
            ((traffic_stages.TRAFFIC_ROUTING, traffic_stages.TrafficOptions(
                100, match=(traffic.RequestMatch(),))),),
            "canary gets the requests that match",
        ),
        (
            ((traffic_stages.PROGRESSIVE_TRAFFIC, traffic_stages.ProgressiveTrafficOptions(
                iterations=3)),),
            "canary gets no requests of users before the switch",
        ),
    ],
)  # fmt: skip
def test_what_nobody_can_tell_beforehand_is_not_guessed(
    stages: tuple[tuple[object, stage_kind.StageOptions], ...], why: str
) -> None:
    found = variant_shares.of_stages(application(CANARY, *stages, JUDGED), pods(4))

    assert found["3-ANALYSIS"].unknown == why


def test_pods_of_the_whole_fleet_are_not_known_on_one_cluster() -> None:
    of_fleet = replace(Rollout(Replicas(5)), of=stage_kind.Scope.FLEET)
    found = variant_shares.of_stages(
        application(
            (rollout_stages.CANARY_ROLLOUT, of_fleet),
            JUDGED,
            method=routing_options.RoutingMethod.POD_SELECTOR,
        ),
        pods(4),
    )

    assert found["2-ANALYSIS"].unknown == "canary's pods are divided over the fleet"


def test_pods_that_no_manifest_tells_are_not_guessed() -> None:
    without = application(CANARY, JUDGED, method=routing_options.RoutingMethod.POD_SELECTOR)

    assert variant_shares.of_stages(without, [])["2-ANALYSIS"].unknown == (
        "primary's pods are not known"
    )
    assert variant_shares.of_stages(application(CANARY, JUDGED), [])["2-ANALYSIS"] == Shares(
        0.0, 0.0, 1.0
    ), "with a router they say nothing"


def test_after_a_switch_and_at_a_waves_end_the_new_version_has_everything() -> None:
    switched = (traffic_stages.BLUE_GREEN, traffic_stages.BlueGreenOptions())
    given = replace(application(CANARY, switched), waves=rollouts.Waves((rollouts.Wave("first"),)))
    found = variant_shares.of_stages(given, pods(4))

    assert found["2-K8S_BLUE_GREEN"] == EVERYTHING
    assert found["first/ANALYSIS"] == EVERYTHING


def test_each_strategy_begins_anew() -> None:
    routed = (traffic_stages.TRAFFIC_ROUTING, traffic_stages.TrafficOptions(50, 50))
    first, second = application(CANARY, routed).pipeline, application(CANARY, JUDGED).pipeline
    found = variant_shares.of_stages(
        replace(
            application(),
            pipeline=(
                *(replace(stage, strategy="quick") for stage in first),
                *(replace(stage, strategy="slow", index=stage.index + 2) for stage in second),
            ),
        ),
        pods(4),
    )

    assert found["2-K8S_TRAFFIC_ROUTING"] == Shares(0.5, 0.0, 0.5)
    assert found["4-ANALYSIS"] == Shares(0.0, 0.0, 1.0)
