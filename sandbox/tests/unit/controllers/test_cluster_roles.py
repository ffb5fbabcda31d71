"""ClusterRoles that are put together from others."""

from datetime import UTC, datetime

import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import times
from kube_sandbox.controllers import cluster_roles
from kube_sandbox.controllers.framework import actions, view

AT = times.Instant(datetime(2026, 1, 1, tzinfo=UTC), 0.0)
LABELS = {"to": "view"}
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}


def _role(name: str, *rules: json.JsonObject, **labels: str) -> json.JsonObject:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "rules": list(rules),
    }


def _view(*rules: json.JsonObject) -> json.JsonObject:
    selectors = {"clusterRoleSelectors": [{"matchLabels": LABELS}]}
    return {**_role("view", *rules, **LABELS), "aggregationRule": selectors}


def _writes(*held: json.JsonObject) -> tuple[actions.Write, ...]:
    key = view.Key("ClusterRole", "", "view")
    return cluster_roles.reconcile(world.MemoryView(*held), key, AT).writes


def test_it_has_the_rules_of_all_it_is_made_of() -> None:
    parts = (_role("a", PODS, **LABELS), _role("b", PODS, JOBS, **LABELS), _role("c", JOBS))

    (update,) = _writes(_view(), *parts)

    assert isinstance(update, actions.Update)
    assert update.body["rules"] == [PODS, JOBS]


def test_rules_of_a_role_that_is_gone_go_too() -> None:
    (update,) = _writes(_view(PODS, JOBS), _role("a", PODS, **LABELS))

    assert isinstance(update, actions.Update)
    assert update.body["rules"] == [PODS]


def test_nothing_is_written_when_nothing_is_new() -> None:
    assert _writes(_view(PODS), _role("a", PODS, **LABELS)) == ()
    assert _writes(_role("view", JOBS), _role("a", PODS, **LABELS)) == ()
    assert _writes() == ()
