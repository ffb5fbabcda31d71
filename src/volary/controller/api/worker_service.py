"""What people see of workers and ask for, and who takes the tasks of each cluster."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from volary.agents import hellos
from volary.controller import refusals
from volary.controller.agents import agent_registry, run_orders, signing_key
from volary.controller.api import representations, server_service
from volary.controller.api.commands import command_client
from volary.controller.fleet import cluster_registry
from volary.model import errors
from volary.model.fleet import fleets
from volary.store import records

_WORKER = records.AgentKind.WORKER


class WorkerStatus(StrEnum):
    """How a worker is."""

    #: A process of it takes tasks.
    TAKING = "taking"
    #: None does.
    IDLE = "idle"
    #: Temporal does not say.
    UNKNOWN = "unknown"


class Taker(representations.Representation, frozen=True):
    """A process that takes tasks."""

    #: What it is, its number and its machine.
    name: str
    seen: datetime


class Worker(representations.Representation, frozen=True):
    """A worker that has joined, whose processes take the tasks of its clusters."""

    name: str
    clusters: tuple[str, ...]
    #: ``taking``, ``idle`` or ``unknown``.
    status: str
    #: Why it takes no tasks, or nobody knows; empty: it takes some.
    reason: str
    #: Its processes, in the last minutes.
    processes: tuple[Taker, ...]
    created: datetime
    #: When its token was made.
    rotated: datetime
    #: Whether the token before is still good, because the present one was not seen yet.
    rotating: bool


class WorkerRegistration(representations.Representation, frozen=True):
    """What a worker needs; the token is shown this once."""

    worker: str
    clusters: tuple[str, ...]
    token: str
    #: By which it checks orders: public key of Ed25519, in base64.
    signing_key: str
    #: Where each server is reached; empty: only as whoever asks does.
    addresses: tuple[str, ...]
    temporal: hellos.Temporal


class TaskQueue(representations.Representation, frozen=True):
    """Who takes the tasks of a cluster."""

    cluster: str
    #: Of Temporal; empty: it does not carry runs out.
    queue: str
    #: Whether servers leave its tasks to agents or workers.
    apart: bool
    #: In the last minutes.
    takers: tuple[Taker, ...]
    #: Why nobody does; empty: somebody does.
    reason: str


#: Asks Temporal who takes tasks from queues, and returns them by queue.
Takers = Callable[[Sequence[str]], Awaitable[Mapping[str, tuple[Taker, ...]]]]


@dataclass(slots=True)
class WorkerService:
    """See the module."""

    registry: agent_registry.AgentRegistry
    clusters: cluster_registry.ClusterRegistry
    audit_trail: command_client.AuditLog
    key: signing_key.SigningKeyFile
    #: Which tasks are carried out apart from servers.
    apart: run_orders.ApartTasks
    #: Where each server of this store is reached.
    servers: server_service.ServerService
    #: Where tasks come from; None: servers carry them out.
    temporal: hellos.Temporal | None = None
    #: None: there is no Temporal.
    takers: Takers | None = None

    async def list(self) -> tuple[Worker, ...]:
        """Return all workers, by name."""
        known = await self.registry.list(_WORKER)
        if not known:
            return ()
        try:
            queues = await self.queues()
        except errors.TemporaryError as error:
            return tuple(_view(one, WorkerStatus.UNKNOWN, str(error)) for one in known)
        taking = {taker.name: taker for queue in queues for taker in queue.takers}
        return tuple(_seen(one, taking) for one in known)

    async def join(
        self,
        name: str,
        clusters: Sequence[str],
        asker: representations.Actor,
        *,
        sealing_key: str,
    ) -> WorkerRegistration:
        """Register a worker for clusters without agents.

        Raises:
            refusals.NotFound: One of them is not there.
            refusals.Conflict: There is an agent or a worker of this name.
            errors.UserError: Tasks are carried out by servers, one of the clusters has an agent,
                or the key is none.
        """
        temporal = self._temporal()
        members = {member.name: member for member in self.clusters.members.clusters}
        for cluster in clusters:
            if refusals.required(members.get(cluster), "cluster", cluster).agent:
                raise errors.user_error(
                    f"the agent of cluster {cluster} carries out its tasks",
                    hint=f"leave {cluster} out, or write its kubeconfig into the fleet file",
                )
        public = await asyncio.to_thread(self.key.public)
        about = {"worker": name, "clusters": list(clusters)}
        async with self.audit_trail.noting(asker, "worker.join", document=about):
            made, token = await self.registry.join_worker(name, clusters, sealing_key)
        return await self._registration(made, token, public, temporal)

    async def rotate(
        self, name: str, asker: representations.Actor, *, sealing_key: str
    ) -> WorkerRegistration:
        """Give a worker another token and key; those in use are good until these were used.

        Raises:
            refusals.NotFound: There is none of this name.
            errors.UserError: Tasks are carried out by servers, or the key is none.
        """
        temporal = self._temporal()
        public = await asyncio.to_thread(self.key.public)
        async with self.audit_trail.noting(asker, "worker.rotate", document={"worker": name}):
            made, token = await self.registry.rotate(_WORKER, name, sealing_key)
        return await self._registration(made, token, public, temporal)

    async def remove(self, name: str, asker: representations.Actor) -> Worker:
        """Take the rights of a worker, and return how it was.

        Raises:
            refusals.NotFound: There is none of this name.
        """
        async with self.audit_trail.noting(asker, "worker.remove", document={"worker": name}):
            before = await self.registry.remove(_WORKER, name)
        return _view(before, WorkerStatus.UNKNOWN, "its rights were taken")

    async def queues(self) -> tuple[TaskQueue, ...]:
        """Return who takes the tasks of each cluster, by its name.

        Raises:
            errors.TemporaryError: Temporal does not answer.
        """
        members = sorted(self.clusters.members.clusters, key=lambda member: member.name)
        if self.temporal is None or self.takers is None:
            return tuple(map(self._unqueued, members))
        queues = {member.name: self._queue_of(member, self.temporal) for member in members}
        taken = await self.takers(tuple(dict.fromkeys(queues.values())))
        return tuple(
            self._queue(member, queues[member.name], taken[queues[member.name]])
            for member in members
        )

    def _queue_of(self, member: fleets.Cluster, temporal: hellos.Temporal) -> str:
        """Return the queue of a cluster's tasks: those that servers carry out have one together."""
        if self.apart.has(member):
            return hellos.queue(temporal.queue_prefix, member.name)
        return hellos.CENTRAL_QUEUE

    def _temporal(self) -> hellos.Temporal:
        if self.temporal is None or not self.apart.everywhere:
            raise errors.user_error(
                "the servers carry tasks out themselves",
                hint="write workers: apart under engine.temporal of the settings",
            )
        return self.temporal

    async def _registration(
        self, made: records.AgentRecord, token: str, public: str, temporal: hellos.Temporal
    ) -> WorkerRegistration:
        addresses = await self.servers.advertised()
        return WorkerRegistration(made.name, made.clusters, token, public, addresses, temporal)

    def _unqueued(self, member: fleets.Cluster) -> TaskQueue:
        reason = "the leading server carries runs out by itself"
        if member.agent:
            reason = (
                "agents take tasks from Temporal alone, and the settings have no engine.temporal:"
                " nothing can be written there"
            )
        return TaskQueue(member.name, "", member.agent, (), reason)

    def _queue(self, member: fleets.Cluster, queue: str, takers: tuple[Taker, ...]) -> TaskQueue:
        is_apart, reason = self.apart.has(member), ""
        if not takers and is_apart:
            reason = f"nobody takes tasks of {member.name}"
        elif not takers:
            reason = "no server takes them: none leads"
        return TaskQueue(member.name, queue, is_apart, takers, reason)


def _seen(worker: records.AgentRecord, taking: Mapping[str, Taker]) -> Worker:
    """Return a worker by who takes tasks: processes are called by what they are."""
    role = f"{hellos.worker_role(worker.name)} "
    processes = tuple(taking[name] for name in sorted(taking) if name.startswith(role))
    if processes:
        return _view(worker, WorkerStatus.TAKING, "", processes)
    return _view(worker, WorkerStatus.IDLE, "no process of it takes tasks")


def _view(
    worker: records.AgentRecord,
    status: WorkerStatus,
    reason: str,
    processes: tuple[Taker, ...] = (),
) -> Worker:
    return Worker(
        name=worker.name,
        clusters=worker.clusters,
        status=status.value,
        reason=worker.unreadable or reason,
        processes=processes,
        created=worker.created,
        rotated=worker.rotated,
        rotating=bool(worker.previous),
    )
