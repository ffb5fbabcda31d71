"""What ``volary get app NAME --tree`` says of objects that are not as Git says."""

from datetime import UTC, datetime
from typing import Any

from volary.cli.remote import application_tree

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HEALTHY = {"status": "healthy", "reason": ""}


def node(kind: str, name: str, drift: str) -> dict[str, Any]:
    return {
        "uid": f"uid-{name}",
        "parent": "",
        "group": "",
        "kind": kind,
        "namespace": "web",
        "name": name,
        "health": HEALTHY,
        "created": None,
        "ready": 0,
        "total": 0,
        "restarts": 0,
        "images": [],
        "drift": drift,
        "node": "",
        "events": [],
    }


def cluster(name: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "staleReason": "",
        "warnings": [],
        "health": HEALTHY,
        "ready": 0,
        "total": 0,
        "omitted": 0,
        "nodes": list(nodes),
    }


def lines(*clusters: dict[str, Any]) -> list[str]:
    return list(application_tree.lines({"application": "shop", "clusters": list(clusters)}, NOW))


def test_in_one_cluster_each_object_says_how_it_compares_with_git() -> None:
    shown = lines(
        cluster(
            "us",
            node("ConfigMap", "plain", "inSync"),
            node("ConfigMap", "edited", "differs"),
            node("ConfigMap", "old", "extra"),
            node("ConfigMap", "unseen", "unknown"),
        )
    )

    def said(name: str) -> str:
        return next(line for line in shown if f"web/{name}" in line)

    assert "not as Git says" in said("edited")
    assert "not in Git" in said("old")
    assert [name for name in ("plain", "unseen") if "Git" in said(name)] == []


def test_over_clusters_those_that_differ_are_counted() -> None:
    us = cluster("us", node("ConfigMap", "a", "differs"), node("ConfigMap", "b", "inSync"))
    eu = cluster("eu", node("ConfigMap", "a", "inSync"), node("ConfigMap", "b", "inSync"))

    a, b = [line for line in lines(us, eu) if "ConfigMap" in line]

    assert a.endswith("2 healthy; 1 not as Git says")
    assert b.endswith("2 healthy")


def test_who_follows_a_tree_is_told_of_an_object_when_there_is_something_new_to_say() -> None:
    before = {"us": cluster("us", node("ConfigMap", "a", ""), node("ConfigMap", "b", ""))}
    compared = cluster(
        "us",
        node("ConfigMap", "a", "inSync"),
        node("ConfigMap", "b", "differs"),
        node("ConfigMap", "c", "inSync"),
    )

    told = list(application_tree.changes(before, {"removed": [], "cluster": compared}))
    again = list(application_tree.changes({"us": compared}, {"removed": [], "cluster": compared}))
    gone = list(
        application_tree.changes({"us": compared}, {"removed": ["uid-a"], "cluster": cluster("us")})
    )

    assert told == [
        "us  ConfigMap web/b  healthy  not as Git says",
        "us  ConfigMap web/c  healthy  ",
    ]
    assert again == []
    assert gone == ["us  ConfigMap web/a  is gone"]
