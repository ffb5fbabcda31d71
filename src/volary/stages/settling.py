"""The moment between a change of routes and the end of the pods they led to.

Proxies follow routes and endpoints late, and not in one order: a mesh's control plane gathers
changes for a while, Traefik for two seconds. A variant whose pods went at once would still
be sent requests. Only what this process did is known: after a restart that moment has passed.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta


@dataclass(slots=True)
class Settling:
    """When the routes on one cluster were changed last in this run."""

    patience: timedelta = timedelta(0)
    _changed: float | None = None

    def note(self) -> None:
        """Routes were changed just now."""
        self._changed = asyncio.get_running_loop().time()

    @property
    def left(self) -> timedelta:
        """How long it takes until every proxy may be expected to have followed."""
        if self._changed is None:
            return timedelta(0)
        passed = asyncio.get_running_loop().time() - self._changed
        return max(timedelta(0), self.patience - timedelta(seconds=passed))
