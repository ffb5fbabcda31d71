"""What is known of one cluster: plain bookkeeping, fed by watches, without any waiting.

Applied objects are packed whole, beside what a tree shows of them; of children only that is kept.
Everything is bounded: what comes beyond a bound is left out, and said to be.
"""

import itertools
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from volary.livestate import entries, live_trees, nodes, packing, sources
from volary.livestate.entries import Applied, Entry, Stored
from volary.livestate.nodes import Event, Node
from volary.model import json, phrases
from volary.model.objects import manifest

#: Owners above a child that are looked through for the one that was applied.
_HIGHEST = 12
#: Objects of which events are kept, and how many of each.
_MOST_EVENTS, _EVENTS_EACH = 1000, 3
#: Below this part of a bound there is room again for what was left out.
_ROOM = 0.9
#: Never the same again in this process, whatever becomes of a cluster.
_STAMPS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a cluster is kept."""

    #: Applied objects and children.
    objects: int = 50_000
    #: Bytes of packed objects.
    packed: int = 256 << 20
    inventories: int = 10_000


@dataclass(slots=True)
class Totals:
    """What is kept of all clusters together."""

    most_objects: int = 500_000
    most_packed: int = 1 << 30
    objects: int = 0
    packed: int = 0

    def has_room(self, packed: int, part: float = 1.0) -> bool:
        """Say whether one more object of that size may be kept, within a part of the bounds."""
        has_room = self.objects < self.most_objects * part
        return has_room and self.packed + packed <= self.most_packed * part


@dataclass(slots=True)
class Changes:
    """What has changed since it was taken last."""

    #: Ids of owners whose tree may be another one.
    trees: set[str] = field(default_factory=set)
    #: Ids of owners of whose applied objects one has changed in more than its status.
    applied: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.trees or self.applied)


class ClusterObjects:
    """See the module."""

    def __init__(self, bounds: Bounds | None = None, totals: Totals | None = None) -> None:
        """Make one that shares what all may hold, the `totals`, with others."""
        self._bounds = bounds or Bounds()
        self._totals = totals or Totals()
        self._applied: dict[str, Applied] = {}
        self._children: dict[str, Node] = {}
        self._inventories: dict[str, Stored] = {}
        self._events: OrderedDict[str, tuple[Event, ...]] = OrderedDict()
        #: `uid` of what was applied, by the id of its owner.
        self._of_owner: dict[str, dict[str, None]] = {}
        #: `uid` of children, by that of the object above them.
        self._below: dict[str, dict[str, None]] = {}
        self._inventories_of: dict[str, dict[str, None]] = {}
        self._packed = 0
        #: By owner: when its applied objects changed last; and when those of one without any did.
        self._stamps: dict[str, int] = {}
        self._emptied = next(_STAMPS)
        #: Objects were left out for want of room.
        self._is_cut = False
        self._changes = Changes()
        #: Of inventories, put together; None: to be put together again.
        self._kinds: frozenset[tuple[str, str]] | None = None
        self._namespaces: frozenset[str] | None = None

    # What there is.

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """The kinds that applications have here."""
        if self._kinds is None:
            known = self._inventories.values()
            self._kinds = frozenset(kind for stored in known for kind in stored.kinds)
        return self._kinds

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that applications have objects in."""
        if self._namespaces is None:
            known = self._inventories.values()
            named = {name for stored in known for name in stored.namespaces}
            self._namespaces = frozenset(named - {""})
        return self._namespaces

    @property
    def owners(self) -> Collection[str]:
        """The ids of the applications that have something here."""
        return self._of_owner.keys() | self._inventories_of.keys()

    @property
    def count(self) -> int:
        """Objects that are kept."""
        return len(self._applied) + len(self._children)

    @property
    def has_room_again(self) -> bool:
        """Whether something was left out that would find room now."""
        is_below = self.count < self._bounds.objects * _ROOM
        is_below = is_below and self._packed < self._bounds.packed * _ROOM
        return self._is_cut and is_below and self._totals.has_room(0, _ROOM)

    def warnings(self) -> tuple[str, ...]:
        """Return what is not shown for want of room."""
        if not self._is_cut:
            return ()
        most = phrases.count(self._bounds.objects, "object")
        every = self._totals.most_objects
        return (
            f"more is there than is kept ({most} of one cluster, {every} of all): some of it is"
            " not shown",
        )

    def applied(self, owner: str) -> dict[manifest.ResourceKey, bytes]:
        """Return the applied objects of an owner, packed; empty: it was too large to be kept."""
        return {one.node.key: one.packed for one in self._all_of(owner)}

    def applied_of_kinds(
        self, owner: str, kinds: Collection[tuple[str, str]]
    ) -> tuple[Applied, ...]:
        """Return the applied objects of an owner that are of some kinds."""
        return tuple(one for one in self._all_of(owner) if (one.node.group, one.node.kind) in kinds)

    def stamp(self, owner: str) -> int:
        """Return what is another number whenever the applied objects of an owner changed."""
        return self._stamps.get(owner, self._emptied)

    def kinds_of(self, owner: str) -> frozenset[tuple[str, str]] | None:
        """Return the kinds that an owner has by its inventories; None: there is none."""
        known = [self._inventories[uid] for uid in self._inventories_of.get(owner, ())]
        return frozenset(kind for stored in known for kind in stored.kinds) if known else None

    def find_body(self, owner: str, key: manifest.ResourceKey) -> json.JsonObject | None:
        """Return one applied object of an owner; None: it is not there, or was not kept."""
        for applied in self._all_of(owner):
            if applied.node.key == key:
                return packing.unpack(applied.packed) if applied.packed else None
        return None

    def tree(self, owner: str, listed: Collection[tuple[str, str]]) -> live_trees.LiveTree:
        """Return the tree of an owner; what is missing is known of kinds in `listed` only."""
        applied = [one.node for one in self._all_of(owner)]
        return live_trees.build(
            [*applied, *self._missing(owner, applied, listed)], self._children_of, self._events_of
        )

    def _all_of(self, owner: str) -> Iterator[Applied]:
        return (self._applied[uid] for uid in self._of_owner.get(owner, ()))

    def _children_of(self, uid: str) -> list[Node]:
        return [self._children[child] for child in self._below.get(uid, ())]

    def _events_of(self, uid: str) -> tuple[Event, ...]:
        return self._events.get(uid, ())

    def _missing(
        self, owner: str, applied: Iterable[Node], listed: Collection[tuple[str, str]]
    ) -> Iterator[Node]:
        there = {node.key for node in applied}
        for uid in self._inventories_of.get(owner, ()):
            for reference in entries.references(self._inventories[uid]):
                key = reference.key
                if (key.group, key.kind) in listed and key not in there:
                    there.add(key)
                    yield nodes.missing(key, reference.version)

    # What happens to it.

    def take_changes(self) -> Changes:
        """Return what has changed since this was called last."""
        taken, self._changes = self._changes, Changes()
        return taken

    def mark_all(self) -> None:
        """Count everything as changed."""
        self._changes.trees.update(self.owners)
        for owner in tuple(self.owners):
            self._note(owner)

    def forget_cut(self) -> None:
        """Forget that something was left out: all is listed again."""
        self._is_cut = False

    def keep(self, source: sources.Source, entry: Entry) -> None:
        """Take an object as it is now."""
        match entry:
            case Applied():
                self._keep_applied(entry)
            case Node():
                self._keep_child(entry)
            case Stored():
                self._keep_inventory(entry)
            case Event():
                self._keep_event(entry)

    def exchange(self, before: Applied, after: Applied) -> None:
        """Take what is shown of an object anew, unless it has changed since it was `before`."""
        uid = before.node.uid
        if self._applied.get(uid) is before and before.node != after.node:
            self._applied[uid] = after
            self._changes.trees.add(after.owner)

    def remove(self, source: sources.Source, uid: str) -> None:
        """Take that an object is gone."""
        match source.role:
            case sources.Role.APPLIED:
                self._remove_applied(uid)
            case sources.Role.CHILDREN:
                self._remove_child(uid)
            case sources.Role.INVENTORIES:
                self._remove_inventory(uid)
            case sources.Role.EVENTS:
                # What was said stays worth knowing after the cluster has forgotten it, until the
                # object is gone or others need the room.
                pass

    def replace(self, source: sources.Source, namespace: str, listed: Iterable[Entry]) -> None:
        """Take all there is of a source, in a namespace or (empty) everywhere."""
        gone = self._uids(source, namespace)
        for entry in listed:
            gone.discard(entry.about if isinstance(entry, Event) else _uid(entry))
            self.keep(source, entry)
        for uid in gone:
            self.remove(source, uid)

    def drop(self, source: sources.Source, namespace: str) -> None:
        """Forget what came of a source that is not followed any more."""
        self.replace(source, namespace, ())

    def _uids(self, source: sources.Source, namespace: str) -> set[str]:
        if source.role is sources.Role.INVENTORIES:
            return {
                uid for uid, one in self._inventories.items() if namespace in ("", one.namespace)
            }
        known: Iterable[Node] = ()
        if source.role is sources.Role.APPLIED:
            known = (applied.node for applied in self._applied.values())
        elif source.role is sources.Role.CHILDREN:
            known = self._children.values()
        return {
            node.uid
            for node in known
            if (node.group, node.kind) == (source.group, source.kind)
            and namespace in ("", node.namespace)
        }

    def _keep_applied(self, entry: Applied) -> None:
        uid = entry.node.uid
        before = self._applied.get(uid)
        if before is not None and before.owner != entry.owner:
            self._remove_applied(uid)
            before = None
        if before is None and not self._has_room(len(entry.packed)):
            return
        if before is not None and before.node == entry.node:
            # What is shown is the same, so whoever holds it need not look again.
            entry = Applied(before.node, entry.owner, entry.content, entry.packed)
        else:
            self._changes.trees.add(entry.owner)
        self._count(0 if before else 1, len(entry.packed) - (len(before.packed) if before else 0))
        self._applied[uid] = entry
        self._of_owner.setdefault(entry.owner, {})[uid] = None
        if before is None or before.content != entry.content:
            self._note(entry.owner)

    def _remove_applied(self, uid: str) -> None:
        gone = self._applied.pop(uid, None)
        if gone is None:
            return
        self._count(-1, -len(gone.packed))
        _discard(self._of_owner, gone.owner, uid)
        self._events.pop(uid, None)
        self._changes.trees.add(gone.owner)
        self._note(gone.owner)

    def _note(self, owner: str) -> None:
        self._changes.applied.add(owner)
        if owner in self._of_owner:
            self._stamps[owner] = next(_STAMPS)
        else:
            self._stamps.pop(owner, None)
            self._emptied = next(_STAMPS)

    def _keep_child(self, node: Node) -> None:
        before = self._children.get(node.uid)
        if before == node:
            return
        if before is None and not self._has_room(0):
            return
        if before is not None and before.owner != node.owner:
            self._remove_child(node.uid)
        self._count(0 if node.uid in self._children else 1, 0)
        self._children[node.uid] = node
        self._below.setdefault(node.owner, {})[node.uid] = None
        self._mark_above(node.uid)

    def _remove_child(self, uid: str) -> None:
        if uid not in self._children:
            return
        self._mark_above(uid)
        gone = self._children.pop(uid)
        self._count(-1, 0)
        _discard(self._below, gone.owner, uid)
        self._events.pop(uid, None)

    def _keep_inventory(self, stored: Stored) -> None:
        before = self._inventories.get(stored.uid)
        if before == stored:
            return
        if before is None and len(self._inventories) >= self._bounds.inventories:
            self._is_cut = True
            return
        if before is not None and before.owner != stored.owner:
            self._remove_inventory(stored.uid)
        self._inventories[stored.uid] = stored
        self._inventories_of.setdefault(stored.owner, {})[stored.uid] = None
        self._changes.trees.add(stored.owner)
        self._kinds = self._namespaces = None

    def _remove_inventory(self, uid: str) -> None:
        gone = self._inventories.pop(uid, None)
        if gone is None:
            return
        _discard(self._inventories_of, gone.owner, uid)
        self._changes.trees.add(gone.owner)
        self._kinds = self._namespaces = None

    def _keep_event(self, event: Event) -> None:
        known = self._events.get(event.about, ())
        others = [one for one in known if one.reason != event.reason]
        ordered = sorted([event, *others], key=_recency, reverse=True)
        kept = tuple(ordered[:_EVENTS_EACH])
        if kept == known:
            return
        self._events[event.about] = kept
        self._events.move_to_end(event.about)
        while len(self._events) > _MOST_EVENTS:
            self._events.popitem(last=False)
        self._mark_above(event.about)

    def _has_room(self, packed: int) -> bool:
        is_below = self.count < self._bounds.objects
        is_below = is_below and self._packed + packed <= self._bounds.packed
        if is_below and self._totals.has_room(packed):
            return True
        self._is_cut = True
        return False

    def _count(self, added: int, packed: int) -> None:
        self._packed += packed
        self._totals.objects += added
        self._totals.packed += packed

    def clear(self) -> None:
        """Forget everything: the cluster is not there any more."""
        self._totals.objects -= self.count
        self._totals.packed -= self._packed
        self._applied.clear()
        self._of_owner.clear()
        self._stamps.clear()
        self._emptied = next(_STAMPS)
        self._children.clear()
        self._packed = 0

    def _mark_above(self, uid: str) -> None:
        """Count the tree as changed that an object is in, if it is in one."""
        for _ in range(_HIGHEST):
            applied = self._applied.get(uid)
            if applied is not None:
                self._changes.trees.add(applied.owner)
                return
            child = self._children.get(uid)
            if child is None:
                return
            uid = child.owner


def _uid(entry: Applied | Node | Stored) -> str:
    return entry.node.uid if isinstance(entry, Applied) else entry.uid


def _recency(event: Event) -> float:
    return event.last_seen.timestamp() if event.last_seen else 0.0


def _discard(index: dict[str, dict[str, None]], key: str, uid: str) -> None:
    below = index.get(key)
    if below is not None:
        below.pop(uid, None)
        if not below:
            del index[key]
