"""What a rollback may take for granted, and what it may delete."""

from volary.model import applications, json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.kinds import rollback

KEY = "pipecd.dev/variant"


def workload(**labels: str) -> json.JsonObject:
    return {"spec": {"selector": {"matchLabels": labels}}}


def brought_object(commit: str, *managers: json.JsonObject) -> json.JsonObject:
    return {
        "metadata": {
            "name": "shop",
            "annotations": {"volary.dev/commit": commit},
            "managedFields": list(managers),
        }
    }


OURS = {"manager": "volary", "operation": "Apply"}
CONTROLLER = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"}


def test_selectors_stay_as_they_are_live() -> None:
    """They are immutable, whatever the application file says."""
    app = applications.Application(
        name="shop", quick_sync=rollout_stages.SyncOptions(add_variant_label_to_selector=True)
    )

    plain = rollback.running_options(app, [workload(app="shop")])
    labelled = rollback.running_options(
        applications.Application(name="shop"), [workload(**{"app": "shop", KEY: "primary"})]
    )

    assert not plain.add_variant_label_to_selector
    assert labelled.add_variant_label_to_selector


def test_without_live_workloads_any_stage_that_asks_for_it_counts() -> None:
    options = rollout_stages.PrimaryRolloutOptions(add_variant_label_to_selector=True)
    app = applications.Application(
        name="shop", pipeline=(pipelines.Stage(rollout_stages.PRIMARY_ROLLOUT.name, options),)
    )

    assert rollback.running_options(app, []).add_variant_label_to_selector


def test_only_what_the_run_brought_may_go() -> None:
    stays = rollback.only_created_by("new")

    assert stays(brought_object("new", OURS, CONTROLLER)) == ""
    assert stays(brought_object("old", OURS)) == "this run did not bring it"


def test_what_somebody_else_has_a_hand_in_stays() -> None:
    stays = rollback.only_created_by("new")
    theirs = {"manager": "kubectl-client-side-apply", "operation": "Update"}

    assert stays(brought_object("new", OURS, theirs)) == (
        "co-owned by field manager kubectl-client-side-apply"
    )
