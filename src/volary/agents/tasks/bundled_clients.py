"""The client of one cluster for the tasks of a bundle: as whom, and what of it may be written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from volary.agents.tasks import bundles
from volary.clusters.client import actors, clients, fleet_clients, project_writes, write_rules
from volary.model import clocks
from volary.model.fleet import fleets


@dataclass(frozen=True, slots=True)
class _Reader:
    """Who bundles read for: the same for all of one project, which share what watches tell."""

    title: str
    known_as: actors.Identity

    def identity(self) -> actors.Identity:
        """Return how the cluster knows it."""
        return self.known_as

    def refusal(self, _: fleets.Cluster, __: write_rules.Write) -> str:
        """Return why nothing is written: each bundle writes by its own rule."""
        return "nothing is written here but for a run"

    def __hash__(self) -> int:
        """Return the same for equal ones; what is said besides the user cannot be hashed."""
        who = self.known_as.impersonation
        return hash((self.title, self.known_as.kubeconfig, who and who.user))


class BundledClients:
    """One cluster, described as in the bundle, and reached as this process does.

    It is written to for the application's project, within what is permitted here.
    """

    def __init__(
        self,
        bundle: bundles.Bundle,
        own: fleet_clients.FleetClients,
        rule: Callable[[write_rules.Write], str],
    ) -> None:
        self._bundle = bundle
        self._own = own
        #: Asked first: it is the cluster's owner who speaks.
        self._permitted = rule
        title = f"project {bundle.project}" if bundle.project else "the controller"
        self._reading = own.acting_for(_Reader(title, bundle.identity))
        #: The client that writes for the bundle, and the one that it is made from.
        self._writing: tuple[clients.Client, clients.Client] | None = None

    @property
    def fleet(self) -> fleets.Fleet:
        """The cluster alone, with the fleet's rules of health."""
        return fleets.Fleet((self._bundle.cluster,), health=self._bundle.health)

    @property
    def clock(self) -> clocks.Clock:
        """Tells when something was read."""
        return self._own.clock

    @property
    def fleet_wide(self) -> fleet_clients.FleetClients:
        """The clients of this process itself, which write nothing."""
        return self._own

    def acting_for(self, actor: actors.Actor) -> fleet_clients.FleetClients:
        """Return the clients of somebody else."""
        return self._own.acting_for(actor)

    def member(self, name: str) -> fleets.Cluster | None:
        """Return the cluster as the bundle describes it."""
        return self._bundle.cluster if name == self._bundle.cluster.name else None

    def remember(self, members: Iterable[fleets.Cluster]) -> None:
        """Know no other clusters."""

    async def client(self, name: str) -> clients.Client | fleet_clients.Unavailable:
        """Return the client of the cluster."""
        if name != self._bundle.cluster.name:
            return fleet_clients.Unavailable(name, f"cluster {name} is not that of the bundle")
        reading = await self._reading.client(name)
        if isinstance(reading, fleet_clients.Unavailable):
            return reading
        if self._writing is None or self._writing[1] is not reading:
            self._writing = reading.writing_by(self._refusal), reading
        return self._writing[0]

    def _refusal(self, write: write_rules.Write) -> str:
        """Return why a write may not be sent to the cluster, a sentence; empty: it may."""
        refusal = self._permitted(write)
        if refusal or self._bundle.standing.reason:
            return refusal or self._bundle.standing.reason
        name = self._bundle.cluster.name
        member = self._own.member(name)
        if member is None:
            return f"cluster {name} is not in the fleet"
        return project_writes.refusal(self._bundle.standing.project, member, write)
