from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.application import application_files
from volary.model import applications, errors
from volary.model.fleet import fleets, taints
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.runs import run_plans
from volary.planner import plans, targets

FLEET = fleets.Fleet(
    (
        fleets.Cluster("us", {"env": "prod"}),
        fleets.Cluster("eu", {"env": "prod"}),
        fleets.Cluster("asia", {"env": "prod"}, suspended=True),
        fleets.Cluster("lab", {"env": "test"}),
    )
)
PROD = applications.TargetSelector(match_labels={"env": "prod"})


def pods(*images: str) -> list[manifest.Manifest]:
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    template = {"spec": {"containers": containers}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return [manifest.Manifest({**body, "spec": {"template": template}})]


def canary(*names: str) -> pipelines.Stage:
    options = rollout_stages.VariantRolloutOptions()
    return pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, options, index=3, targets=names)


def app(**changes: Any) -> applications.Application:
    return applications.Application("shop", **changes)


def test_suspended_clusters_are_left_out_and_named() -> None:
    found = targets.select(app(targets=PROD), FLEET)

    assert found.names == ("us", "eu")
    assert found.suspended == ("asia",)
    assert [each.message for each in found.warnings] == [
        "not deployed to asia: suspended in the fleet"
    ]
    assert found.require() == found.targets


def test_a_name_that_is_not_there_is_shown_where_the_dialect_has_it() -> None:
    text = (
        "apiVersion: pipecd.dev/v1beta1\n"
        "kind: Application\n"
        "spec:\n"
        "  name: shop\n"
        "  plugins:\n"
        "    kubernetes_multicluster:\n"
        "      quickSync:\n"
        "        multiTargets:\n"
        "        - mars\n"
    )
    loaded = application_files.parse(text, file="app.yaml", default_name="shop")

    found = targets.select(loaded.require(), FLEET, document=loaded.document, base=loaded.base)

    (problem,) = errors.mistakes(found.problems)
    assert "unknown target mars" in problem.message
    assert problem.where.line == 9


def test_targets_without_an_entry_in_multi_targets_are_left_out_and_named() -> None:
    entries = (
        applications.TargetInput(applications.TargetReference("lab")),
        applications.TargetInput(applications.TargetReference("us")),
    )
    found = targets.select(app(input=applications.Input(multi_targets=entries)), FLEET)

    assert found.names == ("us", "lab")
    assert found.left_out == ("eu", "asia")
    assert "not deployed to eu, asia" in found.warnings[0].message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": applications.TargetSelector(("mars",))}, "unknown target mars"),
        ({"targets": applications.TargetSelector(("asia",))}, "no cluster is left to deploy to"),
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
    inputs = applications.Input(
        multi_targets=tuple(
            applications.TargetInput(applications.TargetReference(each)) for each in sorted(entries)
        )
    )
    selector = applications.TargetSelector(names=tuple(names))
    found = targets.select(app(targets=selector, input=inputs), FLEET)

    chosen = names or set(FLEET.names)
    assert {*found.names, *found.suspended, *found.left_out} == chosen
    assert not set(found.names) & {*found.suspended, *found.left_out}


def test_a_stage_visits_its_targets_in_the_order_of_the_run() -> None:
    assert targets.of_stage(canary("eu", "us"), ("us", "eu", "asia")) == ("us", "eu")
    assert targets.of_stage(canary(), ("us", "eu")) == ("us", "eu")


def test_a_quick_sync_is_one_stage_with_the_options_of_quick_sync() -> None:
    options = rollout_stages.SyncOptions(prune=True)
    built = plans._stages_of_run(
        app(quick_sync=options, quick_sync_targets=("us",)),
        run_plans.Strategy.QUICK_SYNC,
        ("us",),
        None,
    )

    assert built == (
        pipelines.Stage(
            rollout_stages.SYNC.name,
            options,
            description="Sync by applying all manifests",
            targets=("us",),
        ),
    )


def test_a_pipeline_keeps_its_stages_and_describes_them() -> None:
    mine = pipelines.Stage(
        rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions(), description="Mine"
    )
    built = plans._stages_of_run(
        app(pipeline=(canary(), mine)), run_plans.Strategy.PIPELINE, (), None
    )

    assert [(each.index, each.description) for each in built] == [
        (0, "Rollout the new version as CANARY to all targets"),
        (1, "Mine"),
    ]


def test_limits_keep_only_targets_of_the_run_and_never_become_empty() -> None:
    shop = app(pipeline=(canary("us", "asia"),))

    assert plans._stages_of_run(shop, run_plans.Strategy.PIPELINE, ("us", "eu"), None)[
        0
    ].targets == ("us",)
    with pytest.raises(errors.UserError, match="limited to us, asia"):
        plans._stages_of_run(shop, run_plans.Strategy.PIPELINE, ("eu",), None)


def test_a_plan_names_every_image_and_who_uses_it() -> None:
    """PipeCD reports only the first cluster's image of an object (D11)."""
    shared = pods("localhost:5000/web:v2", "side@sha256:0123456789abcdef")
    made = plans.make(
        app(pipeline=(canary(),)),
        running={"us": pods("localhost:5000/web:v1"), "eu": None},
        target={"us": shared, "eu": shared, "lab": pods("web")},
    )

    assert made.strategy is run_plans.Strategy.PIPELINE
    assert made.summary == "Sync progressively because of updating image web from v1 to v2"
    assert made.targets == ("us", "eu", "lab")
    assert made.versions == (
        run_plans.Version("web", "v2", "localhost:5000/web:v2", ("us", "eu")),
        run_plans.Version(
            "side", "sha256:0123456789ab", "side@sha256:0123456789abcdef", ("us", "eu")
        ),
        run_plans.Version("web", "", "web", ("lab",)),
    )


def test_stages_of_a_strategy_go_to_its_clusters_only() -> None:
    whole, limited, nobodys = (
        replace(canary(*names), strategy=strategy)
        for names, strategy in (((), "first"), (("eu",), "rest"), ((), "empty"))
    )
    assigned = {"first": ["us"], "rest": ["eu", "lab"], "empty": []}

    stages = list(plans._of_strategies([whole, limited, nobodys, canary()], assigned))

    assert [(stage.strategy, stage.targets) for stage in stages] == [
        ("first", ("us",)),
        ("rest", ("eu",)),
        ("", ()),
    ]
    assert list(plans._of_strategies([whole], None)) == [whole]


def test_a_suspended_cluster_is_not_said_to_carry_taints() -> None:
    taint = taints.Taint("example.com/old", effect=taints.Effect.NO_SCHEDULE)
    members = fleets.Fleet(
        (
            fleets.Cluster("us"),
            fleets.Cluster("eu", taints=(taint,)),
            fleets.Cluster("asia", taints=(taint,), suspended=True),
        )
    )

    found = targets.select(app(), members)

    assert found.names == ("us",)
    assert found.suspended == ("asia",)
    assert list(found.tainted) == ["eu"]
