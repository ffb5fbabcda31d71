"""The clients of a whole fleet: opened when first used, closed together.

A cluster that cannot be used is a value, `Unavailable`, and never harms another. The fleet may
change while clients are in use: a run that is pinned to a cluster which left still reaches it,
until `Pool.release` says that nobody does.
"""

import os
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from volary.clusters import buffers, kubeconfig, settings, transport
from volary.clusters import client as clients
from volary.model import clock as clocks
from volary.model import errors, fleet, problem

#: Requests under way at once over all clusters, and the least and most for one of them.
_TOGETHER = 384
_LEAST, _MOST = 6, transport.Limits().concurrency


def concurrency(clusters: int) -> int:
    """Return how many requests at once one cluster of so many may be sent.

    Each needs a connection of its own, and one with TLS costs a handshake and a quarter
    of a MiB. One process cannot keep more than a few hundred answers in hand anyway.
    """
    return min(_MOST, max(_LEAST, _TOGETHER // max(clusters, 1)))


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A cluster without a client, and why."""

    name: str
    #: One sentence.
    reason: str
    #: What the user has to mend; empty when it is not in the user's files.
    problems: tuple[problem.Problem, ...] = ()


class Pool:
    """One client per cluster of a fleet."""

    def __init__(
        self,
        members: fleet.Fleet,
        *,
        clock: clocks.Clock,
        limits: transport.Limits,
        environment: Mapping[str, str],
        chance: Callable[[], float],
    ) -> None:
        self.fleet = members
        self._members = {cluster.name: cluster for cluster in members.clusters}
        self._clock = clock
        self._limits = limits
        self._environment = environment
        self._chance = chance
        self._reader = kubeconfig.Reader()
        self._clients: dict[str, clients.Client] = {}
        self._connections: dict[str, settings.Connection] = {}
        #: What closes each client, and those that are not handed out any more.
        self._closers: dict[str, AsyncExitStack] = {}
        self._retired: list[AsyncExitStack] = []

    @property
    def clock(self) -> clocks.Clock:
        """Tells when something was read."""
        return self._clock

    def change(self, members: fleet.Fleet) -> None:
        """Take another fleet from now on.

        A cluster that is reached in another way gets a new client with its next use. One that
        left keeps the client it has.
        """
        for cluster in members.clusters:
            before = self._members.get(cluster.name)
            if before is not None and _way(before) != _way(cluster):
                self._retire(cluster.name)
        self._members.update({cluster.name: cluster for cluster in members.clusters})
        self.fleet = members

    def refresh(self, name: str) -> bool:
        """Read again how a cluster is reached; say whether that is another way than in use.

        Its next use gets a new client then. A kubeconfig that cannot be read changes nothing.
        """
        member, used = self._members.get(name), self._connections.get(name)
        if member is None or used is None:
            return False
        try:
            found = kubeconfig.load(member, environment=self._environment, reader=self._reader)
        except errors.UserError:
            return False
        if found == used:
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
        async with AsyncExitStack() as all_of_them:
            for closer in (*self._closers.values(), *self._retired):
                all_of_them.push_async_exit(closer)

    def _retire(self, name: str) -> None:
        if self._clients.pop(name, None) is not None:
            self._retired.append(self._closers.pop(name))
            del self._connections[name]

    def member(self, name: str) -> fleet.Cluster | None:
        """Return the cluster as the fleet describes it."""
        return self._members.get(name)

    async def client(self, name: str) -> clients.Client | Unavailable:
        """Return the client of a cluster; nothing has been sent yet when it is new."""
        found = self._clients.get(name)
        if found is not None:
            return found
        member = self._members.get(name)
        if member is None:
            return Unavailable(name, f"cluster {name} is not in the fleet")
        try:
            connection = kubeconfig.load(member, environment=self._environment, reader=self._reader)
        except errors.UserError as error:
            return Unavailable(name, error.problems[0].message, error.problems)
        closer = AsyncExitStack()
        client = await closer.enter_async_context(
            clients.open_client(
                connection, clock=self._clock, limits=self._limits, chance=self._chance
            )
        )
        if name in self._clients:
            self._retired.append(closer)
            return self._clients[name]
        self._clients[name], self._closers[name] = client, closer
        self._connections[name] = connection
        return client


def _way(cluster: fleet.Cluster) -> fleet.Cluster:
    """Return what decides how a cluster is reached."""
    return replace(
        fleet.Cluster(cluster.name),
        kubeconfig=cluster.kubeconfig,
        context=cluster.context,
        in_cluster=cluster.in_cluster,
    )


@asynccontextmanager
async def open_pool(
    members: fleet.Fleet,
    *,
    clock: clocks.Clock,
    limits: transport.Limits | None = None,
    environment: Mapping[str, str] = os.environ,
    chance: Callable[[], float] = random.random,
) -> AsyncIterator[Pool]:
    """Open a pool; every client is closed at its end.

    Without `limits` the clusters share what this process can do (`concurrency`).
    """
    buffers.shrink()
    shared = transport.Limits(concurrency=concurrency(len(members.clusters)))
    opened = Pool(
        members, clock=clock, limits=limits or shared, environment=environment, chance=chance
    )
    try:
        yield opened
    finally:
        await opened.close()
