"""Applied objects as they are now, for whoever compares them: read from memory, never asked for.

What is here is what watches said last. A cluster that is not current says nothing: neither that an
object is there nor that it is not.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from volary.clusters.api import discovery
from volary.livestate import packing
from volary.model import json
from volary.model.objects import manifest, object_health, ownership

#: A cluster, and the id of the owner of what changed there.
Change = tuple[str, str]


@dataclass(frozen=True, slots=True)
class KnownObjects:
    """The applied objects of one owner in one cluster at one moment; see `drifts.KnownObjects`."""

    #: Another one as soon as one of them has changed in more than its status.
    stamp: int
    #: Whether they are all that the owner has there, of every kind that its inventories name.
    is_whole: bool
    #: Returns an object as it is kept: a Secret with digests for its values.
    masked: Callable[[json.JsonObject], json.JsonObject]
    packed: Mapping[manifest.ResourceKey, bytes]
    #: The kinds of which everything with our labels is known.
    followed: Collection[discovery.GroupKind]

    @property
    def keys(self) -> Collection[manifest.ResourceKey]:
        """Which objects are there."""
        return self.packed.keys()

    def find(self, key: manifest.ResourceKey) -> json.JsonObject | None:
        """Return an object with its managedFields; None: it is not there, or too large to keep."""
        packed = self.packed.get(key)
        return packing.unpack(packed) if packed else None

    def follows(self, kind: discovery.GroupKind) -> bool:
        """Say whether everything of a kind with our labels is known."""
        return kind in self.followed


class LiveObjects(Protocol):
    """The applied objects of all applications in all clusters (`live_state.LiveState`)."""

    def known_objects(self, cluster: str, owner: ownership.Owner) -> KnownObjects | None:
        """Return the objects that were applied for an owner; None: the cluster is not current."""
        ...

    def is_current(self, cluster: str) -> bool:
        """Say whether a cluster is followed now, and everything wanted of it was listed once.

        A kind that comes into use later is listed then; `KnownObjects.follows` tells of each.
        """
        ...

    async def use_rules(
        self, owners: Iterable[ownership.Owner], rules: Sequence[object_health.Rule]
    ) -> None:
        """Have an application's own rules of health count, before those of the fleet."""
        ...

    def listen(self) -> "Listener":
        """Return a new listener; it hears of what changes from now on."""
        ...


class Listener:
    """Hears which applications' applied objects changed: each once, however often it changed.

    What changes in an object's status alone is not told. It holds at most one entry for each
    application and cluster, so it may be slow. Close it when nobody waits any more.
    """

    def __init__(self, listeners: "set[Listener]") -> None:
        self._listeners = listeners
        self._changed: set[Change] = set()
        self._wake = asyncio.Event()
        listeners.add(self)

    def add(self, changes: Iterable[Change]) -> None:
        """Take what changed."""
        self._changed.update(changes)
        if self._changed:
            self._wake.set()

    async def changed(self) -> frozenset[Change]:
        """Wait until something has changed, and return all that did since the last call.

        When a cluster becomes current, everything that is known there counts as changed.
        """
        await self._wake.wait()
        self._wake.clear()
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def close(self) -> None:
        """Hear nothing any more."""
        self._listeners.discard(self)
