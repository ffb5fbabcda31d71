"""Shares of the fleet in the stages of a run: who gets how much, and what that rules out."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.controller.planning import fleet_shares
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.placement import rollouts

NAMES = ("us", "eu", "asia", "c4")
CLUSTERS = [fleets.Cluster(each) for each in NAMES]
COUNTS = {name: {"Deployment web": count} for name, count in zip(NAMES, (12, 8, 3, 1), strict=True)}
TEN = pipelines.Replicas(10, is_percentage=True)
FLEET = pipelines.Scope.FLEET
APP = applications.Application("web")
CANARY = pipelines.Stage(
    pipelines.StageName.CANARY_ROLLOUT,
    pipelines.VariantRolloutOptions(TEN, of=FLEET),
    description="Canary",
)
BASELINE = pipelines.Stage(
    pipelines.StageName.BASELINE_ROLLOUT, pipelines.VariantRolloutOptions(TEN, of=FLEET)
)
TRAFFIC = pipelines.Stage(
    pipelines.StageName.TRAFFIC_ROUTING, pipelines.TrafficOptions(80, 10, 10, of=FLEET)
)
EVERYWHERE = pipelines.Stage(pipelines.StageName.TRAFFIC_ROUTING, pipelines.TrafficOptions(90, 10))
ANALYSIS = pipelines.Stage(
    pipelines.StageName.ANALYSIS, pipelines.AnalysisOptions(timedelta(minutes=1))
)
CLEAN = pipelines.Stage(pipelines.StageName.CANARY_CLEAN, pipelines.CleanOptions())


def pinned(*stages: pipelines.Stage, app: applications.Application = APP) -> list[pipelines.Stage]:
    numbered = [replace(each, index=place) for place, each in enumerate(stages)]
    return list(fleet_shares.fix_shares(app, numbered, CLUSTERS, COUNTS))


def pods(found: pipelines.Stage) -> list[int]:
    assert isinstance(found.options, pipelines.VariantRolloutOptions)
    counts = [found.options.on(name).counts for name in NAMES]
    return [(each or {})["Deployment web"] for each in counts]


def test_pods_and_traffic_are_fixed_for_each_cluster() -> None:
    canary, baseline, traffic = pinned(CANARY, BASELINE, TRAFFIC)

    assert pods(canary) == pods(baseline) == [2, 1, 0, 0]
    assert canary.description == "Canary: 10% of the fleet's pods: us 2, eu 1, asia 0, c4 0"
    assert isinstance(traffic.options, pipelines.TrafficOptions)
    own = [traffic.options.on(name) for name in NAMES]
    assert [(each.primary, each.canary, each.baseline) for each in own] == [
        (74, 13, 13),
        (80, 10, 10),
        (100, 0, 0),
        (100, 0, 0),
    ]
    assert "(9.8 %): us 13 %, eu 10 %, asia 0 %, c4 0 %" in traffic.description


def test_traffic_of_the_fleet_where_every_cluster_has_its_own_canary() -> None:
    own = replace(CANARY, options=pipelines.VariantRolloutOptions(TEN))
    _, traffic = pinned(own, replace(TRAFFIC, options=pipelines.TrafficOptions(90, 10, of=FLEET)))

    assert isinstance(traffic.options, pipelines.TrafficOptions)
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

    assert isinstance(canary.options, pipelines.VariantRolloutOptions)
    assert dict(canary.options.batch) == {
        "asia": {"Deployment web": 1},
        "c4": {"Deployment web": 0},
    }
    # It is not decided for others, so nobody rolls out there by accident.
    assert canary.options.on("us").counts is None


def test_where_there_is_no_canary_nothing_is_measured() -> None:
    guarded = replace(
        pipelines.Stage(pipelines.StageName.WAIT, pipelines.WaitOptions(timedelta(1))),
        beside=pipelines.AnalysisOptions(timedelta(minutes=1)),
    )
    _, analysis, wait, _, after = pinned(CANARY, ANALYSIS, guarded, CLEAN, ANALYSIS)

    assert isinstance(analysis.options, pipelines.AnalysisOptions)
    assert analysis.options.without_canary == ("asia", "c4")
    assert wait.beside is not None
    assert wait.beside.without_canary == ("asia", "c4")
    assert after.options == ANALYSIS.options


def test_traffic_for_a_canary_that_is_not_there_is_refused() -> None:
    with pytest.raises(errors.UserError, match=r"stage 2, .* to canary on every .* asia, c4 got"):
        pinned(CANARY, EVERYWHERE)
    progressive = pipelines.Stage(
        pipelines.StageName.PROGRESSIVE_TRAFFIC, pipelines.ProgressiveTrafficOptions(step_weight=10)
    )
    with pytest.raises(errors.UserError, match="K8S_PROGRESSIVE_TRAFFIC"):
        pinned(CANARY, progressive)
    # A canary on every cluster, after that of the fleet, makes it possible.
    everywhere = replace(CANARY, options=pipelines.VariantRolloutOptions(TEN))
    pinned(CANARY, everywhere, EVERYWHERE)
    pinned(CANARY, CLEAN, replace(EVERYWHERE, options=pipelines.TrafficOptions(100)))


def test_a_share_that_cannot_be_reached_names_the_stage() -> None:
    much = replace(TRAFFIC, options=pipelines.TrafficOptions(10, 90, of=FLEET))
    with pytest.raises(errors.UserError, match=r"stage 2, .*: 90 % of all traffic cannot be"):
        pinned(CANARY, much)
    tight = pipelines.VariantRolloutOptions(
        pipelines.Replicas(50, is_percentage=True), of=FLEET, at_most=pipelines.Replicas(1)
    )
    with pytest.raises(errors.UserError, match=r"stage 1, .*, Deployment web: 12 pods do not fit"):
        pinned(replace(CANARY, options=tight))


def test_without_shares_nothing_changes() -> None:
    stages = (EVERYWHERE, ANALYSIS)
    assert fleet_shares.fix_shares(APP, stages, CLUSTERS, {}) == stages
