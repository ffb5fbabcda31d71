"""What is kept of a cluster: whole objects packed, children slim, bounded, and no secret."""

import json
from typing import Any

import pytest

from volary.clusters.inventory import inventory
from volary.livestate import (
    cluster_follower,
    cluster_objects,
    entries,
    packing,
    secret_digests,
    sources,
    views,
)
from volary.manifests.ownership import tracking
from volary.model.objects import manifest, ownership
from volary.model.statuses import HealthStatus

OWNER = ownership.Owner("shop", "0123456789abcdef")
DEPLOYMENTS = sources.Source(sources.Role.APPLIED, "apps", "Deployment")
CONFIG = sources.Source(sources.Role.APPLIED, "", "ConfigMap")
SECRETS = sources.Source(sources.Role.APPLIED, "", "Secret")
REPLICA_SETS = sources.Source(sources.Role.CHILDREN, "apps", "ReplicaSet")
PODS = sources.Source(sources.Role.CHILDREN, "", "Pod")
READING = entries.Reading(mask=lambda body: secret_digests.with_digests(body, b"key"))


def applied(kind: str, name: str, owner: ownership.Owner = OWNER, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1" if kind == "Deployment" else "v1",
        "kind": kind,
        "metadata": {
            "uid": f"uid-{name}",
            "name": name,
            "namespace": "shop",
            "resourceVersion": "1",
            "labels": tracking.owner_labels(owner),
            "annotations": {
                tracking.MANAGED_BY: tracking.VOLARY,
                tracking.APPLICATION: owner.name,
                tracking.APPLICATION_ID: owner.id,
                tracking.COMMIT: "c0ffee",
            },
        },
        **more,
    }


def child(kind: str, name: str, owner: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1" if kind == "ReplicaSet" else "v1",
        "kind": kind,
        "metadata": {
            "uid": f"uid-{name}",
            "name": name,
            "namespace": "shop",
            "ownerReferences": [{"uid": f"uid-{owner}", "controller": True}],
        },
        **more,
    }


def stored(*kept: str) -> dict[str, Any]:
    references = frozenset(
        inventory.Reference(manifest.ResourceKey("", "ConfigMap", "shop", name), "v1")
        for name in kept
    )
    body = inventory.to_object(inventory.Inventory(OWNER, "shop", references))
    body["metadata"]["uid"] = "uid-inventory"
    return body


class Known(cluster_objects.ClusterObjects):
    """Takes objects as clusters send them."""

    def take(self, source: sources.Source, *bodies: Any) -> int:
        read = entries.read_all(source, bodies, READING)
        for entry in read.entries:
            self.keep(source, entry)
        return read.unreadable

    def names(self, *listed: tuple[str, str]) -> list[str]:
        return [placed.node.name for placed in self.tree(OWNER.id, listed).nodes]


def test_an_object_comes_back_as_it_was_sent() -> None:
    known = Known()
    body = applied("Deployment", "web", spec={"replicas": 3, "text": "grün" * 100})
    body["metadata"]["managedFields"] = [{"manager": "volary", "fieldsV1": {"f:spec": {}}}]

    known.take(DEPLOYMENTS, body)

    [packed] = known.applied(OWNER.id).values()
    assert packing.unpack(packed) == body
    assert known.applied("another") == {}
    key = manifest.ResourceKey("apps", "Deployment", "shop", "web")
    assert known.find_body(OWNER.id, key) == body
    assert known.take_changes() == cluster_objects.Changes({OWNER.id}, {OWNER.id})
    assert not known.take_changes()


def test_children_come_in_any_order_and_mark_the_tree_that_they_are_in() -> None:
    known = Known()
    known.take(PODS, child("Pod", "pod", "set"))
    known.take(DEPLOYMENTS, applied("Deployment", "web"))
    known.take_changes()

    known.take(REPLICA_SETS, child("ReplicaSet", "set", "web", spec={"replicas": 1}))

    assert known.take_changes() == cluster_objects.Changes({OWNER.id}, set())
    assert known.names() == ["web", "set", "pod"]
    known.remove(PODS, "uid-pod")
    assert known.take_changes().trees == {OWNER.id}
    assert known.names() == ["web", "set"]


def test_what_did_not_change_marks_nothing() -> None:
    known = Known()
    known.take(DEPLOYMENTS, applied("Deployment", "web"))
    known.take(PODS, child("Pod", "pod", "web"))
    known.take_changes()

    known.take(DEPLOYMENTS, applied("Deployment", "web"))
    known.take(PODS, child("Pod", "pod", "web"))

    assert not known.take_changes()


