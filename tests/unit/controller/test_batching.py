"""Shares of the fleet in the stages of a run: who gets how much, and what that rules out."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.controller import batching
from volary.model import application as applications
from volary.model import errors, fleet, placement, stage

NAMES = ("us", "eu", "asia", "c4")
CLUSTERS = [fleet.Cluster(each) for each in NAMES]
COUNTS = {name: {"Deployment web": count} for name, count in zip(NAMES, (12, 8, 3, 1), strict=True)}
TEN = stage.Replicas(10, is_percentage=True)
FLEET = stage.Scope.FLEET
APP = applications.Application("web")
CANARY = stage.Stage(
    stage.StageName.CANARY_ROLLOUT, stage.VariantRolloutOptions(TEN, of=FLEET), description="Canary"
)
BASELINE = stage.Stage(stage.StageName.BASELINE_ROLLOUT, stage.VariantRolloutOptions(TEN, of=FLEET))
TRAFFIC = stage.Stage(stage.StageName.TRAFFIC_ROUTING, stage.TrafficOptions(80, 10, 10, of=FLEET))
EVERYWHERE = stage.Stage(stage.StageName.TRAFFIC_ROUTING, stage.TrafficOptions(90, 10))
ANALYSIS = stage.Stage(stage.StageName.ANALYSIS, stage.AnalysisOptions(timedelta(minutes=1)))
CLEAN = stage.Stage(stage.StageName.CANARY_CLEAN, stage.CleanOptions())


def pinned(*stages: stage.Stage, app: applications.Application = APP) -> list[stage.Stage]:
    numbered = [replace(each, index=place) for place, each in enumerate(stages)]
    return list(batching.pin(app, numbered, CLUSTERS, COUNTS))


def pods(found: stage.Stage) -> list[int]:
    assert isinstance(found.options, stage.VariantRolloutOptions)
    counts = [found.options.on(name).counts for name in NAMES]
    return [(each or {})["Deployment web"] for each in counts]


def test_pods_and_traffic_are_fixed_for_each_cluster() -> None:
    canary, baseline, traffic = pinned(CANARY, BASELINE, TRAFFIC)

    assert pods(canary) == pods(baseline) == [2, 1, 0, 0]
    assert canary.description == "Canary: 10% of the fleet's pods: us 2, eu 1, asia 0, c4 0"
    assert isinstance(traffic.options, stage.TrafficOptions)
    own = [traffic.options.on(name) for name in NAMES]
    assert [(each.primary, each.canary, each.baseline) for each in own] == [
        (74, 13, 13),
        (80, 10, 10),
        (100, 0, 0),
        (100, 0, 0),
    ]
    assert "(9.8 %): us 13 %, eu 10 %, asia 0 %, c4 0 %" in traffic.description


def test_traffic_of_the_fleet_where_every_cluster_has_its_own_canary() -> None:
    own = replace(CANARY, options=stage.VariantRolloutOptions(TEN))
    _, traffic = pinned(own, replace(TRAFFIC, options=stage.TrafficOptions(90, 10, of=FLEET)))

    assert isinstance(traffic.options, stage.TrafficOptions)
    assert dict(traffic.options.shares) == dict.fromkeys(NAMES, (10, 0))


def test_waves_that_go_through_the_pipeline_share_for_themselves() -> None:
    waves = placement.Waves(
        (
            placement.Wave("first", placement.ClusterSelector(names=("asia", "c4"))),
            placement.Wave("rest"),
        )
    )

    (canary,) = pinned(CANARY, app=replace(APP, waves=waves))
    assert pods(canary) == [1, 1, 1, 0]

    over = replace(waves, over=placement.WavesOver.STAGE)
    (canary,) = pinned(CANARY, app=replace(APP, waves=over))
    assert pods(canary) == [2, 1, 0, 0]


def test_a_stage_on_some_clusters_is_a_share_of_those() -> None:
    (canary,) = pinned(replace(CANARY, targets=("asia", "c4")))

    assert isinstance(canary.options, stage.VariantRolloutOptions)
    assert dict(canary.options.batch) == {
        "asia": {"Deployment web": 1},
        "c4": {"Deployment web": 0},
    }
    # It is not decided for others, so nobody rolls out there by accident.
    assert canary.options.on("us").counts is None


def test_where_there_is_no_canary_nothing_is_measured() -> None:
    guarded = replace(
        stage.Stage(stage.StageName.WAIT, stage.WaitOptions(timedelta(1))),
        beside=stage.AnalysisOptions(timedelta(minutes=1)),
    )
    _, analysis, wait, _, after = pinned(CANARY, ANALYSIS, guarded, CLEAN, ANALYSIS)

    assert isinstance(analysis.options, stage.AnalysisOptions)
    assert analysis.options.without_canary == ("asia", "c4")
    assert wait.beside is not None
    assert wait.beside.without_canary == ("asia", "c4")
    assert after.options == ANALYSIS.options


def test_traffic_for_a_canary_that_is_not_there_is_refused() -> None:
    with pytest.raises(errors.UserError, match=r"stage 2, .* to canary on every .* asia, c4 got"):
        pinned(CANARY, EVERYWHERE)
    progressive = stage.Stage(
        stage.StageName.PROGRESSIVE_TRAFFIC, stage.ProgressiveTrafficOptions(step_weight=10)
    )
    with pytest.raises(errors.UserError, match="K8S_PROGRESSIVE_TRAFFIC"):
        pinned(CANARY, progressive)
    # A canary on every cluster, after that of the fleet, makes it possible.
    everywhere = replace(CANARY, options=stage.VariantRolloutOptions(TEN))
    pinned(CANARY, everywhere, EVERYWHERE)
    pinned(CANARY, CLEAN, replace(EVERYWHERE, options=stage.TrafficOptions(100)))


def test_a_share_that_cannot_be_reached_names_the_stage() -> None:
    much = replace(TRAFFIC, options=stage.TrafficOptions(10, 90, of=FLEET))
    with pytest.raises(errors.UserError, match=r"stage 2, .*: 90 % of all traffic cannot be"):
        pinned(CANARY, much)
    tight = stage.VariantRolloutOptions(
        stage.Replicas(50, is_percentage=True), of=FLEET, at_most=stage.Replicas(1)
    )
    with pytest.raises(errors.UserError, match=r"stage 1, .*, Deployment web: 12 pods do not fit"):
        pinned(replace(CANARY, options=tight))


def test_without_shares_nothing_changes() -> None:
    stages = (EVERYWHERE, ANALYSIS)
    assert batching.pin(APP, stages, CLUSTERS, {}) == stages
