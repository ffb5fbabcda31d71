"""The client of one cluster for the tasks of a bundle: as whom, and what of it may be written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from volary.agents.tasks import bundles
from volary.clusters.client import actors, clients, fleet_clients, project_writes, write_rules
from volary.model import clocks
from volary.model.fleet import fleets


@dataclass(frozen=True, slots=True, eq=False)
class BundleActor:
    """Who a bundle is carried out for: its application's project, within what is permitted here."""

    bundle: bundles.Bundle
    #: Asked first: it is the cluster's owner who speaks.
    rule: write_rules.WriteRule

    @property
    def title(self) -> str:
        """How it is called in sentences."""
        return f"project {self.bundle.project}" if self.bundle.project else "the controller"

    def identity(self) -> actors.Identity:
        """Return how the cluster knows it."""
        return self.bundle.identity

    def refusal(self, cluster: fleets.Cluster, write: write_rules.Write) -> str:
        """Return why a write may not be sent to the cluster, a sentence; empty: it may."""
        refusal = self.rule(write)
        if refusal or self.bundle.standing.reason:
            return refusal or self.bundle.standing.reason
        return project_writes.refusal(self.bundle.standing.project, cluster, write)


class BundledClients:
    """One cluster, described as in the bundle, and reached as this process does."""

    def __init__(
        self,
        bundle: bundles.Bundle,
        own: fleet_clients.FleetClients,
        rule: Callable[[write_rules.Write], str],
    ) -> None:
        self._bundle = bundle
        self._own = own
        self._acting = own.acting_for(BundleActor(bundle, rule))

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
        return await self._acting.client(name)
