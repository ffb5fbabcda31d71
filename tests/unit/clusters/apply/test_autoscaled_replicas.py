"""Replicas belong to the autoscaler once there is one."""

from volary.clusters.apply import live_objects
from volary.model import json


def workload(replicas: int, *, owner: str) -> json.JsonObject:
    return {
        "metadata": {
            "name": "shop",
            "managedFields": [
                {
                    "manager": owner,
                    "operation": "Apply",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                }
            ],
        },
        "spec": {"replicas": replicas},
    }


BODY: json.JsonObject = {"metadata": {"name": "shop"}, "spec": {"replicas": 2, "paused": False}}


def test_a_field_we_still_own_keeps_the_live_number() -> None:
    """Dropping it would set replicas to the default of one."""
    left = live_objects.leave_replicas(BODY, workload(7, owner="volary"), manager="volary")

    assert left["spec"] == {"replicas": 7, "paused": False}


def test_a_field_the_autoscaler_took_over_is_left_out() -> None:
    left = live_objects.leave_replicas(BODY, workload(7, owner="autoscaler"), manager="volary")

    assert left["spec"] == {"paused": False}


def test_who_applied_other_fields_alone_does_not_own_the_number() -> None:
    live = workload(7, owner="volary")
    live["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": {"f:paused": {}}}

    left = live_objects.leave_replicas(BODY, live, manager="volary")

    assert left["spec"] == {"paused": False}


def test_a_number_that_git_stops_naming_stays_as_it_is() -> None:
    """Or the first release after Git left it to the autoscaler would leave one pod."""
    bare: json.JsonObject = {"metadata": {"name": "shop"}, "spec": {"paused": False}}
    ours, others = workload(7, owner="volary"), workload(7, owner="autoscaler")

    left = live_objects.leave_replicas(bare, ours, manager="volary")
    assert left["spec"] == {"replicas": 7, "paused": False}
    assert live_objects.leave_replicas(bare, others, manager="volary") == bare


def test_a_new_workload_starts_with_the_number_in_git() -> None:
    assert live_objects.leave_replicas(BODY, None, manager="volary") == BODY


def test_the_manifest_is_not_changed_in_place() -> None:
    live_objects.leave_replicas(BODY, workload(7, owner="autoscaler"), manager="volary")

    assert BODY["spec"]["replicas"] == 2


def test_targets_are_told_apart_by_namespace() -> None:
    autoscaler = {
        "metadata": {"name": "a", "namespace": "web"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "shop"}},
    }

    assert live_objects.autoscaled_workloads([autoscaler]) == {("web", "Deployment", "shop")}
