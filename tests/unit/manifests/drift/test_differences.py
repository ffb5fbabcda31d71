"""What a server makes of a manifest is no drift from it; what anybody changes of it is."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_sandbox.apimachinery.patching import managed_fields
from kube_sandbox.apimachinery.scheme import decoding, defaults, schema
from volary.manifests.drift import differences
from volary.manifests.ownership import field_managers
from volary.model import json

NOW, LATER = "2026-01-02T03:04:05Z", "2026-01-02T04:04:05Z"
POD: json.JsonObject = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"example.com/config": "1f"}},
    "spec": {
        "serviceAccountName": "web",
        "terminationGracePeriodSeconds": 5,
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "initContainers": [{"name": "wait", "image": "busybox:1", "command": ["sh", "-c", "true"]}],
        "containers": [
            {
                "name": "main",
                "image": "nginx:1",
                "args": ["--verbose"],
                "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                ],
                "resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}},
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            },
            {"name": "side", "image": "side:1", "securityContext": {"runAsUser": 7}},
        ],
        "volumes": [{"name": "data", "configMap": {"name": "web", "optional": True}}],
    },
}
MANIFESTS: tuple[json.JsonObject, ...] = (
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["example.com/keep"]},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"rollingUpdate": {"maxSurge": "50%"}},
            "template": POD,
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "annotations": {"example.com/a": "b"}},
        "spec": {
            "selector": {"app": "web"},
            "ports": [{"port": 80, "name": "http"}, {"port": 90, "name": "x", "targetPort": 9}],
        },
    },
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web"},
        "data": {"a.b": "1", "c": "two", "empty": ""},
    },
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 5,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 50},
                    },
                }
            ],
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "web"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "web"}},
            "ingress": [{"ports": [{"port": 80}], "from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        },
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "web"},
        "spec": {
            "rules": [
                {
                    "host": "shop.example",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "web", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    },
)


def kind_of(body: json.JsonObject) -> schema.Schema:
    group, _, version = body["apiVersion"].rpartition("/")
    found = schema.builtin(group, version, body["kind"])
    assert found is not None
    return found


def settled(body: json.JsonObject) -> json.JsonObject:
    kind = kind_of(body)
    return defaults.apply(kind, decoding.decode(kind, copy.deepcopy(body)).body)


def applied(
    body: json.JsonObject, live: json.JsonObject | None = None, manager: str = "volary"
) -> json.JsonObject:
    made = managed_fields.apply(
        kind_of(body), live, copy.deepcopy(body), manager=manager, now=NOW, force=True
    )
    return settled(made.body)


def updated(live: json.JsonObject, new: json.JsonObject, manager: str) -> json.JsonObject:
    return managed_fields.update(kind_of(new), live, settled(new), manager=manager, now=LATER)


Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path


#: What tells an object, or an item of a list, from others: with another one it is another.
IDENTIFYING = frozenset({"name", "containerPort", "protocol", "port", "mountPath", "apiVersion"})


def changeable(body: json.JsonObject) -> list[Path]:
    return [
        path
        for path in leaves(body)
        if path[0] in ("metadata", "spec", "data") and path[-1] not in IDENTIFYING
    ]


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case _:
            return f"{value}x"


def with_value(body: json.JsonObject, path: Path, change: Any) -> json.JsonObject:
    new = copy.deepcopy(body)
    node: Any = new
    for step in path[:-1]:
        node = node[step]
    if change is None:
        del node[path[-1]]
    else:
        node[path[-1]] = change(node[path[-1]])
    return new


CASES = [(body, path) for body in MANIFESTS for path in changeable(body)]


@pytest.mark.parametrize("body", MANIFESTS, ids=lambda body: body["kind"])
def test_what_a_server_makes_of_a_manifest_is_no_drift(body: json.JsonObject) -> None:
    assert differences.compare(body, applied(body)) == ()


@given(st.sampled_from(MANIFESTS), st.data())
@settings(deadline=None)
def test_nor_is_it_of_a_part_of_one(body: json.JsonObject, data: st.DataObject) -> None:
    """Whatever is left to defaults, or to somebody else."""
    for path in data.draw(st.lists(st.sampled_from(changeable(body)), max_size=4, unique=True)):
        try:
            part = with_value(body, path, None)
        except (KeyError, IndexError):
            continue
        body = part if not isinstance(path[-1], int) else body
    try:
        live = applied(body)
    except ValueError:
        return  # What is left is no manifest.

    assert differences.compare(body, live) == ()
    # Somebody adds what nobody stated: that is theirs.
    more = copy.deepcopy(live)
    more["metadata"].setdefault("annotations", {})["example.com/theirs"] = "1"
    assert differences.compare(body, updated(live, more, "them")) == ()


@pytest.mark.parametrize(
    ("body", "path"), CASES, ids=lambda one: one["kind"] if isinstance(one, dict) else None
)
def test_every_stated_field_that_somebody_changes_is_drift(
    body: json.JsonObject, path: Path
) -> None:
    live = applied(body)
    change = (lambda _: "3") if "requests" in path else changed
    other = updated(live, with_value(live, path, change), "kubectl-edit")

    found = differences.compare(body, other)

    assert len(found) == 1
    assert found[0].steps == tuple(step for step in path if isinstance(step, str))
    if found[0].live is not differences.ABSENT:  # nobody owns what is not there
        assert found[0].owners[0].manager == "kubectl-edit"
        assert found[0].since is not None
        assert found[0].since.isoformat() == "2026-01-02T04:04:05+00:00"


def test_a_field_is_told_with_both_values_and_who_has_it() -> None:
    body = MANIFESTS[0]
    live = applied(body)
    path: Path = ("spec", "template", "spec", "containers", 0, "image")
    other = updated(live, with_value(live, path, lambda _: "nginx:2"), "kubectl-edit")

    (found,) = differences.compare(body, other)

    assert found.shown_path == 'spec.template.spec.containers[name="main"].image'
    assert (found.wanted, found.live) == ("nginx:1", "nginx:2")


def test_what_somebody_took_away_is_drift() -> None:
    body = MANIFESTS[1]
    live = applied(body)
    other = updated(live, with_value(live, ("metadata", "annotations"), None), "kubectl-annotate")

    (found,) = differences.compare(body, other)

    assert found.shown_path == "metadata.annotations[example.com/a]"
    assert (found.wanted, found.live) == ("b", differences.ABSENT)


def test_what_we_applied_and_git_states_no_more_is_drift() -> None:
    body = MANIFESTS[2]
    live = applied(body)

    (found,) = differences.compare(with_value(body, ("data", "a.b"), None), live)

    assert found.shown_path == "data[a.b]"
    assert (found.wanted, found.live) == (differences.ABSENT, "1")


def test_a_label_more_in_a_selector_is_drift() -> None:
    """It is replaced whole, so what is added changes where the Service leads."""
    body = MANIFESTS[1]
    live = applied(body)
    wider = copy.deepcopy(live)
    wider["spec"]["selector"]["variant"] = "canary"

    (found,) = differences.compare(body, updated(live, wider, "kubectl-patch"))

    assert found.shown_path == "spec.selector.variant"
    assert found.live == "canary"


def test_what_a_run_of_ours_left_is_no_drift() -> None:
    body = MANIFESTS[1]
    live = applied(body)
    moved = copy.deepcopy(live)
    moved["spec"]["selector"]["app"] = "web-green"

    assert differences.compare(body, updated(live, moved, field_managers.TRAFFIC_MANAGER)) == ()


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ({"spec": {"limits": {"cpu": "1000m"}}}, {"spec": {"limits": {"cpu": "1"}}}),
        ({"spec": {"targetPort": "80"}}, {"spec": {"targetPort": 80}}),
        ({"spec": {"args": []}}, {"spec": {}}),
        ({"metadata": {"labels": {}}}, {"metadata": {}}),
        ({"spec": {"a": None}}, {"spec": {"a": 3}}),
        ({"status": {"a": 1}}, {}),
    ],
)
def test_another_form_of_the_same_is_no_drift(
    wanted: json.JsonObject, live: json.JsonObject
) -> None:
    assert differences.compare(wanted, live) == ()


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ({"spec": {"a": False}}, {"spec": {"a": True}}),
        ({"spec": {"a": 0}}, {"spec": {"a": 3}}),
        ({"spec": {"a": ""}}, {"spec": {"a": "x"}}),
        ({"spec": {"a": "1"}}, {"spec": {"a": True}}),
        ({"spec": {"args": ["a", "b"]}}, {"spec": {"args": ["b", "a"]}}),
        ({"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}}),
    ],
)
def test_another_value_is(wanted: json.JsonObject, live: json.JsonObject) -> None:
    assert len(differences.compare(wanted, live)) == 1
