"""What somebody who works with many clusters is given: one client for each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from volary.clusters.client import actors, clients
from volary.model import clocks, errors
from volary.model.fleet import fleets


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A cluster without a client, and why."""

    name: str
    #: One sentence.
    reason: str
    #: What the user has to mend; empty when it is not in the user's files.
    problems: tuple[errors.Problem, ...] = ()


class FleetClients(Protocol):
    """One client per cluster of a fleet, all on behalf of the same."""

    @property
    def fleet(self) -> fleets.Fleet:
        """The clusters, as they are now."""
        ...

    @property
    def clock(self) -> clocks.Clock:
        """Tells when something was read."""
        ...

    @property
    def fleet_wide(self) -> "FleetClients":
        """The clients of the server itself, for what is read of a cluster as a whole."""
        ...

    def acting_for(self, actor: actors.Actor) -> "FleetClients":
        """Return clients that work on somebody's behalf."""
        ...

    def member(self, name: str) -> fleets.Cluster | None:
        """Return the cluster as the fleet describes it."""
        ...

    def remember(self, members: Iterable[fleets.Cluster]) -> None:
        """Know how to reach clusters that left the fleet, as somebody remembers them."""
        ...

    async def client(self, name: str) -> clients.Client | Unavailable:
        """Return the client of a cluster; nothing has been sent yet when it is new."""
        ...
