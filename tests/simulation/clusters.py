"""Clusters in memory as processes see them, and a record of who wrote what to them."""

import inspect
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import memory_client
from simulation import lateness, loops, networks
from volary.clusters.api import api_errors, discovery
from volary.clusters.client import actors, client_pool, clients, recent_objects, watches
from volary.clusters.transport import write_permits
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.fleet import fleets

_WRITES = ("apply", "create", "replace", "merge_patch", "delete")
#: Objects with this text in their data are refused once they are really written.
POISON = "poison"


@dataclass(frozen=True, slots=True)
class Write:
    """One write as a cluster got it."""

    sent: float
    at: float
    place: str
    cluster: str
    #: The application's whose object it is; empty: nobody's.
    application: str
    verb: str
    kind: str
    name: str
    #: The commit that the object says; empty: none.
    commit: str


class Cluster(memory_client.MemoryCluster):
    """Refuses what is poisoned, though only when it is written and not when it is tried."""

    #: Whether nobody's credentials are accepted.
    knows_nobody: bool = False
    #: Which credentials are accepted, and which its kubeconfig has: each new ones count one more.
    accepted: int = 0
    shown: int = 0

    def renew_kubeconfig(self) -> None:
        """Write what is accepted now into the kubeconfig, which counts from the next request on."""
        self.shown = self.accepted

    async def apply(
        self, resource: discovery.Resource, body: json.JsonObject, **named: Any
    ) -> json.JsonObject:
        if f"{POISON}-{self.name}" in str(body.get("data")) and not named.get("dry_run"):
            raise api_errors.Invalid(f"{POISON} is not admitted", status=422, reason="Invalid")
        return await super().apply(resource, body, **named)

    def versions(self, application: str) -> set[str]:
        """Return what the ConfigMaps of an application say."""
        return {
            body["data"]["version"]
            for body in self.objects.values()
            if body["metadata"]["name"].startswith(f"{application}-")
            and "version" in (body.get("data") or {})
        }


@dataclass(eq=False)
class Client:
    """What one process has of a cluster: every request travels."""

    network: networks.Network
    cluster: Cluster
    told: Callable[[Write], None]
    permit: write_permits.WritePermit
    lateness: lateness.Lateness
    recent: recent_objects.RecentObjects = field(default_factory=recent_objects.RecentObjects)
    answered: float = float("-inf")

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def namespace(self) -> str:
        return self.cluster.namespace

    @property
    def acts_as(self) -> str:
        return ""

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self.cluster, verb)
        if not inspect.iscoroutinefunction(method):
            return method  # it sends nothing

        async def ask(*args: Any, **named: Any) -> Any:
            changes = verb in _WRITES and not named.get("dry_run")
            if changes:
                await self.permit.wait()
            here, sent = loops.PLACE.get(), self.network.loop.now
            shown = self.cluster.shown

            async def carry_out() -> Any:
                if self.cluster.knows_nobody or shown != self.cluster.accepted:
                    raise api_errors.Unauthorized("who are you", status=401, reason="Unauthorized")
                if not changes:
                    return await method(*args, **named)
                write = self._write(here, sent, verb, args, named)
                answer = await self.lateness.carry_out(
                    write,
                    lambda: self.cluster.find(args[0], write.name),
                    lambda: method(*args, **named),
                )
                self.told(write)
                return answer

            answer = await self.network.call(self.name, carry_out, networks.unreachable)
            self.answered = self.network.loop.now
            return answer

        return ask

    def _write(
        self, here: str, sent: float, verb: str, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Write:
        resource, what = args[:2]
        if isinstance(what, str):
            name, body = what, self.cluster.find(resource, what, named.get("namespace", "")) or {}
        else:
            name, body = what["metadata"]["name"], what
        owner = tracking.owner_of(body)
        return Write(
            sent,
            self.network.loop.now,
            here,
            self.name,
            owner.name if owner else "",
            verb,
            resource.kind,
            name,
            tracking.commit_of(body),
        )

    async def watch(
        self, resource: discovery.Resource, **named: Any
    ) -> AsyncGenerator[watches.WatchEvent, None]:
        async for event in self.cluster.watch(resource, **named):
            yield event


class Pool:
    """The clients of one process; of a cluster that left, as long as its kubeconfig is there."""

    def __init__(
        self,
        network: networks.Network,
        fleet: fleets.Fleet,
        clusters: Mapping[str, Cluster],
        gone: Collection[str],
        told: Callable[[Write], None],
        permit: write_permits.WritePermit,
        late: lateness.Lateness,
    ) -> None:
        self.fleet = fleet
        self._network, self._clusters, self._gone = network, clusters, gone
        self._told, self._permit, self._lateness = told, permit, late
        self._members = {cluster.name: cluster for cluster in fleet.clusters}
        self._clients: dict[str, Client] = {}

    @property
    def pool(self) -> client_pool.ClientPool:
        return cast("client_pool.ClientPool", self)

    @property
    def fleet_wide(self) -> client_pool.ClientPool:
        return self.pool

    def acting_for(self, _: actors.Actor) -> client_pool.ClientPool:
        """There are no projects here."""
        return self.pool

    def change(self, members: fleets.Fleet) -> None:
        """Take another fleet; who left keeps its client."""
        self.fleet = members
        self.remember(members.clusters)

    def remember(self, members: Iterable[fleets.Cluster]) -> None:
        for cluster in members:
            self._members.setdefault(cluster.name, cluster)

    def member(self, name: str) -> fleets.Cluster | None:
        return self._members.get(name)

    async def client(self, name: str) -> clients.Client | client_pool.Unavailable:
        if name not in self._members:
            return client_pool.Unavailable(name, f"cluster {name} is not in the fleet")
        if name not in self._clients:
            if name in self._gone:
                return client_pool.Unavailable(name, "there is no kubeconfig")
            self._clients[name] = Client(
                self._network, self._clusters[name], self._told, self._permit, self._lateness
            )
        return cast("clients.Client", self._clients[name])
