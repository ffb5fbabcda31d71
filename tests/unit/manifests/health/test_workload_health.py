"""Workloads by the numbers of their status, one number wrong at a time."""

from typing import Any

import pytest

from volary.manifests.health import assessment, rollout_health, workload_health
from volary.model import json
from volary.model.statuses import HealthStatus

HEALTHY, PROGRESSING = HealthStatus.HEALTHY, HealthStatus.PROGRESSING
DEGRADED, SUSPENDED = HealthStatus.DEGRADED, HealthStatus.SUSPENDED
WHOLE = {
    "replicas": 3,
    "readyReplicas": 3,
    "updatedReplicas": 3,
    "availableReplicas": 3,
    "observedGeneration": 2,
}


def body(kind: str, status: json.JsonObject, **spec: Any) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"generation": 2},
        "spec": {"replicas": 3, **spec},
        "status": {**WHOLE, **status},
    }


def judged(made: json.JsonObject) -> tuple[HealthStatus, str]:
    found = assessment.assess(made)
    return found.status, found.reason


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, (HEALTHY, "3 of 3 pods available")),
        ({"updatedReplicas": 2}, (PROGRESSING, "2 of 3 pods updated")),
        ({"replicas": 4}, (PROGRESSING, "waiting for 1 old pod to terminate")),
        ({"replicas": 5}, (PROGRESSING, "waiting for 2 old pods to terminate")),
        (
            {"replicas": 4, "updatedReplicas": 4},
            (PROGRESSING, "waiting for 1 surplus pod to terminate"),
        ),
        ({"availableReplicas": 2}, (PROGRESSING, "2 of 3 pods available")),
        ({"observedGeneration": 0}, (PROGRESSING, "not observed by its controller yet")),
        ({"observedGeneration": 1}, (PROGRESSING, "generation 2 is not observed yet, only 1")),
        ({"observedGeneration": 3}, (HEALTHY, "3 of 3 pods available")),
    ],
)
def test_a_deployment(status: json.JsonObject, expected: tuple[HealthStatus, str]) -> None:
    assert judged(body("Deployment", status)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("Progressing", "False", "ProgressDeadlineExceeded"), (DEGRADED, True)),
        (("Progressing", "True", "NewReplicaSetAvailable"), (HEALTHY, False)),
        (("ReplicaFailure", "True", "FailedCreate"), (DEGRADED, False)),
        (("ReplicaFailure", "False", "FailedCreate"), (HEALTHY, False)),
    ],
)
def test_a_deployment_by_its_conditions(
    condition: tuple[str, str, str], expected: tuple[HealthStatus, bool]
) -> None:
    written = dict(zip(("type", "status", "reason"), condition, strict=True))
    found = assessment.assess(body("Deployment", {"conditions": [written]}))

    assert (found.status, found.permanent) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, (HEALTHY, "3 of 3 pods available")),
        ({"replicas": 2, "availableReplicas": 2}, (PROGRESSING, "2 of 3 pods updated")),
        ({"replicas": 4}, (PROGRESSING, "waiting for 1 surplus pod to terminate")),
        ({"availableReplicas": 1}, (PROGRESSING, "1 of 3 pods available")),
    ],
)
def test_a_replica_set(status: json.JsonObject, expected: tuple[HealthStatus, str]) -> None:
    assert judged(body("ReplicaSet", status)) == expected


def partition(number: int) -> json.JsonObject:
    return {"updateStrategy": {"rollingUpdate": {"partition": number}}}


ON_DELETE = {"updateStrategy": {"type": "OnDelete"}}


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, (HEALTHY, "3 of 3 pods ready")),
        ({"updatedReplicas": 2}, {}, (PROGRESSING, "2 of 3 pods updated")),
        ({"updatedReplicas": 2}, partition(1), (HEALTHY, "3 of 3 pods ready")),
        (
            {"updatedReplicas": 1},
            partition(1),
            (PROGRESSING, "1 of 2 pods updated, 1 are held back by the partition"),
        ),
        ({"updatedReplicas": 0}, partition(9), (HEALTHY, "3 of 3 pods ready")),
        ({"replicas": 4}, {}, (PROGRESSING, "waiting for 1 surplus pod to terminate")),
        ({"readyReplicas": 2}, {}, (PROGRESSING, "2 of 3 pods ready")),
        ({"availableReplicas": 2}, {}, (PROGRESSING, "2 of 3 pods ready")),
        (
            {"currentRevision": "a", "updateRevision": "b"},
            {},
            (PROGRESSING, "the new revision is not current yet"),
        ),
        (
            {"currentRevision": "a", "updateRevision": "b"},
            partition(1),
            (HEALTHY, "3 of 3 pods ready"),
        ),
        ({"currentRevision": "a"}, {}, (HEALTHY, "3 of 3 pods ready")),
        ({"updateRevision": "a"}, {}, (HEALTHY, "3 of 3 pods ready")),
        ({"currentRevision": "a", "updateRevision": "a"}, {}, (HEALTHY, "3 of 3 pods ready")),
        (
            {"updatedReplicas": 1},
            ON_DELETE,
            (HEALTHY, "3 of 3 pods ready, 2 still of the old revision (OnDelete)"),
        ),
        ({"readyReplicas": 2}, ON_DELETE, (PROGRESSING, "2 of 3 pods ready")),
        ({}, ON_DELETE, (HEALTHY, "3 of 3 pods ready")),
    ],
)
def test_a_stateful_set(
    status: json.JsonObject, spec: json.JsonObject, expected: tuple[HealthStatus, str]
) -> None:
    assert judged(body("StatefulSet", status, **spec)) == expected


