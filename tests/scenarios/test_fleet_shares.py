"""A share of the whole fleet: what each cluster gets of it, and what all requests together meet.

A cluster without its share of canary has no pods of it, no traffic goes there, nothing is measured.
"""

import asyncio
from collections import Counter
from datetime import timedelta

import traffic_world
from kube_sandbox.crds import definitions
from mesh_world import ISTIO, meshed
from stage_world import (
    KEY,
    NEW,
    OLD,
    world,
)
from volary.controller.planning import fleet_shares
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import (
    rollout_stages,
    stage_kind,
    traffic_stages,
    waiting_stages,
)

SHARE = rollout_stages.VariantRolloutOptions(
    rollout_stages.Replicas(25, is_percentage=True),
    of=stage_kind.Scope.FLEET,
    batch={"us": {"Deployment shop": 2}, "eu": {"Deployment shop": 0}},
)
TRAFFIC = traffic_stages.TrafficOptions(
    80, 10, 10, of=stage_kind.Scope.FLEET, shares={"us": (15, 15), "eu": (0, 0)}
)
PROMOTED = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
MEASURED = waiting_stages.AnalysisOptions(timedelta(minutes=5), without_canary=("eu",))


async def test_what_a_cluster_without_a_share_says_from_rollout_to_clean() -> None:
    async with world("us", "eu", application=ISTIO, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1", replicas=4), NEW: meshed("shop:v2", replicas=4)}
        await given.deployed(OLD)

        canary = await given.run(rollout_stages.CANARY_ROLLOUT.name, SHARE)
        baseline = await given.run(rollout_stages.BASELINE_ROLLOUT.name, SHARE)
        traffic = await given.run(traffic_stages.TRAFFIC_ROUTING.name, TRAFFIC)
        measured = await given.run(waiting_stages.ANALYSIS.name, MEASURED, targets=("eu",))

        assert given.images("us", "shop-canary") == "shop:v2 2/2"
        assert given.images("us", "shop-baseline") == "shop:v1 2/2"
        assert given.count("eu", "Deployment") == 1
        # Not even the copy of its settings is there.
        assert given.find("us", "ConfigMap", "settings-canary") is not None
        assert given.find("eu", "ConfigMap", "settings-canary") is None
        assert [each["eu"].reason for each in (canary, baseline, traffic, measured)] == [
            "no canary here: none of the fleet's share is this cluster's",
            "no baseline here: none of the fleet's share is this cluster's",
            "traffic: primary 100 %",
            "no canary here: nothing is measured on this cluster",
        ]
        assert not canary["eu"].touched
        assert traffic["us"].reason == "traffic: primary 70 %, canary 15 %, baseline 15 %"
        found = given.traffic("us")
        assert (round(found.by_label(KEY)["canary"], 2), found.lost) == (0.15, 0.0)
        assert given.traffic("eu").by_label(KEY) == {"primary": 1.0}

        await given.run(rollout_stages.PRIMARY_ROLLOUT.name, PROMOTED)
        for clean in (rollout_stages.CANARY_CLEAN.name, rollout_stages.BASELINE_CLEAN.name):
            ended = await given.run(clean, stage_kind.NoOptions())
            assert {each.status for each in ended.values()} == {"succeeded"}
        assert [given.count(each, "Deployment") for each in given.names] == [1, 1]


async def test_a_tenth_of_all_requests_of_the_fleet_meets_canary_and_none_is_lost() -> None:
    """Three clusters with four pods each: two canaries carry a tenth of everything."""
    names = ("us", "eu", "asia")
    tenth = rollout_stages.VariantRolloutOptions(
        rollout_stages.Replicas(10, is_percentage=True), of=stage_kind.Scope.FLEET
    )
    wanted = traffic_stages.TrafficOptions(90, 10, of=stage_kind.Scope.FLEET)
    rollout, traffic = fleet_shares.fix_shares(
        ISTIO,
        (
            pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, tenth),
            pipelines.Stage(traffic_stages.TRAFFIC_ROUTING.name, wanted),
        ),
        [fleets.Cluster(each) for each in names],
        {each: {"Deployment shop": 4} for each in names},
    )
    settings = traffic_world.settings(crds=definitions.istio())
    async with world(*names, application=ISTIO, settings=settings) as given:
        given.sources = {OLD: meshed("shop:v1", replicas=4), NEW: meshed("shop:v2", replicas=4)}
        await given.deployed(OLD)
        await given.run(rollout.name, rollout.options)
        await given.run(traffic.name, traffic.options)

        urls = [given.running.clusters[each].traffic.gateway for each in names]
        tallies = await asyncio.gather(*(traffic_world.ask(url, 500) for url in urls))

        assert [each.failed for each in tallies] == [0, 0, 0]
        # One each; the third has none, and no request of its users meets canary.
        without = [given.count(each, "Deployment") == 1 for each in names].index(True)
        assert [given.count(each, "Deployment") for each in names].count(2) == 2
        assert tallies[without].by_variant().keys() == {"primary"}
        everything = sum((Counter(each.by_variant()) for each in tallies), Counter())
        traffic_world.assert_shares(everything, {"primary": 0.9, "canary": 0.1})
