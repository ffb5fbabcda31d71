"""What may go wrong on purpose between a client and a cluster's API.

The server asks a `Disturbance` before it answers; `faults` implements it. Here
is only the agreement and the one that never disturbs.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from volary.sandbox import status


@dataclass(frozen=True, slots=True)
class Call:
    """A request, as far as faults choose by it."""

    #: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``,
    #: ``deletecollection``; for paths that are no resource the HTTP method in lower case.
    verb: str
    path: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""


class DisconnectError(Exception):
    """Raised by a disturbance: close the connection without an answer."""


class Disturbance(Protocol):
    """Faults that are switched on for a cluster."""

    async def before(self, call: Call) -> status.StatusError | None:
        """Wait as long as the request shall be delayed; return an error to answer with.

        An error's Status with ``details.retryAfterSeconds`` also sets the Retry-After header.

        Raises:
            DisconnectError: Hang up instead.
        """
        ...

    def watch_cut(self, call: Call) -> asyncio.Event:
        """Return an event that, once set, ends this watch in mid-stream."""
        ...


class Undisturbed:
    """Nothing goes wrong."""

    async def before(self, call: Call) -> status.StatusError | None:
        """Answer at once."""
        return None

    def watch_cut(self, call: Call) -> asyncio.Event:
        """Return an event nobody sets."""
        return asyncio.Event()
