"""Applied objects as they are now, for whoever compares them: read from memory, never asked for.

What is here is what watches said last. A cluster that is not `is_current` says nothing: neither
that an object is there nor that it is not.
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from volary.model import json
from volary.model.objects import manifest, ownership

#: A cluster, and the id of the owner of what changed there.
Change = tuple[str, str]


class LiveObjects(Protocol):
    """The applied objects of all applications in all clusters (`live_state.LiveState`)."""

    def bodies(self, cluster: str, owner: ownership.Owner) -> tuple[json.JsonObject, ...]:
        """Return the objects that were applied for an owner, with their managedFields.

        Values of Secrets are digests (`masked`). One that was too large to be kept is left out,
        and `missing_bodies` names it.
        """
        ...

    def missing_bodies(
        self, cluster: str, owner: ownership.Owner
    ) -> tuple[manifest.ResourceKey, ...]:
        """Return the objects that are there and are not among `bodies`: only that is known."""
        ...

    def masked(self, body: json.JsonObject) -> json.JsonObject:
        """Return an object as `bodies` would have it: a Secret with digests for its values.

        Equal values have equal digests as long as this process lives. ``stringData`` becomes
        ``data``. Other objects are returned as they are.
        """
        ...

    def is_current(self, cluster: str) -> bool:
        """Say whether a cluster is followed now, and everything wanted of it was listed once.

        A kind that comes into use later is listed then; `follows` tells of each.
        """
        ...

    def why_stale(self, cluster: str) -> str:
        """Return why what is known of a cluster may be old, one sentence; empty: it is current."""
        ...

    def follows(self, cluster: str, group: str, kind: str) -> bool:
        """Say whether what is here of a kind is all that there is of it with our labels."""
        ...

    def listen(self) -> "Listener":
        """Return a new listener; it hears of what changes from now on."""
        ...


class Listener:
    """Hears which applications' applied objects changed: each once, however often it changed.

    It holds at most one entry for each application and cluster, so it may be slow. Close it when
    nobody waits any more.
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
