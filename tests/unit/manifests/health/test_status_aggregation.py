"""One status of an object in three clusters, kind by kind (Karmada: AggregateStatus)."""

import pytest

from volary.manifests.health import fleet_status, status_aggregation
from volary.model import json


def over(api_version: str, kind: str, *statuses: object, **spec: object) -> json.JsonObject:
    names = ("eu", "us", "ap")
    return status_aggregation.aggregate(
        {
            name: status_aggregation.aggregated_fields(
                {"apiVersion": api_version, "kind": kind, "spec": spec, "status": status}
            )
            for name, status in zip(names, statuses, strict=False)
        }
    )


def test_workloads_are_summed() -> None:
    one = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 2}
    found = over("apps/v1", "Deployment", {**one, "unavailableReplicas": 1}, one, {})

    assert found == {
        "replicas": 6,
        "readyReplicas": 4,
        "updatedReplicas": 6,
        "availableReplicas": 4,
        "unavailableReplicas": 1,
    }
    assert over("apps/v1", "DaemonSet", {"numberReady": 2}, {"numberReady": 5})["numberReady"] == 7
    assert (
        over("apps/v1", "StatefulSet", {"readyReplicas": 2}, {"readyReplicas": 1})["readyReplicas"]
        == 3
    )


def _is_observed(body: json.JsonObject) -> bool:
    (entry,) = fleet_status.of_cluster([body]).objects
    return entry.observed


def test_a_stateful_set_is_observed_as_every_workload_is() -> None:
    """Karmada compares other generations here, so that it never is."""
    seen = {"metadata": {"generation": 4}, "status": {"observedGeneration": 4}}

    assert _is_observed({"kind": "StatefulSet", **seen})
    assert not _is_observed({**seen, "metadata": {"generation": 5}})
    assert _is_observed({"metadata": {"generation": 5}, "status": {}})
    assert not _is_observed({"metadata": {"generation": 5}, "status": {"observedGeneration": "4"}})


DONE = {
    "succeeded": 1,
    "startTime": "2026-01-01T00:00:00Z",
    "completionTime": "2026-01-01T00:01:00Z",
    "conditions": [{"type": "Complete", "status": "True"}],
}
LATER = {**DONE, "startTime": "2026-01-01T00:00:30Z", "completionTime": "2026-01-01T00:02:00Z"}
BROKEN = {"failed": 2, "conditions": [{"type": "Failed", "status": "True"}]}


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (
            (DONE, LATER),
            {
                **{"active": 0, "succeeded": 2, "failed": 0},
                "startTime": "2026-01-01T00:00:00Z",
                "completionTime": "2026-01-01T00:02:00Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
        ),
        ((DONE, {"active": 1}), {"active": 1, "succeeded": 1, "failed": 0}),
        (
            (BROKEN, DONE, BROKEN),
            {
                **{"active": 0, "succeeded": 1, "failed": 4},
                "conditions": [{"type": "Failed", "status": "True", "message": "failed in ap, eu"}],
            },
        ),
    ],
)
def test_a_job_is_complete_where_all_are_and_failed_where_any_is(
    statuses: tuple[object, ...], expected: json.JsonObject
) -> None:
    assert over("batch/v1", "Job", *statuses) == expected


def test_a_cron_job_last_ran_when_the_last_of_them_did() -> None:
    found = over(
        "batch/v1",
        "CronJob",
        {"active": [{"name": "a"}], "lastScheduleTime": "2026-01-01T00:00:00Z"},
        {"active": [{"name": "b"}], "lastScheduleTime": "2026-01-02T00:00:00Z"},
        {},
    )
    assert found == {
        "active": [{"name": "a"}, {"name": "b"}],
        "lastScheduleTime": "2026-01-02T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (("Running", "Failed", "Pending"), "Failed"),
        (("Running", "", "Succeeded"), "Pending"),
        (("Succeeded", "Running"), "Running"),
        (("Succeeded",), "Succeeded"),
    ],
)
def test_the_worst_phase_of_pods_counts(phases: tuple[str, ...], expected: str) -> None:
    assert over("v1", "Pod", *({"phase": each} for each in phases)) == {"phase": expected}


def test_claims_are_bound_where_all_are() -> None:
    def phase(*phases: str) -> object:
        statuses = ({"phase": each} for each in phases)
        return over("v1", "PersistentVolumeClaim", *statuses)["phase"]

    assert phase("Bound", "Bound") == "Bound"
    assert phase("Bound", "Pending") == "Pending"
    assert phase("Bound", "Pending", "Lost") == "Lost"


def test_addresses_of_load_balancers_are_put_together() -> None:
    def at(*ips: str) -> json.JsonObject:
        return {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]}}

    both = {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}}
    several = (at("10.0.0.2"), at("10.0.0.1", "10.0.0.2"), {})

    assert over("v1", "Service", *several, type="LoadBalancer") == both
    assert over("v1", "Service", *several, type="ClusterIP") == {}
    assert over("networking.k8s.io/v1", "Ingress", *several) == both


def test_budgets_autoscalers_and_rollouts() -> None:
    budget = over(
        "policy/v1",
        "PodDisruptionBudget",
        {"currentHealthy": 2, "disruptedPods": {"a": "t"}},
        {"currentHealthy": 3, "disruptedPods": {"a": "t"}},
    )
    rollout = over(
        "argoproj.io/v1alpha1",
        "Rollout",
        {"replicas": 2, "phase": "Healthy"},
        {"replicas": 2, "phase": "Paused"},
    )

    assert (budget["currentHealthy"], sorted(budget["disruptedPods"])) == (5, ["eu/a", "us/a"])
    assert over("autoscaling/v2", "HorizontalPodAutoscaler", {"desiredReplicas": 2}, {}) == {
        "currentReplicas": 0,
        "desiredReplicas": 2,
    }
    assert (rollout["replicas"], rollout["phase"]) == (4, "Paused")
    assert (
        over("apps.kruise.io/v1alpha1", "CloneSet", {"updateRevision": "x"}, {})["updateRevision"]
        == "x"
    )


def test_kinds_without_a_rule_have_no_status_of_their_own() -> None:
    assert over("v1", "ConfigMap", {"any": 1}) == {}
    assert status_aggregation.aggregate({}) == {}
