"""The clients of a whole fleet: opened when first used, closed together.

asyncio gives every TLS connection a buffer of 256 KiB and fills it with zeros. A watch is a
connection of its own, and nearly always silent: a thousand of them would hold a quarter of a
GiB for nothing. So buffers are made smaller here; a record of TLS is 16 KiB at most.
"""

import os
from asyncio import sslproto
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from volary.clusters.client import acting_clients, actors, clients, write_rules
from volary.clusters.client.fleet_clients import FleetClients, Unavailable
from volary.clusters.kubeconfig import connections, kubeconfigs
from volary.clusters.transport import circuit_breaker, transports, write_permits
from volary.model import clocks, errors
from volary.model.fleet import fleets

__all__ = ["ClientPool", "FleetClients", "Unavailable", "open_pool"]

#: On whose behalf clients are kept open; who comes back after so many others gets new ones.
MOST_ACTORS = 256
#: Bytes: two records. What is longer takes more turns.
TLS_BUFFER_SIZE = 32 * 1024


def shrink_tls_buffers() -> None:
    """Let connections of this process that are made from now on have small buffers.

    asyncio has no option for it, so this is its own constant; a version without that constant
    stays as it is.
    """
    if getattr(sslproto.SSLProtocol, "max_size", 0) > TLS_BUFFER_SIZE:
        sslproto.SSLProtocol.max_size = TLS_BUFFER_SIZE


#: Returns the socket through which a cluster's agent is reached while one is connected.
SocketOf = Callable[[str], str]
#: Requests under way at once over all clusters, and the least and most for one of them.
_FLEET_REQUESTS = 384
_LEAST, _MOST = 6, transports.Limits().concurrency


