"""The clients of a fleet on somebody's behalf, each opened when it is first used.

Where the actor is impersonated, or is the server itself with fewer rights, its requests go over the
connections of the fleet's clients; what is read for it is kept apart from what others read. With
credentials of its own it has connections of its own, and never the fleet's.
"""

from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from volary.clusters.client import actors, clients, write_rules
from volary.clusters.client.fleet_clients import FleetClients, Unavailable
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import circuit_breaker
from volary.model import clocks, errors
from volary.model.fleet import fleets


class ServerClients(FleetClients, Protocol):
    """The clients of the server itself, and what it takes to open others."""

    def load(self, member: fleets.Cluster) -> connections.Connection:
        """Return how a cluster is reached; raises UserError where a file is not as it has to be."""
        ...

    async def open(
        self,
        connection: connections.Connection,
        closer: AsyncExitStack,
        *,
        on_change: circuit_breaker.OnChange = lambda _trouble: None,
        rule: write_rules.WriteRule = write_rules.permit_all,
    ) -> clients.Client:
        """Open a client that `closer` closes."""
        ...

    def retire(self, closer: AsyncExitStack) -> None:
        """Have something closed once nobody uses it any more."""
        ...


@dataclass(frozen=True, slots=True)
class _Opened:
    client: clients.Client
    identity: actors.Identity
    #: What it was opened over: the fleet's client, or a connection of the actor's own.
    reached: clients.Client | connections.Connection
    #: Closes what is the actor's own; None: nothing is.
    closer: AsyncExitStack | None = None


class ActingClients:
    """See the module."""

    def __init__(self, server: ServerClients, actor: actors.Actor) -> None:
        self._server = server
        self._actor = actor
        self._opened: dict[str, _Opened] = {}

    @property
    def fleet(self) -> fleets.Fleet:
        """The clusters, as they are now."""
        return self._server.fleet

    @property
    def clock(self) -> clocks.Clock:
        """Tells when something was read."""
        return self._server.clock

    @property
    def fleet_wide(self) -> FleetClients:
        """The clients of the server itself, for what is read of a cluster as a whole."""
        return self._server

    def acting_for(self, actor: actors.Actor) -> FleetClients:
        """Return the clients of somebody else."""
        return self._server.acting_for(actor)

    def member(self, name: str) -> fleets.Cluster | None:
        """Return the cluster as the fleet describes it."""
        return self._server.member(name)

    def remember(self, members: Iterable[fleets.Cluster]) -> None:
        """Know how to reach clusters that left the fleet, as somebody remembers them."""
        self._server.remember(members)

    async def client(self, name: str) -> clients.Client | Unavailable:
        """Return the client of a cluster; nothing has been sent yet when it is new.

        It is a new one when the actor is known in another way than before.
        """
        try:
            identity = self._actor.identity()
            if identity.kubeconfig:
                return await self._with_own_credentials(name, identity)
        except errors.TemporaryError as error:
            return Unavailable(name, str(error))
        except errors.UserError as error:
            return Unavailable(name, error.problems[0].message, error.problems)
        reached = await self._server.client(name)
        if isinstance(reached, Unavailable):
            return reached
        known = self._known(name, identity, reached)
        if known is not None:
            return known
        client = reached.acting_as(identity.impersonation, self._rule(name))
        self._keep(name, _Opened(client, identity, reached))
        return client

    async def _with_own_credentials(
        self, name: str, identity: actors.Identity
    ) -> clients.Client | Unavailable:
        """Return a client with the credentials of the actor.

        Raises:
            errors.UserError: There are none for this cluster.
        """
        member = self.member(name)
        if member is None:
            return Unavailable(name, f"cluster {name} is not in the fleet")
        own = replace(
            member, kubeconfig=identity.kubeconfig, context=name, in_cluster=False, agent=False
        )
        try:
            connection = self._server.load(own)
        except errors.UserError as error:
            raise errors.UserError(
                *(
                    replace(problem, message=f"{self._actor.title}: {problem.message}")
                    for problem in error.problems
                )
            ) from error
        known = self._known(name, identity, connection)
        if known is not None:
            return known
        closer = AsyncExitStack()
        client = await self._server.open(connection, closer, rule=self._rule(name))
        opened_meanwhile = self._known(name, identity, connection)
        if opened_meanwhile is not None:
            self._server.retire(closer)
            return opened_meanwhile
        self._keep(name, _Opened(client, identity, connection, closer))
        return client

    def _known(
        self,
        name: str,
        identity: actors.Identity,
        reached: clients.Client | connections.Connection,
    ) -> clients.Client | None:
        known = self._opened.get(name)
        if known is None or known.identity != identity:
            return None
        is_same = (
            known.reached is reached
            if isinstance(reached, clients.Client)
            else known.reached == reached
        )
        return known.client if is_same else None

    def _keep(self, name: str, opened: _Opened) -> None:
        self.forget(name)
        self._opened[name] = opened

    def _rule(self, name: str) -> write_rules.WriteRule:
        def rule(write: write_rules.Write) -> str:
            member = self.member(name)
            if member is None:
                return f"cluster {name} is not in the fleet"
            return self._actor.refusal(member, write)

        return rule

    def forget(self, name: str) -> None:
        """Let go of a cluster's client."""
        before = self._opened.pop(name, None)
        if before is not None and before.closer is not None:
            self._server.retire(before.closer)

    def forget_all(self) -> None:
        """Let go of every client."""
        for name in tuple(self._opened):
            self.forget(name)