def test_older_servers_do_not_count_available_pods() -> None:
    made = body("StatefulSet", {})
    del made["status"]["availableReplicas"]

    assert judged(made) == (HEALTHY, "3 of 3 pods ready")


DAEMONS = {
    "desiredNumberScheduled": 3,
    "updatedNumberScheduled": 3,
    "numberAvailable": 3,
    "numberMisscheduled": 0,
}


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, (HEALTHY, "3 of 3 pods available")),
        ({"updatedNumberScheduled": 2}, {}, (PROGRESSING, "2 of 3 pods updated")),
        ({"numberAvailable": 2}, {}, (PROGRESSING, "2 of 3 pods available")),
        ({"numberMisscheduled": 1}, {}, (PROGRESSING, "waiting for 1 misplaced pod to terminate")),
        (
            {"updatedNumberScheduled": 1},
            ON_DELETE,
            (HEALTHY, "3 of 3 pods ready, 2 still of the old revision (OnDelete)"),
        ),
        ({"numberAvailable": 1}, ON_DELETE, (PROGRESSING, "1 of 3 pods ready")),
    ],
)
def test_a_daemon_set(
    status: json.JsonObject, spec: json.JsonObject, expected: tuple[HealthStatus, str]
) -> None:
    assert judged(body("DaemonSet", {**DAEMONS, **status}, **spec)) == expected


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, (HEALTHY, "3 of 3 pods available")),
        ({"updatedNumberScheduled": 2}, partition(1), (HEALTHY, "3 of 3 pods available")),
        ({"updatedNumberScheduled": 1}, partition(1), (PROGRESSING, "1 of 2 pods updated")),
        ({"numberAvailable": 2}, partition(1), (PROGRESSING, "2 of 3 pods available")),
        (
            {},
            {"updateStrategy": {"rollingUpdate": {"paused": True}}},
            (SUSPENDED, "paused, pods are not updated until it is resumed"),
        ),
    ],
)
def test_an_advanced_daemon_set(
    status: json.JsonObject, spec: json.JsonObject, expected: tuple[HealthStatus, str]
) -> None:
    made = body("DaemonSet", {**DAEMONS, **status}, **spec)
    found = rollout_health.daemon_set(made)

    assert (found.status, found.reason) == expected


def clones(number: object) -> json.JsonObject:
    return {"updateStrategy": {"partition": number}}


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, (HEALTHY, "3 of 3 pods available")),
        ({"updatedReplicas": 2}, {}, (PROGRESSING, "2 of 3 pods updated")),
        (
            {"updatedReplicas": 2},
            clones(1),
            (HEALTHY, "3 of 3 pods available, 1 held back by the partition"),
        ),
        (
            {"updatedReplicas": 1},
            clones("34%"),
            (HEALTHY, "3 of 3 pods available, 2 held back by the partition"),
        ),
        (
            {"updatedReplicas": 2},
            clones("1"),
            (HEALTHY, "3 of 3 pods available, 1 held back by the partition"),
        ),
        (
            {"updatedReplicas": 0},
            clones("100%"),
            (HEALTHY, "3 of 3 pods available, 3 held back by the partition"),
        ),
        (
            {"updatedReplicas": 0},
            clones(9),
            (HEALTHY, "3 of 3 pods available, 3 held back by the partition"),
        ),
        ({"updatedReplicas": 2}, clones("x"), (PROGRESSING, "2 of 3 pods updated")),
        (
            {"updatedReplicas": 1, "expectedUpdatedReplicas": 1},
            {},
            (HEALTHY, "3 of 3 pods available, 2 held back by the partition"),
        ),
        (
            {"updatedReplicas": 1, "expectedUpdatedReplicas": 2},
            {},
            (PROGRESSING, "1 of 2 pods updated, 1 held back by the partition"),
        ),
        (
            {"updatedReplicas": 0, "expectedUpdatedReplicas": 0},
            {},
            (HEALTHY, "3 of 3 pods available, 3 held back by the partition"),
        ),
        ({"replicas": 5}, {}, (PROGRESSING, "waiting for 2 surplus pods to terminate")),
        ({"availableReplicas": 2}, {}, (PROGRESSING, "2 of 3 pods available")),
    ],
)
def test_a_clone_set(
    status: json.JsonObject, spec: json.JsonObject, expected: tuple[HealthStatus, str]
) -> None:
    found = rollout_health.clone_set(body("CloneSet", status, **spec))

    assert (found.status, found.reason) == expected