def concurrency(clusters: int) -> int:
    """Return how many requests at once one cluster of so many may be sent.

    Each needs a connection of its own, and one with TLS costs a handshake and a quarter
    of a MiB. One process cannot keep more than a few hundred answers in hand anyway.
    """
    return min(_MOST, max(_LEAST, _FLEET_REQUESTS // max(clusters, 1)))


class ClientPool:
    """One client per cluster of a fleet, with the fleet's credentials."""

    def __init__(
        self,
        members: fleets.Fleet,
        *,
        clock: clocks.Clock,
        limits: transports.Limits,
        environment: Mapping[str, str],
        permit: write_permits.WritePermit = write_permits.UNCONDITIONAL,
        rule: write_rules.WriteRule = write_rules.permit_all,
        socket_of: SocketOf | None = None,
    ) -> None:
        self.fleet = members
        #: Under which all of them write.
        self.permit = permit
        #: Called with why a cluster does not answer any more; empty when it answers again.
        self.on_outcome: Callable[[str, str], None] = lambda _name, _trouble: None
        self._members = {cluster.name: cluster for cluster in members.clusters}
        #: Tells when something was read.
        self.clock = clock
        self._limits = limits
        self._rule = rule
        self._environment = environment
        self._socket_of = socket_of
        self._reader = kubeconfigs.Reader()
        self._clients: dict[str, clients.Client] = {}
        self._connections: dict[str, connections.Connection] = {}
        #: What closes each client, and those that are not handed out any more.
        self._closers: dict[str, AsyncExitStack] = {}
        self._retired: list[AsyncExitStack] = []
        self._acting: OrderedDict[actors.Actor, acting_clients.ActingClients] = OrderedDict()

    @property
    def fleet_wide(self) -> FleetClients:
        """These clients themselves: they are the server's own."""
        return self

    def acting_for(self, actor: actors.Actor) -> FleetClients:
        """Return the clients that work on somebody's behalf; the same for an equal actor.

        They are closed with these.
        """
        known = self._acting.get(actor)
        if known is None:
            known = self._acting[actor] = acting_clients.ActingClients(self, actor)
        self._acting.move_to_end(actor)
        while len(self._acting) > MOST_ACTORS:
            _, oldest = self._acting.popitem(last=False)
            oldest.forget_all()
        return known

    def change(self, members: fleets.Fleet) -> None:
        """Take another fleet from now on.

        A cluster that is reached in another way gets a new client with its next use. One that
        left keeps the client it has.
        """
        for cluster in members.clusters:
            before = self._members.get(cluster.name)
            is_same = before is None or all(
                getattr(before, name) == getattr(cluster, name) for name in fleets.CONNECTION
            )
            if not is_same:
                self._retire(cluster.name)
        self._members.update({cluster.name: cluster for cluster in members.clusters})
        self.fleet = members

    def remember(self, members: Iterable[fleets.Cluster]) -> None:
        """Know how to reach clusters that left the fleet, as somebody remembers them."""
        for cluster in members:
            self._members.setdefault(cluster.name, cluster)

    def refresh(self, name: str) -> bool:
        """Read again how a cluster is reached; say whether that is another way than in use.

        Its next use gets a new client then. A kubeconfig that cannot be read changes nothing.
        """
        member, used = self._members.get(name), self._connections.get(name)
        if member is None or used is None:
            return False
        try:
            connection = self.load(member)
        except errors.UserError:
            return False
        if connection == used:
            return False
        self._retire(name)
        return True

    @property
    def former(self) -> tuple[str, ...]:
        """Clusters that left the fleet and can still be reached."""
        here = set(self.fleet.names)
        return tuple(name for name in self._members if name not in here)

    def release(self, names: Iterable[str]) -> None:
        """Let go of clusters that left and that nothing is done in any more."""
        for name in set(names) & set(self.former):
            self._retire(name)
            for acting in self._acting.values():
                acting.forget(name)
            del self._members[name]

    async def sweep(self) -> None:
        """Close clients that are not handed out any more; who still holds one is broken off.

        So it is called long after `change` and `release`.
        """
        retired, self._retired = self._retired, []
        for closer in retired:
            await closer.aclose()

    async def close(self) -> None:
        """Close every client."""
        for acting in self._acting.values():
            acting.forget_all()
        async with AsyncExitStack() as all_of_them:
            for closer in (*self._closers.values(), *self._retired):
                all_of_them.push_async_exit(closer)

    def _retire(self, name: str) -> None:
        if self._clients.pop(name, None) is not None:
            self.retire(self._closers.pop(name))
            del self._connections[name]

    def retire(self, closer: AsyncExitStack) -> None:
        """Have a client closed with the next sweep."""
        self._retired.append(closer)

    def load(self, member: fleets.Cluster) -> connections.Connection:
        """Return how a cluster is reached.

        Raises:
            errors.UserError: A file, context, certificate, … is missing or not valid.
        """
        if member.agent and self._socket_of is not None:
            return kubeconfigs.agent_connection(member.name, self._socket_of(member.name))
        return kubeconfigs.load(member, environment=self._environment, reader=self._reader)

    async def open(
        self,
        connection: connections.Connection,
        closer: AsyncExitStack,
        *,
        on_change: circuit_breaker.OnChange = lambda _trouble: None,
        rule: write_rules.WriteRule = write_rules.permit_all,
    ) -> clients.Client:
        """Open a client that `closer` closes."""
        return await closer.enter_async_context(
            clients.open_client(
                connection,
                clock=self.clock,
                limits=self._limits,
                on_change=on_change,
                permit=lambda: self.permit,
                rule=rule,
            )
        )

    def member(self, name: str) -> fleets.Cluster | None:
        """Return the cluster as the fleet describes it."""
        return self._members.get(name)

    async def client(self, name: str) -> clients.Client | Unavailable:
        """Return the client of a cluster; nothing has been sent yet when it is new."""
        known_client = self._clients.get(name)
        if known_client is not None:
            return known_client
        member = self._members.get(name)
        if member is None:
            return Unavailable(name, f"cluster {name} is not in the fleet")
        try:
            connection = self.load(member)
        except errors.UserError as error:
            return Unavailable(name, error.problems[0].message, error.problems)
        closer = AsyncExitStack()
        client = await self.open(
            connection,
            closer,
            on_change=lambda trouble: self.on_outcome(name, trouble),
            rule=self._rule,
        )
        if name in self._clients:
            self.retire(closer)
            return self._clients[name]
        self._clients[name], self._closers[name] = client, closer
        self._connections[name] = connection
        return client


@asynccontextmanager
async def open_pool(
    members: fleets.Fleet,
    *,
    clock: clocks.Clock,
    limits: transports.Limits | None = None,
    environment: Mapping[str, str] = os.environ,
    permit: write_permits.WritePermit = write_permits.UNCONDITIONAL,
    rule: write_rules.WriteRule = write_rules.permit_all,
    socket_of: SocketOf | None = None,
) -> AsyncIterator[ClientPool]:
    """Open a pool; every client is closed at its end.

    Without `limits` the clusters share what this process can do (`concurrency`). Nothing is
    written to any of them but under the `permit`. What these clients write themselves has to be
    permitted by the `rule`; those that act for somebody write by the rules for that. `socket_of`
    says behind which socket the agent of a cluster is; without it no agent is reached.
    """
    shrink_tls_buffers()
    shared = transports.Limits(concurrency=concurrency(len(members.clusters)))
    opened = ClientPool(
        members,
        clock=clock,
        limits=limits or shared,
        environment=environment,
        permit=permit,
        rule=rule,
        socket_of=socket_of,
    )
    try:
        yield opened
    finally:
        await opened.close()
