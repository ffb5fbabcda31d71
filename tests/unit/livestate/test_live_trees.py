"""Trees: parents before children, each object once, nothing of another namespace, bounded."""

from datetime import UTC, datetime, timedelta

from volary.livestate import live_trees, nodes
from volary.model.statuses import HealthStatus

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def node(uid: str, kind: str, owner: str = "", **more: object) -> nodes.Node:
    given = {
        "group": "apps",
        "version": "v1",
        "namespace": "shop",
        "name": uid,
        "health": HealthStatus.HEALTHY,
        "reason": "ready",
        **more,
    }
    return nodes.Node(uid=uid, owner=owner, kind=kind, **given)  # type: ignore[arg-type]


def build(*applied: nodes.Node, below: tuple[nodes.Node, ...] = (), **more: object):
    def children_of(uid: str) -> list[nodes.Node]:
        return [one for one in below if one.owner == uid]

    return live_trees.build(applied, children_of, **more)  # type: ignore[arg-type]


def shape(tree: live_trees.LiveTree) -> list[tuple[str, str]]:
    return [(placed.parent, placed.node.uid) for placed in tree.nodes]


def test_parents_come_before_their_children() -> None:
    tree = build(
        node("web", "Deployment", ready=1, total=1, variant="canary"),
        below=(
            node("pod", "Pod", "set", restarts=3, ready=1, total=1),
            node("set", "ReplicaSet", "web"),
        ),
    )

    assert shape(tree) == [("", "web"), ("web", "set"), ("set", "pod")]
    assert [placed.restarts for placed in tree.nodes] == [3, 3, 3]
    assert {placed.variant for placed in tree.nodes} == {"canary"}
    assert (tree.ready, tree.total) == (1, 1)


def test_the_newest_revision_comes_first() -> None:
    tree = build(
        node("web", "Deployment"),
        below=(
            node("old", "ReplicaSet", "web", created=NOON),
            node("new", "ReplicaSet", "web", created=NOON + timedelta(hours=1)),
        ),
    )

    assert shape(tree)[1:] == [("web", "new"), ("web", "old")]


def test_nothing_of_another_namespace_hangs_below() -> None:
    tree = build(
        node("web", "Deployment"), below=(node("forged", "Pod", "web", namespace="theirs"),)
    )

    assert shape(tree) == [("", "web")]


def test_an_applied_object_stands_below_the_applied_one_that_owns_it() -> None:
    tree = build(node("a-made", "Service", "canary"), node("canary", "Canary"))

    assert shape(tree) == [("", "canary"), ("canary", "a-made")]


def test_two_that_own_each_other_are_both_shown_once() -> None:
    tree = build(node("one", "Service", "two"), node("two", "Service", "one"))

    assert shape(tree) == [("", "one"), ("one", "two")]


def test_a_chain_without_end_is_cut() -> None:
    chain = tuple(node(f"n{number}", "Pod", f"n{number - 1}") for number in range(1, 100))

    tree = build(node("n0", "Deployment"), below=chain)

    assert len(tree.nodes) == 13
    assert tree.omitted == 1


def test_beyond_the_bound_what_is_deepest_is_left_out() -> None:
    tree = build(
        node("a", "Deployment"),
        node("b", "Deployment"),
        below=(*(node(f"a{number}", "Pod", "a") for number in range(5)),),
        most=4,
    )

    assert shape(tree) == [("", "a"), ("a", "a0"), ("a", "a1"), ("", "b")]
    assert tree.omitted == 3


def test_the_worst_health_of_what_was_applied_is_that_of_the_whole() -> None:
    event = nodes.Event("web", "Warning", "FailedCreate", "quota", 2, NOON)
    tree = build(
        node("web", "Deployment", health=HealthStatus.DEGRADED, reason="no pods"),
        node("settings", "ConfigMap"),
        events_of=lambda _: (event,),
    )

    assert (tree.health.status, tree.health.reason) == (
        HealthStatus.DEGRADED,
        "Deployment shop/web: no pods",
    )
    assert {placed.node.uid: placed.events for placed in tree.nodes} == {
        "web": (event,),
        "settings": (),
    }


def test_nothing_is_missing() -> None:
    assert build().health.status is HealthStatus.MISSING
