"""A cluster without its share of the fleet's canary: no pods, no traffic, nothing measured."""

from datetime import timedelta

from mesh_world import ISTIO, meshed
from stage_world import (
    KEY,
    NEW,
    OLD,
    world,
)
from volary.model import stage

Name = stage.StageName
SHARE = stage.VariantRolloutOptions(
    stage.Replicas(25, is_percentage=True),
    of=stage.Scope.FLEET,
    batch={"us": {"Deployment shop": 2}, "eu": {"Deployment shop": 0}},
)
TRAFFIC = stage.TrafficOptions(
    80, 10, 10, of=stage.Scope.FLEET, shares={"us": (15, 15), "eu": (0, 0)}
)
PROMOTED = stage.PrimaryRolloutOptions(add_variant_label_to_selector=True)
MEASURED = stage.AnalysisOptions(timedelta(minutes=5), without_canary=("eu",))


async def test_what_a_cluster_without_a_share_says_from_rollout_to_clean() -> None:
    async with world("us", "eu", application=ISTIO, istio=True) as given:
        given.sources = {OLD: meshed("shop:v1", replicas=4), NEW: meshed("shop:v2", replicas=4)}
        await given.deployed(OLD)

        canary = await given.run(Name.CANARY_ROLLOUT, SHARE)
        baseline = await given.run(Name.BASELINE_ROLLOUT, SHARE)
        traffic = await given.run(Name.TRAFFIC_ROUTING, TRAFFIC)
        measured = await given.run(Name.ANALYSIS, MEASURED, targets=("eu",))

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

        await given.run(Name.PRIMARY_ROLLOUT, PROMOTED)
        for clean in (Name.CANARY_CLEAN, Name.BASELINE_CLEAN):
            ended = await given.run(clean, stage.CleanOptions())
            assert {each.status for each in ended.values()} == {"succeeded"}
        assert [given.count(each, "Deployment") for each in given.names] == [1, 1]
