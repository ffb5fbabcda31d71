"""The tree of one application in one cluster: parents before their children. Pure.

What an object owns is found by its uid in ownerReferences, as the garbage collector of Kubernetes
finds it: in the same namespace, or of an owner that belongs to the whole cluster. Nobody makes
another namespace's pod appear here, or hides one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from volary.livestate.nodes import Event, Node
from volary.manifests.health import fleet_status
from volary.model import phrases
from volary.model.objects import object_health
from volary.model.statuses import HealthStatus

#: Nodes of a tree; more of them are counted and not shown.
MOST_NODES = 5000
#: What is owned by what is owned …: deeper than any controller goes.
_DEEPEST = 12
_NAMED = 3
ChildrenOf = Callable[[str], Sequence[Node]]
EventsOf = Callable[[str], tuple[Event, ...]]


_NOTHING = object_health.Health(HealthStatus.MISSING, "nothing of it is there")


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One object in its place."""

    node: Node
    #: `uid` of the object above it; empty: it is at the top.
    parent: str
    #: Of all pods below it, or its own.
    restarts: int
    #: Its own, or that of the object above it.
    variant: str = ""
    #: Of what is not healthy.
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveTree:
    """An application's objects in one cluster."""

    nodes: tuple[TreeNode, ...] = ()
    #: Nodes beyond the bound.
    omitted: int = 0
    health: object_health.Health = _NOTHING
    #: Pods of the workloads that were applied.
    ready: int = 0
    total: int = 0


def build(
    applied: Iterable[Node],
    children_of: ChildrenOf,
    events_of: EventsOf = lambda _: (),
    *,
    most: int = MOST_NODES,
) -> LiveTree:
    """Return the tree of what was applied, and of what is owned by it.

    Args:
        applied: What was applied, and what is missing of it.
        children_of: Returns what names a uid as its owner.
        events_of: Returns what was said of a uid; asked for what is not healthy.
        most: Nodes that are shown; those at the top come before others of equal depth.
    """
    ordered = sorted(applied, key=lambda node: (node.key, node.uid))
    by_uid = {node.uid: node for node in ordered}
    roots = [node for node in ordered if not _has_parent(node, by_uid)]
    builder = _Builder(children_of, events_of, by_uid)
    for root in roots:
        builder.add(root)
    # Two that own each other have no top; they are shown all the same.
    for node in ordered:
        builder.add(node)
    shown, omitted = _bounded(builder.ended, most)
    return LiveTree(
        nodes=shown,
        omitted=omitted + builder.too_deep,
        health=_health(ordered),
        ready=sum(node.ready for node in ordered if _counts(node)),
        total=sum(node.total for node in ordered if _counts(node)),
    )


def _has_parent(node: Node, by_uid: dict[str, Node]) -> bool:
    parent = by_uid.get(node.owner)
    return parent is not None and parent is not node and _may_own(parent, node)


def _may_own(owner: Node, owned: Node) -> bool:
    return owner.namespace in ("", owned.namespace)


def _counts(node: Node) -> bool:
    """Say whether an applied object's numbers are pods; those of a pod are its containers."""
    return node.kind not in ("Pod", "EndpointSlice")


class _Builder:
    """Puts nodes in their order, each once."""

    def __init__(
        self, children_of: ChildrenOf, events_of: EventsOf, applied: dict[str, Node]
    ) -> None:
        self._children_of = children_of
        self._events_of = events_of
        self._applied_below: dict[str, list[Node]] = {}
        for node in applied.values():
            if _has_parent(node, applied):
                self._applied_below.setdefault(node.owner, []).append(node)
        self._seen: set[str] = set()
        #: With the depth of each.
        self.ended: list[tuple[TreeNode, int]] = []
        self.too_deep = 0

    def add(self, node: Node, parent: str = "", variant: str = "", depth: int = 0) -> int:
        """Add a node and what is below it; returns how often their containers were restarted."""
        if node.uid in self._seen:
            return 0
        if depth > _DEEPEST:
            self.too_deep += 1
            return 0
        self._seen.add(node.uid)
        place = len(self.ended)
        variant = node.variant or variant
        self.ended.append((TreeNode(node, parent, 0), depth))
        restarts = node.restarts
        for child in self._below(node):
            restarts += self.add(child, node.uid, variant, depth + 1)
        is_fine = node.health is HealthStatus.HEALTHY
        events = () if is_fine else self._events_of(node.uid)
        self.ended[place] = (TreeNode(node, parent, restarts, variant, events), depth)
        return restarts

    def _below(self, node: Node) -> Iterator[Node]:
        below = [
            *self._applied_below.get(node.uid, ()),
            *(child for child in self._children_of(node.uid) if _may_own(node, child)),
        ]
        # The newest revision first, then by name.
        yield from sorted(below, key=lambda child: (child.kind, -_moment(child), child.name))


def _moment(node: Node) -> float:
    return node.created.timestamp() if node.created and node.kind == "ReplicaSet" else 0.0


def _bounded(ended: Sequence[tuple[TreeNode, int]], most: int) -> tuple[tuple[TreeNode, ...], int]:
    """Return at most so many nodes, never one without its parent; and how many are left out."""
    if len(ended) <= most:
        return tuple(node for node, _ in ended), 0
    # A stable order: what is higher comes first, and below that what stands earlier.
    kept = sorted(range(len(ended)), key=lambda place: ended[place][1])[:most]
    return tuple(ended[place][0] for place in sorted(kept)), len(ended) - most


def _health(applied: Sequence[Node]) -> object_health.Health:
    """Return the worst health of what was applied."""
    if not applied:
        return _NOTHING
    worst = min((node.health for node in applied), key=fleet_status.SEVERITY.index)
    if worst is HealthStatus.HEALTHY:
        return object_health.Health(worst, f"{phrases.count(len(applied), 'object')} healthy")
    named = [f"{node.key.title}: {node.reason}" for node in applied if node.health is worst]
    return object_health.Health(worst, phrases.first_of(named, _NAMED, "; "))
