"""A pod belongs to whoever made it, whatever its labels say."""

from typing import Any

import pytest

from volary.manifests.workloads import pod_owners

LABELS = {"app": "web"}


def body(
    kind: str, name: str, owner: Any = None, *, labels: Any = None, **more: Any
) -> dict[str, Any]:
    """An object whose uid is its name; its owner is its controller."""
    metadata: dict[str, Any] = {"name": name, "uid": name, "labels": {**LABELS, **(labels or {})}}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    return {"kind": kind, "metadata": metadata, **more}


def pod(name: str, owner: str = "", **labels: str) -> dict[str, Any]:
    return body("Pod", name, owner, labels=labels)


def template(image: str, **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "web", "image": image}]}
    return {"spec": {"template": {"metadata": {"labels": {**LABELS, **labels}}, "spec": spec}}}


def names(found: list[Any]) -> list[str]:
    return [each["metadata"]["name"] for each in found]


def test_pods_of_a_deployment_are_those_of_its_newest_replica_set() -> None:
    web = body("Deployment", "web", **template("web:v2"))
    between = [
        body("ReplicaSet", "web-1", "web", **template("web:v1", **{"pod-template-hash": "1"})),
        body("ReplicaSet", "web-2", "web", **template("web:v2", **{"pod-template-hash": "2"})),
        body("ReplicaSet", "other-2", "other", **template("web:v2", **{"pod-template-hash": "2"})),
        body("ReplicaSet", "by-hand", **template("web:v2")),
    ]
    pods = [
        pod("old", "web-1"),
        pod("new", "web-2"),
        pod("of-another-application", "other-2"),
        pod("of-a-replica-set-of-nobody", "by-hand"),
        pod("of-a-tool", "some-uid"),
        pod("of-nobody"),
    ]

    assert names(pod_owners.owned(web, between, pods)) == ["new"]


def test_an_owner_that_is_no_controller_made_nothing() -> None:
    job = body("Job", "web")
    held = pod("held")
    held["metadata"]["ownerReferences"] = [{"uid": "web"}]

    assert pod_owners.owned(job, [], [held]) == []


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (2, ["new"]),
        # Its controller has not seen the new template, and calls an old one the newest.
        (1, []),
    ],
)
def test_pods_of_a_stateful_set_are_those_of_its_newest_revision(
    observed: int, expected: list[str]
) -> None:
    status = {"observedGeneration": observed, "updateRevision": "db-2"}
    database = body("StatefulSet", "db", status=status)
    database["metadata"]["generation"] = 2
    pods = [
        pod("old", "db", **{"controller-revision-hash": "db-1"}),
        pod("new", "db", **{"controller-revision-hash": "db-2"}),
        pod("other", "db-of-another", **{"controller-revision-hash": "db-2"}),
    ]

    assert names(pod_owners.owned(database, [], pods)) == expected


def test_pods_of_a_daemon_set_are_those_of_its_newest_revision() -> None:
    hashes = [{"controller-revision-hash": name} for name in ("back", "old", "other")]
    back, old, other = hashes
    between = [
        # A template that came back has the highest number again.
        body("ControllerRevision", "a", "agent", labels=back, revision=3),
        body("ControllerRevision", "b", "agent", labels=old, revision=2),
        body("ControllerRevision", "c", "another", labels=other, revision=9),
    ]
    pods = [pod("p1", "agent", **back), pod("p2", "agent", **old), pod("p3", "agent", **other)]

    assert names(pod_owners.owned(body("DaemonSet", "agent"), between, pods)) == ["p1"]


def test_what_has_no_uid_owns_nothing() -> None:
    assert pod_owners.owned({"kind": "Job"}, [], [pod("of-nobody")]) == []


@pytest.mark.parametrize(
    ("kind", "owner", "expected"),
    [
        ("Deployment", {"kind": "ReplicaSet", "name": "web-5f", "uid": "r"}, True),
        ("Deployment", {"kind": "ReplicaSet", "name": "web-canary-5f", "uid": "r"}, False),
        ("Deployment", {"kind": "ReplicaSet", "name": "web-6a", "uid": "r"}, False),
        ("Deployment", {"kind": "Tool", "name": "web-5f", "uid": "r"}, False),
        ("Deployment", {}, False),
        ("StatefulSet", {"kind": "StatefulSet", "name": "web", "uid": "web"}, True),
        ("StatefulSet", {"kind": "StatefulSet", "name": "web", "uid": "before"}, False),
        ("CloneSet", {"kind": "CloneSet", "name": "web", "uid": "web"}, True),
    ],
)
def test_whose_a_pod_can_be_as_far_as_it_tells(
    kind: str, owner: dict[str, str], expected: bool
) -> None:
    made = pod("p", **{"pod-template-hash": "5f"})
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}] if owner else []

    assert pod_owners.may_own(body(kind, "web"), made) is expected
