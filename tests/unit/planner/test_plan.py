from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model import application, errors, fleet, manifest, plan, stage
from volary.planner import plan as plans
from volary.planner import stages, targets

FLEET = fleet.Fleet(
    (
        fleet.Cluster("us", {"env": "prod"}),
        fleet.Cluster("eu", {"env": "prod"}),
        fleet.Cluster("asia", {"env": "prod"}, suspended=True),
        fleet.Cluster("lab", {"env": "test"}),
    )
)
PROD = application.TargetSelector(match_labels={"env": "prod"})


def pods(*images: str) -> list[manifest.Manifest]:
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    template = {"spec": {"containers": containers}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return [manifest.Manifest({**body, "spec": {"template": template}})]


def canary(*names: str) -> stage.Stage:
    options = stage.VariantRolloutOptions()
    return stage.Stage(stage.StageName.CANARY_ROLLOUT, options, index=3, targets=names)


def app(**changes: Any) -> application.Application:
    return application.Application("shop", **changes)


def test_suspended_clusters_are_left_out_and_named() -> None:
    found = targets.select(app(targets=PROD), FLEET)

    assert found.names == ("us", "eu")
    assert found.suspended == ("asia",)
    assert [each.message for each in found.warnings] == [
        "not deployed to asia: suspended in the fleet"
    ]
    assert found.require() == found.targets


def test_targets_without_an_entry_in_multi_targets_are_left_out_and_named() -> None:
    entries = (application.TargetInput("lab"), application.TargetInput("us"))
    found = targets.select(app(input=application.Input(multi_targets=entries)), FLEET)

    assert found.names == ("us", "lab")
    assert found.left_out == ("eu", "asia")
    assert "not deployed to eu, asia" in found.warnings[0].message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": application.TargetSelector(("mars",))}, "unknown target mars"),
        ({"targets": application.TargetSelector(("asia",))}, "no cluster is left to deploy to"),
        ({"targets": PROD, "pipeline": (canary("lab"),)}, "no cluster is left here"),
        ({"targets": PROD, "pipeline": (canary("us", "mars"),)}, "unknown target mars"),
        ({"targets": PROD, "quick_sync_targets": ("asia",)}, "no cluster is left here"),
    ],
)
def test_typos_are_refused_before_anything_starts(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.UserError, match=message):
        targets.select(app(**changes), FLEET).require()


@given(
    st.sets(st.sampled_from(["us", "eu", "asia", "lab"])),
    st.sets(st.sampled_from(["us", "eu", "asia", "lab"])),
)
def test_no_cluster_gets_lost_in_silence(names: set[str], entries: set[str]) -> None:
    inputs = application.Input(
        multi_targets=tuple(application.TargetInput(each) for each in sorted(entries))
    )
    selector = application.TargetSelector(names=tuple(names))
    found = targets.select(app(targets=selector, input=inputs), FLEET)

    chosen = names or set(FLEET.names)
    assert {*found.names, *found.suspended, *found.left_out} == chosen
    assert not set(found.names) & {*found.suspended, *found.left_out}


def test_a_stage_visits_its_targets_in_the_order_of_the_run() -> None:
    assert targets.of_stage(canary("eu", "us"), ("us", "eu", "asia")) == ("us", "eu")
    assert targets.of_stage(canary(), ("us", "eu")) == ("us", "eu")


def test_a_quick_sync_is_one_stage_with_the_options_of_quick_sync() -> None:
    options = stage.SyncOptions(prune=True)
    built = stages.build(
        app(quick_sync=options, quick_sync_targets=("us",)), plan.Strategy.QUICK_SYNC
    )

    assert built == (
        stage.Stage(
            stage.StageName.SYNC,
            options,
            description="Sync by applying all manifests",
            targets=("us",),
        ),
    )


def test_a_pipeline_keeps_its_stages_and_describes_them() -> None:
    mine = stage.Stage(stage.StageName.CANARY_CLEAN, stage.CleanOptions(), description="Mine")
    built = stages.build(app(pipeline=(canary(), mine)), plan.Strategy.PIPELINE)

    assert [(each.index, each.description) for each in built] == [
        (0, "Rollout the new version as CANARY to all targets"),
        (1, "Mine"),
    ]


def test_limits_keep_only_targets_of_the_run_and_never_become_empty() -> None:
    shop = app(pipeline=(canary("us", "asia"),))

    assert stages.build(shop, plan.Strategy.PIPELINE, ("us", "eu"))[0].targets == ("us",)
    with pytest.raises(errors.UserError, match="limited to us, asia"):
        stages.build(shop, plan.Strategy.PIPELINE, ("eu",))


def test_a_plan_names_every_image_and_who_uses_it() -> None:
    """PipeCD reports only the first cluster's image of an object (D11)."""
    shared = pods("localhost:5000/web:v2", "side@sha256:0123456789abcdef")
    made = plans.make(
        app(pipeline=(canary(),)),
        running={"us": pods("localhost:5000/web:v1"), "eu": None},
        target={"us": shared, "eu": shared, "lab": pods("web")},
    )

    assert made.strategy is plan.Strategy.PIPELINE
    assert made.summary == "Sync progressively because of updating image web from v1 to v2"
    assert made.targets == ("us", "eu", "lab")
    assert made.versions == (
        plan.Version("web", "v2", "localhost:5000/web:v2", ("us", "eu")),
        plan.Version("side", "sha256:0123456789ab", "side@sha256:0123456789abcdef", ("us", "eu")),
        plan.Version("web", "", "web", ("lab",)),
    )
