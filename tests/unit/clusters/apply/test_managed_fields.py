"""An apply is skipped only when it provably changes nothing."""

import copy

import pytest

from volary.clusters.apply import managed_fields
from volary.model import json

DESIRED: json.JsonObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "shop", "labels": {"app": "shop"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {
                "containers": [
                    {"name": "main", "image": "shop:1", "ports": [{"containerPort": 80}]},
                    {"name": "side", "image": "side:1"},
                ]
            },
        },
    },
}
OWNED: json.JsonObject = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"main"}': {
                        ".": {},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            'k:{"containerPort":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:containerPort": {},
                            }
                        },
                    },
                    'k:{"name":"side"}': {".": {}, "f:image": {}, "f:name": {}},
                }
            },
        },
    },
}


def live_object() -> json.JsonObject:
    live = copy.deepcopy(DESIRED)
    live["metadata"] |= {
        "namespace": "default",
        "resourceVersion": "7",
        "managedFields": [
            {"manager": "volary", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": OWNED},
            {"manager": "controller", "operation": "Update", "subresource": "status"},
        ],
    }
    live["spec"]["strategy"] = {"type": "RollingUpdate"}
    live["spec"]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP"
    live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    live["status"] = {"readyReplicas": 2}
    return live


def test_the_same_manifest_again_is_proven_unchanged() -> None:
    """Defaults, status and other managers' fields do not matter."""
    assert managed_fields.is_proven_unchanged(DESIRED, live_object(), manager="volary")


def test_another_manager_has_proven_nothing() -> None:
    assert not managed_fields.is_proven_unchanged(DESIRED, live_object(), manager="somebody")


def _drop(path: list[str | int], body: json.JsonObject) -> json.JsonObject:
    body = copy.deepcopy(body)
    node: object = body
    for part in path[:-1]:
        node = node[part]  # type: ignore[index]
    del node[path[-1]]  # type: ignore[attr-defined]
    return body


@pytest.mark.parametrize(
    "path",
    [
        ["spec", "replicas"],
        ["metadata", "labels"],
        ["spec", "template", "spec", "containers", 1],
        ["spec", "template", "spec", "containers", 0, "ports"],
    ],
)
def test_a_field_that_git_dropped_has_to_be_removed(path: list[str | int]) -> None:
    """The manager still owns it, so an apply would take it away."""
    assert not managed_fields.is_proven_unchanged(
        _drop(path, DESIRED), live_object(), manager="volary"
    )


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["spec", "replicas"], 5),
        (["spec", "selector", "matchLabels", "app"], "other"),
        (["metadata", "labels", "app"], "other"),
        (["spec", "template", "spec", "containers", 1, "image"], "side:hacked"),
        (["spec", "template", "spec", "containers", 0, "ports", 0, "containerPort"], 81),
    ],
)
def test_drift_in_any_owned_field_is_seen(path: list[str | int], value: object) -> None:
    live = live_object()
    node: object = live
    for part in path[:-1]:
        node = node[part]  # type: ignore[index]
    node[path[-1]] = value  # type: ignore[index]

    assert not managed_fields.is_proven_unchanged(DESIRED, live, manager="volary")


def test_a_new_field_is_a_change() -> None:
    desired = copy.deepcopy(DESIRED)
    desired["spec"]["paused"] = True

    assert not managed_fields.is_proven_unchanged(desired, live_object(), manager="volary")


def test_another_order_of_list_items_is_not_proven() -> None:
    """Environment variables may refer to earlier ones, so order counts."""
    desired = copy.deepcopy(DESIRED)
    desired["spec"]["template"]["spec"]["containers"].reverse()

    assert not managed_fields.is_proven_unchanged(desired, live_object(), manager="volary")


def test_true_is_not_one() -> None:
    desired = copy.deepcopy(DESIRED)
    desired["spec"]["replicas"] = True
    live = live_object()
    live["spec"]["replicas"] = 1

    assert not managed_fields.is_proven_unchanged(desired, live, manager="volary")