def test_a_list_replaces_what_was_known_of_its_kind_and_namespace_only() -> None:
    known = Known()
    known.take(CONFIG, applied("ConfigMap", "one"), applied("ConfigMap", "two"))
    known.take(DEPLOYMENTS, applied("Deployment", "web"))
    read = entries.read_all(CONFIG, [applied("ConfigMap", "two")], READING)

    known.replace(CONFIG, "elsewhere", ())
    assert known.names() == ["one", "two", "web"]
    known.replace(CONFIG, "", read.entries)

    assert known.names() == ["two", "web"]


def test_what_the_inventory_names_and_is_not_there_is_missing_once_its_kind_was_listed() -> None:
    known = Known()
    known.take(sources.INVENTORIES, stored("there", "gone"))
    known.take(CONFIG, applied("ConfigMap", "there"))

    assert known.kinds == {("", "ConfigMap")}
    assert known.namespaces == {"shop"}
    assert known.names() == ["there"]
    tree = known.tree(OWNER.id, [("", "ConfigMap")])
    assert [(placed.node.name, placed.node.health) for placed in tree.nodes] == [
        ("gone", HealthStatus.MISSING),
        ("there", HealthStatus.HEALTHY),
    ]


def test_an_inventory_under_another_name_counts_for_nobody() -> None:
    known = Known()
    forged = stored("there")
    forged["metadata"]["name"] = "forged"

    known.take(sources.INVENTORIES, forged)

    assert known.kinds == frozenset()


def test_values_of_secrets_are_not_kept_and_equal_ones_are_equal() -> None:
    known = Known()
    body = applied("Secret", "keys", data={"a": "aHVudGVyMg==", "b": "aHVudGVyMg==", "c": "eA=="})
    body["metadata"]["annotations"][tracking.LAST_APPLIED] = '{"data":"aHVudGVyMg=="}'

    known.take(SECRETS, body)

    [kept] = map(packing.unpack, known.applied(OWNER.id).values())
    assert "aHVudGVyMg" not in json.dumps(kept)
    assert kept["data"]["a"] == kept["data"]["b"] != kept["data"]["c"]
    wanted = {**body, "stringData": {"a": "hunter2", "b": "hunter2"}, "data": {"c": "eA=="}}
    assert secret_digests.with_digests(wanted, b"key") == kept
    assert secret_digests.with_digests(wanted, b"other key") != kept
    shown = secret_digests.without_values(body)
    assert shown["data"] == {"a": "*****", "b": "*****", "c": "*****"}
    assert "aHVudGVyMg" not in json.dumps(shown)


@pytest.mark.parametrize(
    "garbage",
    [
        {},
        {"metadata": None},
        {"metadata": []},
        {"metadata": {"uid": 7, "name": "x"}},
        {"metadata": {"uid": "u", "name": {}}},
        {"kind": 3, "metadata": {"uid": "u", "name": "x", "labels": 7, "annotations": "y"}},
        {"kind": "Pod", "metadata": {"uid": "u", "name": "x"}, "spec": 4, "status": [1]},
        {"kind": "Pod", "metadata": {"uid": "u", "name": "x", "ownerReferences": {"a": 1}}},
        {"kind": "Pod", "metadata": {"uid": "u", "name": "x", "creationTimestamp": "yesterday"}},
        {"kind": "Deployment", "metadata": {"uid": "u", "name": "x"}, "status": {"conditions": 1}},
        applied(
            "Deployment", "web", spec={"template": {"spec": {"containers": [1, {"image": 2}]}}}
        ),
        applied("Deployment", "web", status={"replicas": "many", "observedGeneration": {}}),
    ],
)
@pytest.mark.parametrize("role", list(sources.Role))
def test_garbage_ends_nothing(role: sources.Role, garbage: dict[str, Any]) -> None:
    known = Known()
    source = sources.Source(role, "apps", "Deployment")

    known.take(source, garbage)
    known.take(DEPLOYMENTS, applied("Deployment", "after"))

    assert "after" in known.names()


def test_beyond_the_bound_objects_are_left_out_and_that_is_said() -> None:
    known = Known(cluster_objects.Bounds(objects=10))

    known.take(CONFIG, *(applied("ConfigMap", f"c{number}") for number in range(12)))

    assert known.count == 10
    assert known.warnings() == (
        "more is there than is kept (10 objects of one cluster, 500000 of all): some of it is not"
        " shown",
    )
    assert not known.has_room_again
    for number in range(3):
        known.remove(CONFIG, f"uid-c{number}")
    assert known.has_room_again


def test_all_clusters_share_a_bound() -> None:
    totals = cluster_objects.Totals(most_objects=3)
    one, other = Known(totals=totals), Known(totals=totals)

    one.take(CONFIG, *(applied("ConfigMap", f"c{number}") for number in range(2)))
    other.take(CONFIG, *(applied("ConfigMap", f"c{number}") for number in range(2)))

    assert (one.count, other.count) == (2, 1)
    one.clear()
    assert (totals.objects, totals.packed > 0) == (1, True)
    other.clear()
    assert (totals.objects, totals.packed) == (0, 0)


