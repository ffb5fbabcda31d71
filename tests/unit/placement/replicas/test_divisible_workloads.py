"""What there is to divide, what an assignment says of it, and where an application is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.failover import destinations, situations
from volary.placement.replicas import assignment, assignment_formats, divisible_workloads

DIVIDED = overrides.ReplicaDivision(overrides.Division.DIVIDED)
BOUNDS = overrides.ReplicaDivision(
    overrides.Division.DIVIDED, autoscaled=overrides.Autoscaled.DIVIDE_BOUNDS
)
WEB = manifest.ResourceKey("apps", "Deployment", "", "web")


VERSIONS = {
    "Job": "batch/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "CloneSet": "apps.kruise.io/v1alpha1",
    "Rollout": "argoproj.io/v1alpha1",
    "ReplicationController": "v1",
    "Pod": "v1",
    "RayCluster": "ray.io/v1",
    "Kafka": "example.org/v1",
}


def made(kind: str, name: str = "web", **spec: Any) -> manifest.Manifest:
    version = VERSIONS.get(kind, "apps/v1")
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    return manifest.Manifest(body)


def scaler(least: int, most: int) -> manifest.Manifest:
    target = {"kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": least, "maxReplicas": most}
    return made("HorizontalPodAutoscaler", scaleTargetRef=target, **bounds)


Share = divisible_workloads.Share


@pytest.mark.parametrize(
    ("item", "amount"),
    [
        (made("Deployment"), Share(1)),
        (made("Deployment", replicas=3), Share(3)),
        (made("StatefulSet", replicas=0), Share(0)),
        (made("Deployment", replicas=3, completions=2), Share(3)),
        (made("Deployment", replicas="3"), None),
        (made("Deployment", replicas=True), None),
        (made("ReplicaSet", replicas=3), Share(3)),
        (made("CloneSet", replicas=3), Share(3)),
        (made("Rollout", replicas=3), Share(3)),
        (made("Rollout"), Share(1)),
        (made("ReplicationController", replicas=3), Share(3)),
        (made("DaemonSet"), None),
        (made("ConfigMap"), None),
        (made("Job"), Share(1)),
        (made("Job", parallelism=4), Share(4)),
        (made("Job", parallelism=4, completions=3), Share(3, 3)),
        (made("Job", parallelism=4, completions=9), Share(4, 9)),
        (made("Job", parallelism=4, completions=True), Share(4)),
        (made("Job", parallelism=4, completions="9"), Share(4)),
    ],
)
def test_how_many_pods_are_divided(item: manifest.Manifest, amount: object) -> None:
    assert divisible_workloads.amount_of(item) == amount


@pytest.mark.parametrize(
    "item",
    [made("Pod"), made("RayCluster"), made("Kafka", replicas=3)],
    ids=lambda item: item.kind,
)
def test_pods_that_nobody_can_divide_are_refused_and_not_multiplied(
    item: manifest.Manifest,
) -> None:
    listed = {"us": [made("Deployment"), item]}

    with pytest.raises(errors.UserError, match=f"the pods of {item.kind} web .* cannot be divided"):
        divisible_workloads.find(listed, DIVIDED)

    assert divisible_workloads.find(listed, overrides.ReplicaDivision()) == ()


def test_a_kind_of_another_group_is_not_taken_for_the_one_of_its_name() -> None:
    volcano = manifest.Manifest(
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "web"}}
    )

    assert divisible_workloads.amount_of(volcano) is None
    with pytest.raises(errors.UserError, match="cannot be divided"):
        divisible_workloads.find({"us": [volcano]}, DIVIDED)


def test_a_chart_s_test_is_no_workload() -> None:
    annotations = {"helm.sh/hook": "test"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": annotations}}

    assert divisible_workloads.find({"us": [manifest.Manifest(body)]}, DIVIDED) == ()


def test_an_autoscaled_rollout_is_left_to_its_autoscaler() -> None:
    target = {"kind": "Rollout", "name": "web"}
    scaled = made("HorizontalPodAutoscaler", scaleTargetRef=target, maxReplicas=4)

    assert divisible_workloads.find({"us": [made("Rollout"), scaled]}, DIVIDED) == ()


def test_nothing_is_divided_unless_somebody_says_so() -> None:
    manifests = {"us": [made("Deployment", replicas=3)]}

    assert divisible_workloads.find(manifests, overrides.ReplicaDivision()) == ()
    (found,) = divisible_workloads.find(manifests, DIVIDED)
    assert (found.key, found.total, found.is_uniform) == (WEB, 3, True)


def test_clusters_may_have_other_numbers() -> None:
    manifests = {"us": [made("Deployment", replicas=3)], "eu": [made("Deployment", replicas=2)]}

    (found,) = divisible_workloads.find(manifests, DIVIDED)

    assert found.amounts == {"us": Share(3), "eu": Share(2)}
    assert (found.amount, found.total, found.is_uniform) == (Share(3), 3, False)


def test_of_an_autoscaled_workload_the_bounds_are_divided_or_nothing() -> None:
    listed = [made("Deployment", replicas=3), scaler(2, 8), made("Deployment", "other")]

    left = divisible_workloads.find({"us": listed}, DIVIDED)
    divided = divisible_workloads.find({"us": listed}, BOUNDS)

    assert [workload.key.name for workload in left] == ["other"]
    assert [(workload.key.kind, workload.amount) for workload in divided] == [
        ("HorizontalPodAutoscaler", Share(8, least=2)),
        ("Deployment", Share(1)),
    ]


@pytest.mark.parametrize(("least", "most"), [(1, 1), (2, 2)])
def test_bounds_may_be_the_same(least: int, most: int) -> None:
    listed = [made("Deployment"), scaler(least, most)]

    (found,) = divisible_workloads.find({"us": listed}, BOUNDS)

    assert found.amount == Share(most, least=least)


def test_bounds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(errors.UserError, match="has at least 3 replicas, and at most 2"):
        divisible_workloads.find({"us": [made("Deployment"), scaler(3, 2)]}, BOUNDS)


EARLY, LATE = datetime(2026, 1, 1, 8, tzinfo=UTC), datetime(2026, 1, 1, 8, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "text"),
    [
        ({}, ""),
        ({"us": EARLY}, "2026-01-01 08:00:00 UTC"),
        ({"us": EARLY, "eu": EARLY}, "2026-01-01 08:00:00 UTC"),
        ({"us": LATE, "eu": EARLY}, "2026-01-01 08:00:00 UTC to 2026-01-01 08:00:05 UTC"),
    ],
)
def test_when_the_free_capacity_was_read(times: dict[str, datetime], text: str) -> None:
    assert assignment_formats.read_at(assignment.Assignment(read_at=times)) == text


def test_an_assignment_says_what_was_free_where_it_was_read() -> None:
    divided = assignment.WorkloadAssignment(WEB, {}, "us 2, eu 1", {"us": 5, "eu": 1})
    unread = assignment.Assignment((divided,))
    read = assignment.Assignment((divided,), {"us": EARLY})

    assert list(assignment_formats.describe(unread)) == ["Deployment web: us 2, eu 1"]
    assert list(assignment_formats.describe(read)) == [
        "Deployment web: us 2, eu 1 (free, read at 2026-01-01 08:00:00 UTC: us 5)"
    ]


def test_an_application_is_where_it_has_not_moved_away() -> None:
    app = applications.Application("shop")
    qualified = [fleets.Cluster(name) for name in ("us", "eu", "asia")]
    placement = situations.PlacementState(away={"eu": "it was lost", "gone": "it was tainted"})

    choice = destinations.choose(app, qualified, placement)
    everywhere = destinations.choose(app, qualified, situations.PlacementState())

    assert choice.names == ("us", "asia")
    assert choice.left_out == {"eu": "it moved away: it was lost"}
    assert (
        destinations.describe_left_out(choice) == "not deployed to eu (it moved away: it was lost)"
    )
    assert everywhere.names == ("us", "eu", "asia")
    assert destinations.describe_left_out(everywhere) == ""


def test_a_share_is_said_as_its_number_or_its_bounds() -> None:
    assert str(divisible_workloads.Share(3)) == "3"
    assert str(divisible_workloads.Share(3, completions=6)) == "3"
    assert str(divisible_workloads.Share(9, least=0)) == "0 to 9"
