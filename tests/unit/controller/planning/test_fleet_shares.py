"""Shares of the fleet in the stages of a run: who gets how much, and what that rules out."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.controller.planning import fleet_shares
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)
from volary.model.placement import rollouts

NAMES = ("us", "eu", "asia", "c4")
CLUSTERS = [fleets.Cluster(each) for each in NAMES]
COUNTS = {name: {"Deployment web": count} for name, count in zip(NAMES, (12, 8, 3, 1), strict=True)}
TEN = rollout_stages.Replicas(10, is_percentage=True)
FLEET = stage_kind.Scope.FLEET
APP = applications.Application("web")
CANARY = pipelines.Stage(
    rollout_stages.CANARY_ROLLOUT.name,
    rollout_stages.VariantRolloutOptions(TEN, of=FLEET),
    description="Canary",
)
BASELINE = pipelines.Stage(
    rollout_stages.BASELINE_ROLLOUT.name, rollout_stages.VariantRolloutOptions(TEN, of=FLEET)
)
TRAFFIC = pipelines.Stage(
    traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(80, 10, 10, of=FLEET)
)
EVERYWHERE = pipelines.Stage(
    traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(90, 10)
)
ANALYSIS = pipelines.Stage(
    waiting_stages.ANALYSIS.name, waiting_stages.AnalysisOptions(timedelta(minutes=1))
)
CLEAN = pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions())


def pinned(*stages: pipelines.Stage, app: applications.Application = APP) -> list[pipelines.Stage]:
    numbered = [replace(each, index=place) for place, each in enumerate(stages)]
    return list(fleet_shares.fix_shares(app, numbered, CLUSTERS, COUNTS))


def pods(found: pipelines.Stage) -> list[int]:
    assert isinstance(found.options, rollout_stages.VariantRolloutOptions)
    counts = [found.options.on(name).counts for name in NAMES]
    return [(each or {})["Deployment web"] for each in counts]


def test_pods_and_traffic_are_fixed_for_each_cluster() -> None:
    canary, baseline, traffic = pinned(CANARY, BASELINE, TRAFFIC)

    assert pods(canary) == pods(baseline) == [2, 1, 0, 0]
    assert canary.description == "Canary: 10% of the fleet's pods: us 2, eu 1, asia 0, c4 0"
    assert isinstance(traffic.options, traffic_stages.TrafficOptions)
    own = [traffic.options.on(name) for name in NAMES]
    assert [(each.primary, each.canary, each.baseline) for each in own] == [
        (74, 13, 13),
        (80, 10, 10),
        (100, 0, 0),
        (100, 0, 0),
    ]
    assert "(9.8 %): us 13 %, eu 10 %, asia 0 %, c4 0 %" in traffic.description


def test_traffic_of_the_fleet_where_every_cluster_has_its_own_canary() -> None:
    own = replace(CANARY, options=rollout_stages.VariantRolloutOptions(TEN))
    _, traffic = pinned(
        own, replace(TRAFFIC, options=traffic_stages.TrafficOptions(90, 10, of=FLEET))
    )

    assert isinstance(traffic.options, traffic_stages.TrafficOptions)
    assert dict(traffic.options.shares) == dict.fromkeys(NAMES, (10, 0))


def test_waves_that_go_through_the_pipeline_share_for_themselves() -> None:
    waves = rollouts.Waves(
        (
            rollouts.Wave("first", rollouts.ClusterSelector(names=("asia", "c4"))),
            rollouts.Wave("rest"),
        )
    )

    (canary,) = pinned(CANARY, app=replace(APP, waves=waves))
    assert pods(canary) == [1, 1, 1, 0]

    over = replace(waves, over=rollouts.WavesOver.STAGE)
    (canary,) = pinned(CANARY, app=replace(APP, waves=over))
    assert pods(canary) == [2, 1, 0, 0]


def test_a_stage_on_some_clusters_is_a_share_of_those() -> None:
    (canary,) = pinned(replace(CANARY, targets=("asia", "c4")))

    assert isinstance(canary.options, rollout_stages.VariantRolloutOptions)
    assert dict(canary.options.batch) == {
        "asia": {"Deployment web": 1},
        "c4": {"Deployment web": 0},
    }
    # It is not decided for others, so nobody rolls out there by accident.
    assert canary.options.on("us").counts is None


def test_where_there_is_no_canary_nothing_is_measured() -> None:
    guarded = replace(
        pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(1))),
        beside=waiting_stages.AnalysisOptions(timedelta(minutes=1)),
    )
    _, analysis, wait, _, after = pinned(CANARY, ANALYSIS, guarded, CLEAN, ANALYSIS)

    assert isinstance(analysis.options, waiting_stages.AnalysisOptions)
    assert analysis.options.without_canary == ("asia", "c4")
    assert wait.beside is not None
    assert wait.beside.without_canary == ("asia", "c4")
    assert after.options == ANALYSIS.options


def test_traffic_for_a_canary_that_is_not_there_is_refused() -> None:
    with pytest.raises(errors.UserError, match=r"stage 2, .* to canary on every .* asia, c4 got"):
        pinned(CANARY, EVERYWHERE)
    progressive = pipelines.Stage(
        traffic_stages.PROGRESSIVE_TRAFFIC.name,
        traffic_stages.ProgressiveTrafficOptions(step_weight=10),
    )
    with pytest.raises(errors.UserError, match="K8S_PROGRESSIVE_TRAFFIC"):
        pinned(CANARY, progressive)
    # A canary on every cluster, after that of the fleet, makes it possible.
    everywhere = replace(CANARY, options=rollout_stages.VariantRolloutOptions(TEN))
    pinned(CANARY, everywhere, EVERYWHERE)
    pinned(CANARY, CLEAN, replace(EVERYWHERE, options=traffic_stages.TrafficOptions(100)))


def test_a_share_that_cannot_be_reached_names_the_stage() -> None:
    much = replace(TRAFFIC, options=traffic_stages.TrafficOptions(10, 90, of=FLEET))
    with pytest.raises(errors.UserError, match=r"stage 2, .*: 90 % of all traffic cannot be"):
        pinned(CANARY, much)
    tight = rollout_stages.VariantRolloutOptions(
        rollout_stages.Replicas(50, is_percentage=True),
        of=FLEET,
        at_most=rollout_stages.Replicas(1),
    )
    with pytest.raises(errors.UserError, match=r"stage 1, .*, Deployment web: 12 pods do not fit"):
        pinned(replace(CANARY, options=tight))


def test_without_shares_nothing_changes() -> None:
    stages = (EVERYWHERE, ANALYSIS)
    assert fleet_shares.fix_shares(APP, stages, CLUSTERS, {}) == stages
