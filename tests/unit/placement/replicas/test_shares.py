"""What a cluster's manifests say after the division: workloads, Jobs, autoscalers."""

from typing import Any

import pytest

from volary.model import errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.replicas import assignment, divisible_workloads, shares

CLUSTERS = [fleets.Cluster("a"), fleets.Cluster("b"), fleets.Cluster("c")]
EVEN = overrides.ReplicaDivision(overrides.Division.DIVIDED)
BOUNDS = overrides.ReplicaDivision(
    overrides.Division.DIVIDED, autoscaled=overrides.Autoscaled.DIVIDE_BOUNDS
)
AVAILABLE = overrides.ReplicaDivision(
    overrides.Division.DIVIDED, preference=overrides.Preference.AVAILABLE
)


def item(kind: str, name: str = "web", group: str = "apps", **spec: Any) -> manifest.Manifest:
    body = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return manifest.Manifest(body)


def scaler(kind: str = "HorizontalPodAutoscaler", **spec: Any) -> manifest.Manifest:
    target = {"kind": "Deployment", "name": "web"}
    return item(kind, "scaler", "autoscaling", scaleTargetRef=target, **spec)


def given(
    *items: manifest.Manifest,
    policy: overrides.ReplicaDivision = EVEN,
    cluster: int = 0,
    assigned: assignment.Assignment | None = None,
) -> list[dict[str, Any]]:
    found = shares.apply(items, policy, CLUSTERS[cluster], CLUSTERS, assigned=assigned)
    return [dict(each.body["spec"]) for each in found]


def test_workloads_get_their_share_and_the_rest_stays() -> None:
    others = (item("DaemonSet"), item("CronJob", group="batch", parallelism=4))
    found = given(item("Deployment", replicas=7), item("StatefulSet"), *others)

    assert found == [{"replicas": 3}, {"replicas": 1}, {}, {"parallelism": 4}]
    assert given(item("StatefulSet"), cluster=1) == [{"replicas": 0}]


def test_jobs() -> None:
    job = item("Job", group="batch", parallelism=4, completions=8)
    assert [given(job, cluster=each)[0] for each in range(3)] == [
        {"parallelism": 2, "completions": 4},
        {"parallelism": 1, "completions": 2},
        {"parallelism": 1, "completions": 2},
    ]
    # Without completions one pod's success is the end; without pods it has nothing to do.
    queue = item("Job", group="batch", parallelism=2)
    assert given(queue) == [{"parallelism": 1}]
    assert given(queue, cluster=2) == [{"parallelism": 0, "completions": 0}]


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "ScaledObject"])
def test_what_an_autoscaler_scales_is_left_alone(kind: str) -> None:
    both = (item("Deployment", replicas=7), scaler(kind, maxReplicas=9))
    assert given(*both) == [dict(each.body["spec"]) for each in both]
    # It scales another workload.
    other = item("Deployment", "other", replicas=3)
    assert given(other, scaler(kind, maxReplicas=9))[0] == {"replicas": 1}


def test_bounds_are_divided_by_choice() -> None:
    found = given(
        item("Deployment", replicas=7),
        scaler(minReplicas=4, maxReplicas=11),
        policy=BOUNDS,
    )
    assert found[0] == {"replicas": 7}
    assert (found[1]["minReplicas"], found[1]["maxReplicas"]) == (2, 4)

    keda = scaler("ScaledObject", maxReplicaCount=11)
    bounds = given(item("Deployment"), keda, policy=BOUNDS, cluster=2)[1]
    # What may go down to none may do so everywhere.
    assert (bounds["minReplicaCount"], bounds["maxReplicaCount"]) == (0, 3)


def test_bounds_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(errors.UserError, match="at least 5 replicas, and at most 2"):
        given(item("Deployment"), scaler(minReplicas=5, maxReplicas=2), policy=BOUNDS)


def test_a_cluster_without_a_share_of_the_bounds_gets_neither_pods_nor_autoscaler() -> None:
    both = (item("Deployment", replicas=7), scaler(maxReplicas=9))
    made = assignment.Assignment(
        (assignment.WorkloadAssignment(both[1].key, {"a": divisible_workloads.Share(9, least=1)}),)
    )
    assert given(*both, policy=BOUNDS, cluster=1, assigned=made) == [{"replicas": 0}]
    assert given(*both, policy=BOUNDS, cluster=0, assigned=made)[1]["maxReplicas"] == 9


def test_an_autoscaler_whose_share_names_no_least_may_go_down_to_none() -> None:
    both = (item("Deployment", replicas=7), scaler(minReplicas=4, maxReplicas=9))
    made = assignment.Assignment(
        (assignment.WorkloadAssignment(both[1].key, {"a": divisible_workloads.Share(9)}),)
    )

    bounds = given(*both, policy=BOUNDS, assigned=made)[1]
    assert (bounds["minReplicas"], bounds["maxReplicas"]) == (0, 9)


def test_what_was_decided_counts() -> None:
    web = item("Deployment", replicas=7)
    made = assignment.Assignment(
        (assignment.WorkloadAssignment(web.key, {"a": divisible_workloads.Share(6)}),)
    )

    assert given(web, policy=AVAILABLE, assigned=made) == [{"replicas": 6}]
    assert given(web, policy=AVAILABLE, assigned=made, cluster=1) == [{"replicas": 0}]
    # Static weights decide by themselves about what nobody decided about.
    new = item("Deployment", "new", replicas=3)
    assert given(web, new, assigned=made) == [{"replicas": 6}, {"replicas": 1}]


def test_free_capacity_is_not_guessed() -> None:
    with pytest.raises(errors.UserError, match="Deployment web a cluster gets is not decided"):
        given(item("Deployment", replicas=7), policy=AVAILABLE)
    # Nothing that is divided: nothing to decide.
    assert given(item("ConfigMap", group="v1"), policy=AVAILABLE) == [{}]


def test_replicas_that_are_no_number_are_left_as_they_are() -> None:
    assert divisible_workloads.amount_of(item("Deployment", replicas="${REPLICAS}")) is None
    assert given(item("Deployment", replicas="many")) == [{"replicas": "many"}]
