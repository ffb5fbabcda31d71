"""What the Deployment controller wants after one look."""

from datetime import UTC, datetime
from typing import Any

import pytest

import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.framework import actions, view
from kube_sandbox.controllers.workloads.deployments import reconcile, replicasets, sizes

KEY = view.Key("Deployment", "shop", "web")
AT = times.Instant(datetime(2026, 1, 1, tzinfo=UTC), 1000.0)


def _replica_set(
    owner: json.JsonObject,
    name: str,
    image: str,
    size: int,
    *,
    revision: int = 1,
    available: int | None = None,
    desired: int | None = None,
) -> json.JsonObject:
    wanted = objects.replicas(owner) if desired is None else desired
    available = size if available is None else available
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "generation": 1,
            "labels": {"app": "web"},
            "annotations": {
                replicasets.REVISION: str(revision),
                sizes.DESIRED: str(wanted),
                sizes.MAXIMUM: str(wanted + sizes.max_surge(owner)),
            },
            "ownerReferences": world.owned_by(owner),
        },
        "spec": {"replicas": size, "selector": {}, "template": world.template(image)},
        "status": {
            "replicas": size,
            "readyReplicas": available,
            "availableReplicas": available,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        },
    }


def _with(owner: json.JsonObject, revision: int, *listed: dict[str, Any]) -> json.JsonObject:
    """The Deployment after its new ReplicaSet was noted."""
    noted = objects.changed(owner, ("metadata", "annotations", replicasets.REVISION), str(revision))
    return objects.changed(noted, ("status", "conditions"), list(listed))


def _progressing(reason: str, status: str = "True") -> dict[str, Any]:
    return {
        "type": "Progressing",
        "status": status,
        "reason": reason,
        "lastUpdateTime": AT.stamp,
        "lastTransitionTime": AT.stamp,
    }


def _look(*held: json.JsonObject, waited: float = 0.0) -> actions.Result:
    cluster = world.MemoryView(*held, moved=AT.seconds - waited)
    return reconcile.reconcile(cluster, KEY, AT)


def _sizes(wanted: actions.Result) -> dict[str, int]:
    return {
        objects.name(each.body): objects.replicas(each.body)
        for each in wanted.writes
        if isinstance(each, actions.Update)
    }


def _status(wanted: actions.Result) -> json.JsonObject:
    return next(
        objects.status(each.body)
        for each in wanted.writes
        if isinstance(each, actions.UpdateStatus)
    )


def _condition(wanted: actions.Result, kind: str) -> json.JsonObject:
    found = conditions.find(_status(wanted)["conditions"], kind)
    assert found is not None
    return found


def test_a_new_deployment_gets_its_replica_set_and_says_so() -> None:
    wanted = _look(world.deployment(3))

    made = wanted.writes[0]
    assert isinstance(made, actions.Create)
    hashed = objects.labels(made.body)["pod-template-hash"]
    assert objects.name(made.body) == f"web-{hashed}"
    assert made.body["spec"]["selector"]["matchLabels"]["pod-template-hash"] == hashed
    assert objects.annotations(made.body) == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert wanted.writes[1] == actions.Emit(
        world.deployment(3),
        "Normal",
        "ScalingReplicaSet",
        f"Scaled up replica set web-{hashed} from 0 to 3",
        "deployment-controller",
    )
    assert _condition(wanted, "Progressing")["reason"] == "NewReplicaSetCreated"


def test_a_changed_template_starts_with_the_surge() -> None:
    owner = _with(world.deployment(4, "nginx:2"), 1, _progressing("NewReplicaSetAvailable"))

    made = _look(owner, _replica_set(owner, "old", "nginx:1", 4)).writes[0]

    assert isinstance(made, actions.Create)
    assert objects.replicas(made.body) == 1
    assert objects.annotations(made.body)[replicasets.REVISION] == "2"


def test_old_pods_go_when_new_ones_are_available() -> None:
    owner = _with(world.deployment(4, "nginx:2"), 2, _progressing("ReplicaSetUpdated"))
    old = _replica_set(owner, "old", "nginx:1", 4)
    new = _replica_set(owner, "new", "nginx:2", 1, revision=2)

    assert _sizes(_look(owner, old, new)) == {"old": 2}


def test_no_old_pod_goes_while_the_new_one_is_missing() -> None:
    owner = _with(world.deployment(3, "bad:2"), 2, _progressing("ReplicaSetUpdated"))
    old = _replica_set(owner, "old", "nginx:1", 3)
    new = _replica_set(owner, "new", "bad:2", 1, revision=2, available=0)

    assert _sizes(_look(owner, old, new)) == {}


def test_sick_old_pods_go_first() -> None:
    """Even if the new ones are not there yet: nobody loses anything by it."""
    owner = _with(world.deployment(4, "nginx:3"), 3, _progressing("ReplicaSetUpdated"))
    sick = _replica_set(owner, "sick", "bad:2", 1, revision=2, available=0)
    old = _replica_set(owner, "old", "nginx:1", 4)
    new = _replica_set(owner, "new", "nginx:3", 0, revision=3)

    assert _sizes(_look(owner, old, sick, new))["sick"] == 0