def test_the_newest_warnings_of_an_object_are_kept() -> None:
    known = Known()
    known.take(DEPLOYMENTS, applied("Deployment", "web", status={"replicas": 0}))
    for number in range(6):
        known.take(
            sources.EVENTS,
            {
                "kind": "Event",
                "type": "Warning",
                "reason": f"Reason{number}",
                "message": "m",
                "involvedObject": {"uid": "uid-web"},
                "lastTimestamp": f"2026-01-01T00:00:0{number}Z",
            },
        )

    [web] = known.tree(OWNER.id, ()).nodes

    assert [event.reason for event in web.events] == ["Reason5", "Reason4", "Reason3"]


def test_of_an_application_of_two_thousand_objects_only_what_changed_is_told() -> None:
    known = Known()
    known.take(CONFIG, *(applied("ConfigMap", f"c{number:04}") for number in range(2000)))
    status = cluster_follower.ClusterStatus("")
    seen = views.Views(lambda _, owner: (known.tree(owner, ()), status), 1)
    whole = seen.whole("us", OWNER.id, 0.0)

    known.take(CONFIG, applied("ConfigMap", "c1000", data={"a": "b"}))
    known.remove(CONFIG, "uid-c0007")
    changed = applied("ConfigMap", "c1234")
    changed["metadata"]["deletionTimestamp"] = "2026-06-01T12:00:00Z"
    known.take(CONFIG, changed)
    seen.refresh(("us", OWNER.id))
    change = seen.since("us", OWNER.id, whole.version, 0.0)

    assert len(whole.tree.nodes) == 2000
    assert change is not None
    assert [placed.node.name for placed in change.tree.nodes] == ["c1234"]
    assert change.removed == ("uid-c0007",)


def written(version: str, *, manager: str = "volary", **more: Any) -> dict[str, Any]:
    """A Deployment that somebody wrote, whose status the controllers wrote after that."""
    body = applied("Deployment", "web", **more)
    body["metadata"]["resourceVersion"] = body["metadata"]["generation"] = version
    body["metadata"]["managedFields"] = [
        {"manager": manager, "operation": "Apply", "fieldsV1": {"f:spec": {}}},
        {"manager": "kube-controller-manager", "subresource": "status", "time": version},
    ]
    return body


def test_a_status_that_changes_is_no_reason_to_compare() -> None:
    known = Known()
    known.take(DEPLOYMENTS, written("1", spec={"replicas": 1}, status={"replicas": 0}))
    known.take_changes()
    before = known.stamp(OWNER.id)

    known.take(DEPLOYMENTS, written("2", spec={"replicas": 1}, status={"replicas": 1}))

    assert known.take_changes().applied == set()
    assert known.stamp(OWNER.id) == before
    assert known.tree(OWNER.id, ()).nodes[0].node.total == 1


@pytest.mark.parametrize(
    "changed",
    [
        written("2", spec={"replicas": 2}),
        written("2", spec={"replicas": 1}, manager="kubectl"),
        applied("Deployment", "web", spec={"replicas": 1}),
    ],
)
def test_whatever_else_changes_is(changed: dict[str, Any]) -> None:
    known = Known()
    known.take(DEPLOYMENTS, written("1", spec={"replicas": 1}))
    known.take_changes()
    before = known.stamp(OWNER.id)

    known.take(DEPLOYMENTS, changed)

    assert known.take_changes().applied == {OWNER.id}
    assert known.stamp(OWNER.id) != before


def test_what_was_there_gone_and_back_is_told_apart() -> None:
    known = Known()
    seen = [known.stamp(OWNER.id)]
    for _ in range(2):
        known.take(CONFIG, applied("ConfigMap", "a"))
        seen.append(known.stamp(OWNER.id))
        known.remove(CONFIG, "uid-a")
        seen.append(known.stamp(OWNER.id))
    known.clear()
    seen.append(known.stamp(OWNER.id))

    assert len(set(seen)) == len(seen)


def test_a_storm_of_new_lists_is_no_reason_to_compare() -> None:
    """A watch that has fallen behind lists everything anew (410): the same is the same."""
    known = Known()
    bodies = [applied("ConfigMap", f"c{number}") for number in range(20)]
    known.take(CONFIG, *bodies)
    known.take_changes()
    before = known.stamp(OWNER.id)

    for _ in range(50):
        known.replace(CONFIG, "", entries.read_all(CONFIG, bodies, READING).entries)

    assert known.take_changes().applied == set()
    assert known.stamp(OWNER.id) == before