def test_sets_are_compared_as_sets_in_order() -> None:
    owned = {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}}
    body = {"apiVersion": "v1", "metadata": {"name": "x", "finalizers": ["a", "b"]}}
    entry = {"manager": "volary", "operation": "Apply", "apiVersion": "v1", "fieldsV1": owned}
    live = {
        "apiVersion": "v1",
        "metadata": {"name": "x", "finalizers": ["other", "a", "b"], "managedFields": [entry]},
    }
    fewer = {"apiVersion": "v1", "metadata": {"name": "x", "finalizers": ["a"]}}

    assert managed_fields.is_proven_unchanged(body, live, manager="volary")
    assert not managed_fields.is_proven_unchanged(fewer, live, manager="volary")


def test_a_dry_run_answer_is_the_live_object_but_for_bookkeeping() -> None:
    live = live_object()
    answer = live_object()
    answer["metadata"]["resourceVersion"] = "8"
    answer["status"] = {"readyReplicas": 1}
    changed = live_object()
    changed["spec"]["replicas"] = 3

    assert managed_fields.is_same(live, answer)
    assert not managed_fields.is_same(live, changed)


def test_a_new_commit_alone_is_recognised() -> None:
    """Only the annotation's value differs; any other difference is none of its business."""
    note = "volary.dev/commit"
    desired, live = copy.deepcopy(DESIRED), live_object()
    desired["metadata"]["annotations"] = {note: "new"}
    live["metadata"]["annotations"] = {note: "old"}
    owned = copy.deepcopy(OWNED)
    owned["f:metadata"]["f:annotations"] = {f"f:{note}": {}}
    live["metadata"]["managedFields"][0]["fieldsV1"] = owned
    scaled = copy.deepcopy(desired)
    scaled["spec"]["replicas"] = 9

    def proven(body: json.JsonObject, but_for: str = note) -> bool:
        return managed_fields.is_proven_unchanged(body, live, manager="volary", but_for=but_for)

    assert proven(desired)
    assert not proven(desired, but_for="")
    assert not proven(scaled)
    answered = {**live, "metadata": {**live["metadata"], "annotations": {note: "new"}}}
    assert managed_fields.is_same(live, answered, but_for=note)
    assert not managed_fields.is_same(live, answered)
    assert not managed_fields.is_same(live, {**answered, "spec": {}}, but_for=note)
    del live["metadata"]["annotations"]
    assert not proven(desired), "nobody says which commit changed it last"


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        ({"a": "1"}, {"a": "1", "b": "2"}),
        ({"a": "1", "b": "2"}, {"a": "1"}),
        ({"a": [1, 2]}, {"a": [1]}),
        ({"a": [1]}, {"a": [1, 2]}),
    ],
)
def test_what_is_owned_as_a_whole_is_the_same_as_a_whole(
    desired: json.JsonObject, live: json.JsonObject
) -> None:
    """What somebody added to it would go with an apply."""
    entry = {"manager": "volary", "operation": "Apply", "apiVersion": "v1"}
    fields = {"f:spec": {"f:selector": {}}}
    body = {"apiVersion": "v1", "metadata": {"name": "x"}, "spec": {"selector": desired}}

    def proven(selector: json.JsonObject) -> bool:
        metadata = {"name": "x", "managedFields": [{**entry, "fieldsV1": fields}]}
        there = {"apiVersion": "v1", "metadata": metadata, "spec": {"selector": selector}}
        return managed_fields.is_proven_unchanged(body, there, manager="volary")

    assert proven(desired)
    assert not proven(live)


def test_an_owned_field_that_is_not_there_any_more_is_drift() -> None:
    live = live_object()
    del live["spec"]["replicas"]

    assert not managed_fields.is_proven_unchanged(DESIRED, live, manager="volary")