def test_pods_that_are_about_to_stop_do_not_count_as_available() -> None:
    """The old set was shrunk, and its status still tells the pods it had."""
    owner = _with(
        world.deployment(
            4,
            "nginx:2",
            strategy={
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0},
            },
        ),
        2,
        _progressing("ReplicaSetUpdated"),
    )
    old = _replica_set(owner, "old", "nginx:1", 2, available=4)
    new = _replica_set(owner, "new", "nginx:2", 4, revision=2, available=2)

    assert _sizes(_look(owner, old, new)) == {}


def test_a_rollback_makes_the_old_set_the_newest_revision() -> None:
    owner = _with(world.deployment(2, "nginx:1"), 2, _progressing("NewReplicaSetAvailable"))
    first = _replica_set(owner, "first", "nginx:1", 0)
    second = _replica_set(owner, "second", "nginx:2", 2, revision=2)

    updated = _look(owner, first, second).writes[0]

    assert isinstance(updated, actions.Update)
    assert objects.name(updated.body) == "first"
    assert objects.annotations(updated.body)[replicasets.REVISION] == "3"
    assert objects.annotations(updated.body)["deployment.kubernetes.io/revision-history"] == "1"


@pytest.mark.parametrize(("waited", "reason"), [(599, None), (601, "ProgressDeadlineExceeded")])
def test_no_progress_within_the_deadline_is_said(waited: float, reason: str | None) -> None:
    owner = _with(world.deployment(2, "bad:1"), 1, _progressing("ReplicaSetUpdated"))
    new = _replica_set(owner, "new", "bad:1", 2, available=0)
    told = _status(_look(owner, new))
    owner = {**owner, "status": told}

    wanted = _look(owner, new, waited=waited)

    if reason is None:
        assert wanted == actions.Result(requeue_after=pytest.approx(1.0))
    else:
        note = _condition(wanted, "Progressing")
        assert (note["status"], note["reason"]) == ("False", reason)
        assert note["message"] == 'ReplicaSet "new" has timed out progressing.'


def test_a_complete_rollout_says_so() -> None:
    owner = _with(world.deployment(2), 1, _progressing("ReplicaSetUpdated"))

    wanted = _look(owner, _replica_set(owner, "new", "nginx:1", 2))

    assert _condition(wanted, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert _condition(wanted, "Available")["status"] == "True"
    status = {key: value for key, value in _status(wanted).items() if key != "conditions"}
    assert status == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }


def test_a_paused_deployment_starts_nothing_new() -> None:
    owner = _with(world.deployment(2, "nginx:2", paused=True), 1, _progressing("DeploymentPaused"))

    wanted = _look(owner, _replica_set(owner, "old", "nginx:1", 2))

    assert not any(isinstance(each, actions.Create) for each in wanted.writes)


def test_pausing_is_noted() -> None:
    owner = _with(world.deployment(2, paused=True), 1, _progressing("NewReplicaSetAvailable"))

    note = _condition(_look(owner, _replica_set(owner, "new", "nginx:1", 2)), "Progressing")

    assert (note["status"], note["reason"]) == ("Unknown", "DeploymentPaused")


def test_scaling_in_the_middle_is_shared_by_size() -> None:
    owner = _with(world.deployment(20, "nginx:2"), 2, _progressing("ReplicaSetUpdated"))
    old = _replica_set(owner, "old", "nginx:1", 8, desired=10)
    new = _replica_set(owner, "new", "nginx:2", 5, revision=2, desired=10)

    found = _sizes(_look(owner, old, new))

    assert sum(found.values()) == 20 + sizes.max_surge(owner)
    assert found["old"] > found["new"] > 5


def test_retired_sets_beyond_the_history_are_deleted() -> None:
    owner = _with(
        world.deployment(1, "nginx:4", revisionHistoryLimit=1),
        4,
        _progressing("NewReplicaSetAvailable"),
    )
    new = _replica_set(owner, "new", "nginx:4", 1, revision=4)
    complete = {
        **objects.status(new),
        "updatedReplicas": 1,
        "conditions": objects.status(owner)["conditions"],
    }
    owner = {**owner, "status": complete}
    old = [_replica_set(owner, f"r{n}", f"nginx:{n}", 0, revision=n) for n in (1, 2, 3)]

    wanted = _look(owner, new, *old)

    deleted = [
        objects.name(each.target) for each in wanted.writes if isinstance(each, actions.Delete)
    ]
    assert deleted == ["r1", "r2"]


def test_recreate_waits_until_every_old_pod_is_gone() -> None:
    owner = _with(
        world.deployment(2, "nginx:2", strategy={"type": "Recreate"}),
        1,
        _progressing("ReplicaSetUpdated"),
    )
    old = _replica_set(owner, "old", "nginx:1", 0)
    leaving = {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "shop",
            "deletionTimestamp": AT.stamp,
            "ownerReferences": world.owned_by(old),
        },
        "status": {"phase": "Running"},
    }

    assert not any(isinstance(each, actions.Create) for each in _look(owner, old, leaving).writes)
    assert any(isinstance(each, actions.Create) for each in _look(owner, old).writes)


def test_a_taken_name_is_counted_as_a_collision() -> None:
    owner = world.deployment(1)
    made = _look(owner).writes[0]
    assert isinstance(made, actions.Create)
    stranger = objects.changed(
        objects.changed(made.body, ("metadata", "ownerReferences"), []),
        ("metadata", "labels"),
        {"app": "other"},
    )

    assert _status(_look(owner, stranger))["collisionCount"] == 1
