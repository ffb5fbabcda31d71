"""When a live Service is changed, decided from the pods that come and go."""

from typing import Any

import pytest

from volary.manifests.services import selector_changes
from volary.model import json
from volary.model.objects import manifest

Order = selector_changes.Order
A, B, BOTH = {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "web"}


def service(selector: json.JsonObject | None, target: object = None) -> json.JsonObject:
    port = {"port": 80} | ({"targetPort": target} if target else {})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [port]} | ({"selector": selector} if selector else {}),
    }


def workload(labels: json.JsonObject, port: int = 0, **spec: Any) -> json.JsonObject:
    ports = [{"name": "http", "containerPort": port}] if port else []
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"ports": ports}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": spec.pop("kind", "Deployment"),
        "metadata": {"name": "web"},
        "spec": {"template": template, **spec},
        "status": spec.pop("status", {}),
    }


def pod(labels: json.JsonObject) -> json.JsonObject:
    return {"metadata": {"labels": {**labels, "pod-template-hash": "1"}}}


def decide(
    live: json.JsonObject,
    wanted: json.JsonObject,
    *rollouts: tuple[json.JsonObject, json.JsonObject | None],
    ready: tuple[json.JsonObject, ...] = (pod(A),),
    others: tuple[json.JsonObject, ...] = (),
    has_operated: bool = False,
) -> selector_changes.Decision:
    return selector_changes.decide(
        manifest.Manifest(wanted),
        live,
        [selector_changes.Rollout(manifest.Manifest(new), old) for new, old in rollouts],
        ready,
        (*ready, *others),
        has_operated=has_operated,
    )


@pytest.mark.parametrize(
    ("live", "wanted", "rollout", "expected"),
    [
        (service(A), service(A), (workload(A), workload(A)), Order.AT_ONCE),
        (service(A), service(A, 80), (workload(A), workload(A)), Order.AT_ONCE),
        (service(B), service(A), (workload(A), workload(A)), Order.AT_ONCE),
        (service(None), service(A), (workload(A), None), Order.LAST),
        (service(A), service(None), (workload(A), workload(A)), Order.LAST),
        (service(A), service(BOTH), (workload(BOTH), workload(A)), Order.LAST),
        (service(A), service(B), (workload(B), None), Order.LAST),
        (service(A), service(B), (workload(B, replicas=0), None), Order.NEVER),
        (service(A), service(B), (workload(B), {**workload(B, replicas=0)}), Order.NEVER),
        (service(A), service(B), (workload(B), workload(A)), Order.NEVER),
        (service(A), service(B), (workload(A), workload(A)), Order.NEVER),
        (service(A), service(A, 90), (workload(A, 90), workload(A, 80)), Order.NEVER),
        (service(A), service(A, 90), (workload(A), workload(A)), Order.LAST),
        (service(A, 90), service(A, 80), (workload(A, 80), workload(A, 80)), Order.FIRST),
        (service(A, 80), service(A, "http"), (workload(A, 90), workload(A, 80)), Order.FIRST),
        (service(A, "http"), service(A, 90), (workload(A, 90), workload(A, 80)), Order.LAST),
    ],
)
def test_what_becomes_of_its_pods_decides(
    live: json.JsonObject,
    wanted: json.JsonObject,
    rollout: tuple[json.JsonObject, json.JsonObject | None],
    expected: selector_changes.Order,
) -> None:
    decision = decide(live, wanted, rollout)

    assert decision.order is expected
    assert bool(decision.hint) == (expected is Order.NEVER)


def test_labels_of_old_and_new_pods_bridge_unless_others_have_them() -> None:
    old, new = {"app": "a", "id": "1"}, {"app": "b", "id": "1"}
    rollout, ready = (workload(new), workload(old)), (pod(old),)

    bridged = decide(service(A), service(B), rollout, ready=ready)
    stranger = decide(service(A), service(B), rollout, ready=ready, others=(pod({"id": "1"}),))
    emptied = decide(
        service(A), service(B), (workload(new), None), (workload(old, replicas=0), workload(old))
    )

    assert (bridged.order, bridged.shared) == (Order.BETWEEN, {"id": "1"})
    assert stranger.order is Order.NEVER
    assert emptied.order is Order.NEVER


def test_a_label_that_goes_is_left_out_before_the_pods_lose_it() -> None:
    decision = decide(service(BOTH), service(A), (workload(A), workload(BOTH)), ready=(pod(BOTH),))

    assert decision.order is Order.FIRST


@pytest.mark.parametrize(
    ("ready", "has_operated", "expected"),
    [
        ((pod(A),), False, Order.NEVER),
        ((pod(A),), True, Order.LAST),
        ((pod(A), pod(B)), False, Order.LAST),
    ],
)
def test_pods_may_come_from_elsewhere(
    ready: tuple[json.JsonObject, ...], has_operated: bool, expected: selector_changes.Order
) -> None:
    """From an operator, or because they are there already."""
    assert decide(service(A), service(B), ready=ready, has_operated=has_operated).order is expected


def test_a_daemon_set_without_a_node_provides_nothing() -> None:
    nowhere = workload(B, kind="DaemonSet")
    nowhere["status"] = {"desiredNumberScheduled": 0}

    assert decide(service(A), service(B), (nowhere, nowhere)).order is Order.NEVER
