"""The objects of one cluster, their common resourceVersion, and what changed lately.

Objects are kept once and never changed in place: a write replaces an object by
another that may share most of its parts. Kinds are told apart by their bucket
(`kinds.Kind.bucket`); versions of a kind share one.

Everything here is synchronous, so whoever runs on the event loop sees and makes
changes atomically.
"""

import bisect
import collections
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kube_sandbox import json

#: (namespace, name); the namespace is empty for cluster-scoped objects.
Key = tuple[str, str]


class Event(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class ExpiredError(Exception):
    """The history does not reach back so far."""

    def __init__(self, wanted: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {wanted} ({oldest})")
        self.wanted = wanted
        self.oldest = oldest


class Item:
    """One state of one object, with room for its encoded forms."""

    __slots__ = ("body", "current", "encoded", "key", "revision")

    def __init__(self, key: Key, revision: int, body: json.JsonObject) -> None:
        self.key = key
        self.revision = revision
        #: Read only; ``metadata.resourceVersion`` is `revision`.
        self.body = body
        #: False once there is a newer state: then encoded forms are not worth keeping.
        self.current = True
        #: JSON as served, by api version; filled by who serves it.
        self.encoded: dict[str, bytes] = {}

    def retire(self) -> None:
        """Note that there is a newer state."""
        self.current = False
        self.encoded = {}


@dataclass(frozen=True, slots=True)
class Change:
    """One write as watchers see it."""

    event: Event
    bucket: str
    #: The new state; for DELETED the last one, at the revision of the deletion.
    item: Item
    #: The state before; None for ADDED.
    previous: Item | None

    @property
    def revision(self) -> int:
        """The resourceVersion of the change."""
        return self.item.revision


Subscriber = Callable[[Change], None]


class _Bucket:
    __slots__ = ("history", "items", "keys", "oldest")

    def __init__(self, oldest: int) -> None:
        self.items: dict[Key, Item] = {}
        #: Sorted, as the real store lists them.
        self.keys: list[Key] = []
        self.history: collections.deque[Change] = collections.deque()
        #: Changes after this revision are all in `history`.
        self.oldest = oldest


def stamped(body: json.JsonObject, revision: int) -> json.JsonObject:
    """Return `body` with that resourceVersion; the rest is shared."""
    metadata: dict[str, Any] = {**body["metadata"], "resourceVersion": str(revision)}
    return {**body, "metadata": metadata}


def _slice(keys: Sequence[Key], namespace: str, after: Key | None) -> Sequence[Key]:
    """Cut sorted keys down to a namespace and to those behind `after`."""
    start = bisect.bisect_right(keys, after) if after else 0
    if not namespace:
        return keys[start:] if start else keys
    start = max(start, bisect.bisect_left(keys, (namespace, "")))
    return keys[start : bisect.bisect_left(keys, (f"{namespace}\0", ""))]


class Storage:
    """All objects of a cluster.

    Args:
        history: How many changes per kind watchers may fall behind (then: 410).
        first_revision: The resourceVersion before the first write.
    """

    def __init__(self, *, history: int = 512, first_revision: int = 100) -> None:
        self._history = history
        self._revision = first_revision
        self._buckets: dict[str, _Bucket] = {}
        self._subscribers: dict[int, Subscriber] = {}
        self._next_subscriber = 0
        #: All buckets know everything after this revision, until they forget.
        #: The first ones are gone as well, as in a cluster that has run for a while.
        self._forgotten = first_revision

    @property
    def revision(self) -> int:
        """The resourceVersion of the last write in the cluster."""
        return self._revision

    @property
    def buckets(self) -> Iterable[str]:
        """The buckets something was ever written to."""
        return self._buckets

    def _bucket(self, name: str) -> _Bucket:
        found = self._buckets.get(name)
        if found is None:
            found = self._buckets[name] = _Bucket(self._forgotten)
        return found

    def get(self, bucket: str, namespace: str, name: str) -> Item | None:
        """Return an object, or None."""
        found = self._buckets.get(bucket)
        return found.items.get((namespace, name)) if found else None

    def count(self, bucket: str) -> int:
        """Return how many objects a bucket holds."""
        found = self._buckets.get(bucket)
        return len(found.items) if found else 0

    def list(self, bucket: str, namespace: str = "", *, after: Key | None = None) -> Sequence[Item]:
        """Return the objects sorted by namespace and name; without namespace all.

        Args:
            bucket: The kind.
            namespace: Only objects of this namespace; empty: of all, and cluster-scoped ones.
            after: Only objects behind this key (pagination).
        """
        found = self._buckets.get(bucket)
        if found is None:
            return []
        items = found.items
        return [items[key] for key in _slice(found.keys, namespace, after)]

    def list_at(
        self, bucket: str, namespace: str, revision: int, *, after: Key | None = None
    ) -> Sequence[Item]:
        """Return the objects as they were at `revision`, by undoing what came later.

        Raises:
            ExpiredError: The history does not reach back so far.
        """
        changes = self.since(bucket, revision)
        if not changes:
            return self.list(bucket, namespace, after=after)
        items = dict(self._bucket(bucket).items)
        for change in reversed(changes):
            if change.previous is None:
                items.pop(change.item.key, None)
            else:
                items[change.item.key] = change.previous
        return [items[key] for key in _slice(sorted(items), namespace, after)]

    def put(self, bucket: str, namespace: str, name: str, body: json.JsonObject) -> Item:
        """Create or replace an object; `body` is kept, with the new resourceVersion.

        The caller has decided about conflicts; nothing is checked here.
        """
        found = self._bucket(bucket)
        key = (namespace, name)
        previous = found.items.get(key)
        self._revision += 1
        item = Item(key, self._revision, stamped(body, self._revision))
        found.items[key] = item
        if previous is None:
            bisect.insort(found.keys, key)
        else:
            previous.retire()
        event = Event.MODIFIED if previous else Event.ADDED
        self._record(found, Change(event, bucket, item, previous))
        return item

    def remove(self, bucket: str, namespace: str, name: str) -> Item | None:
        """Delete an object; return its last state at the revision of the deletion, or None."""
        found = self._buckets.get(bucket)
        key = (namespace, name)
        previous = found.items.pop(key, None) if found else None
        if found is None or previous is None:
            return None
        previous.retire()
        del found.keys[bisect.bisect_left(found.keys, key)]
        self._revision += 1
        item = Item(key, self._revision, stamped(previous.body, self._revision))
        item.retire()
        self._record(found, Change(Event.DELETED, bucket, item, previous))
        return item

    def _record(self, bucket: _Bucket, change: Change) -> None:
        history = bucket.history
        history.append(change)
        while len(history) > self._history:
            bucket.oldest = history.popleft().revision
        for subscriber in list(self._subscribers.values()):
            subscriber(change)

    def since(self, bucket: str, revision: int) -> Sequence[Change]:
        """Return a bucket's changes after `revision`, oldest first.

        Raises:
            ExpiredError: Some of them are no longer known.
        """
        found = self._bucket(bucket)
        if revision < found.oldest:
            raise ExpiredError(revision, found.oldest)
        return [each for each in found.history if each.revision > revision]

    def forget(self) -> None:
        """Drop all history, as compaction does: older resourceVersions answer 410 from now on."""
        self._forgotten = self._revision
        for bucket in self._buckets.values():
            bucket.history.clear()
            bucket.oldest = self._revision

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with every change from now on, at once and in order.

        It must not raise and not block; it may write (its change follows later ones
        out of order for others only if it does so directly, so defer writes).

        Returns:
            A function that ends the subscription.
        """
        self._next_subscriber += 1
        number = self._next_subscriber
        self._subscribers[number] = subscriber

        def unsubscribe() -> None:
            self._subscribers.pop(number, None)

        return unsubscribe