@pytest.mark.parametrize(
    ("condition", "spec", "expected"),
    [
        (("Progressing", "ProgressDeadlineExceeded"), {}, DEGRADED),
        (("Progressing", "RolloutAborted"), {}, DEGRADED),
        (("Progressing", "ReplicaSetUpdated"), {}, HEALTHY),
        (("Other", "RolloutAborted"), {}, HEALTHY),
        (("Progressing", "x"), {"paused": True}, SUSPENDED),
        (("InvalidSpec", "x"), {}, DEGRADED),
    ],
)
def test_a_rollout_of_an_old_controller(
    condition: tuple[str, str], spec: json.JsonObject, expected: HealthStatus
) -> None:
    kind, reason = condition
    written = [{"type": kind, "status": "True", "reason": reason}]
    made = body("Rollout", {"observedGeneration": "2", "conditions": written}, **spec)

    assert rollout_health.rollout(made).status is expected
    waiting = {**made, "status": {**made["status"], "pauseConditions": [{"reason": "x"}]}}
    bad = expected is DEGRADED
    assert rollout_health.rollout(waiting).status is (DEGRADED if bad else SUSPENDED)


@pytest.mark.parametrize(
    ("phase", "spec", "expected"),
    [
        ("Healthy", {}, (HEALTHY, "3 of 3 pods available")),
        ("Healthy", {"paused": True}, (SUSPENDED, "paused")),
        ("Paused", {}, (SUSPENDED, "paused: why")),
        ("Degraded", {}, (DEGRADED, "why")),
        ("Progressing", {}, (PROGRESSING, "why")),
    ],
)
def test_a_rollout_by_its_phase(
    phase: str, spec: json.JsonObject, expected: tuple[HealthStatus, str]
) -> None:
    status = {"observedGeneration": "2", "phase": phase, "message": "why"}
    found = rollout_health.rollout(body("Rollout", status, **spec))

    assert (found.status, found.reason) == expected


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("Deployment", {}, (3, 3)),
        ("Deployment", {"updatedReplicas": 2}, (2, 3)),
        ("Deployment", {"availableReplicas": 1}, (1, 3)),
        ("Deployment", {"observedGeneration": 1}, (0, 3)),
        ("Rollout", {"availableReplicas": 9, "updatedReplicas": 9}, (3, 3)),
        ("CloneSet", {"updatedReplicas": 2}, (2, 3)),
        ("StatefulSet", {"availableReplicas": 0}, (3, 3)),
        ("StatefulSet", {"readyReplicas": 1}, (1, 3)),
        ("ReplicaSet", {"updatedReplicas": 0}, (3, 3)),
        ("ReplicaSet", {"readyReplicas": 1}, (1, 3)),
        ("DaemonSet", DAEMONS, (3, 3)),
        ("DaemonSet", {**DAEMONS, "numberAvailable": 1}, (1, 3)),
        ("ConfigMap", {}, (0, 0)),
    ],
)
def test_the_pods_of_the_newest_revision(
    kind: str, status: json.JsonObject, expected: tuple[int, int]
) -> None:
    assert workload_health.pod_counts(body(kind, status)) == expected


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {}, "0 of 1 completions"),
        ({"completions": 4}, {"succeeded": 3}, "3 of 4 completions"),
        ({"completions": 4}, {"succeeded": 3, "failed": 1}, "3 of 4 completions, 1 failed"),
    ],
)
def test_a_job_on_its_way(spec: json.JsonObject, status: json.JsonObject, expected: str) -> None:
    made = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status}

    assert judged(made) == (PROGRESSING, expected)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("AbleToScale", "False", "Bad"), DEGRADED),
        (("ScalingActive", "False", "Bad"), DEGRADED),
        (("ScalingActive", "False", "ScalingDisabled"), SUSPENDED),
        (("ScalingActive", "True", "ScalingDisabled"), HEALTHY),
        (("ScalingLimited", "False", "Bad"), HEALTHY),
    ],
)
def test_an_autoscaler(condition: tuple[str, str, str], expected: HealthStatus) -> None:
    written = dict(zip(("type", "status", "reason"), condition, strict=True))
    made = body("HorizontalPodAutoscaler", {"conditions": [written]})

    assert assessment.assess({**made, "apiVersion": "autoscaling/v2"}).status is expected


def test_pods_count_once_their_controller_has_seen_the_newest_generation() -> None:
    status = {"updatedReplicas": 2, "availableReplicas": 2}
    spec = {"kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 2}}

    assert workload_health.pod_counts({**spec, "status": status}) == (0, 2)
    seen = {**status, "observedGeneration": 1}
    assert workload_health.pod_counts({**spec, "status": seen}) == (2, 2)
