"""What a ReplicaSet and a ReplicationController say about pods they may not make."""

from datetime import UTC, datetime

import pytest

import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import times
from kube_sandbox.controllers.framework import actions, view
from kube_sandbox.controllers.workloads import replicasets

AT = times.Instant(datetime(2026, 1, 1, tzinfo=UTC), 0.0)
FAILURE = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no"}


def _owner(kind: str, **status: object) -> json.JsonObject:
    labels = {"app": "x"}
    plain = kind == "ReplicationController"
    return {
        "apiVersion": "v1" if plain else "apps/v1",
        "kind": kind,
        "metadata": {"name": "x", "namespace": "shop", "uid": "x", "generation": 1},
        "spec": {
            "replicas": 1,
            "selector": labels if plain else {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
        },
        "status": {"replicas": 0, **status},
    }


def _writes(*held: json.JsonObject) -> tuple[actions.Write, ...]:
    key = view.Key(str(held[0]["kind"]), "shop", "x")
    return replicasets.reconcile(world.MemoryView(*held), key, AT).writes


@pytest.mark.parametrize(
    ("kind", "component"),
    [
        ("ReplicaSet", "replicaset-controller"),
        ("ReplicationController", "replication-controller"),
    ],
)
def test_a_refusal_is_told_in_an_event_and_in_the_status(kind: str, component: str) -> None:
    create = _writes(_owner(kind))[0]
    assert isinstance(create, actions.Create)
    assert create.refused is not None

    event, status = create.refused("no")

    assert isinstance(event, actions.Emit)
    assert (event.reason, event.message) == ("FailedCreate", "Error creating: no")
    assert event.component == component
    assert isinstance(status, actions.UpdateStatus)
    (condition,) = status.body["status"]["conditions"]
    assert condition == {**FAILURE, "lastTransitionTime": AT.stamp}


def test_the_note_goes_when_the_pods_could_be_made() -> None:
    *_, status = _writes(_owner("ReplicaSet", conditions=[FAILURE]))

    assert isinstance(status, actions.UpdateStatus)
    assert "conditions" not in status.body["status"]


def test_the_pods_of_plain_labels_are_counted() -> None:
    owner = _owner("ReplicationController")
    reference = {"apiVersion": "v1", "kind": owner["kind"], "name": "x", "uid": "x"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "x-1",
            "namespace": "shop",
            "uid": "p",
            "labels": {"app": "x"},
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": {},
        "status": {"phase": "Running"},
    }

    (status,) = _writes(owner, pod)

    assert isinstance(status, actions.UpdateStatus)
    assert status.body["status"]["replicas"] == 1
    assert "terminatingReplicas" not in status.body["status"]
