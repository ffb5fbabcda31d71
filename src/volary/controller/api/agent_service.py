"""What people see of agents and ask for, and what agents themselves are let do.

A tunnel whose token was replaced or taken ends: at once where that was asked of this process, and
with the next look at the store elsewhere.
"""

import asyncio
import logging
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import volary
from volary.agents import hellos
from volary.agents.tunnel import tunnels
from volary.clusters.observe import probes
from volary.controller import refusals
from volary.controller.agents import agent_registry, signing_key, tunnel_hub
from volary.controller.api import representations, server_service
from volary.controller.api.commands import command_client
from volary.controller.fleet import cluster_registry
from volary.model import errors
from volary.model.fleet import cluster_health
from volary.store import records

_LOG = logging.getLogger(__name__)
#: Seconds between two looks whether those that are connected still may be.
CHECK_INTERVAL = 2.0
_AGENT = records.AgentKind.AGENT
#: What is noted when an agent's last connection here ends.
_GONE = "its connection ended"
#: What an agent is told whose token is good no more.
_TAKEN = "its token was replaced or taken"


class AgentStatus(StrEnum):
    """How an agent is."""

    #: It never came.
    PENDING = "pending"
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    #: It came last and was not let in, as the reason says.
    REFUSED = "refused"


class Agent(representations.Representation, frozen=True):
    """An agent beside a cluster."""

    name: str
    clusters: tuple[str, ...]
    #: ``pending``, ``connected``, ``disconnected`` or ``refused``.
    status: str
    #: Why it is not connected; empty: it is, or never came.
    reason: str
    #: Of its program; empty: it never came.
    version: str
    #: Which was agreed on; 0: none.
    protocol: int
    #: When it was last heard of, give or take a minute; none: never.
    seen: datetime | None
    created: datetime
    #: When its token was made.
    rotated: datetime
    #: Whether the token before is still good, because the present one was not seen yet.
    rotating: bool
    #: What its policy permits, as it says itself.
    policy: tuple[str, ...]


class AgentRegistration(representations.Representation, frozen=True):
    """What an agent needs to connect; the token is shown this once."""

    agent: str
    cluster: str
    token: str
    #: By which it checks orders: public key of Ed25519, in base64.
    signing_key: str
    #: Where each server is reached; empty: only as whoever asks does.
    addresses: tuple[str, ...]


@dataclass(slots=True)
class AgentService:
    """See the module."""

    registry: agent_registry.AgentRegistry
    hub: tunnel_hub.TunnelHub
    clusters: cluster_registry.ClusterRegistry
    audit_trail: command_client.AuditLog
    key: signing_key.SigningKeyFile
    #: Where each server of this store is reached.
    servers: server_service.ServerService
    #: Where tasks come from; None: servers carry them out.
    temporal: hellos.Temporal | None = None
    _noted: dict[str, datetime] = field(default_factory=dict, init=False)

    # People.

    async def list(self) -> tuple[Agent, ...]:
        """Return all agents, by name."""
        elsewhere = await self._may_be_elsewhere()
        return tuple(self._view(each, elsewhere) for each in await self.registry.list(_AGENT))

    async def join(
        self, cluster: str, asker: representations.Actor, *, sealing_key: str
    ) -> AgentRegistration:
        """Register an agent for a cluster.

        Raises:
            refusals.NotFound: There is no such cluster.
            refusals.Conflict: It has an agent already.
            errors.UserError: The fleet does not say that it is reached through one, the key is
                none, or the signing key cannot be read.
        """
        self._check(cluster)
        public = await asyncio.to_thread(self.key.public)
        async with self._noting(asker, "cluster.join", cluster):
            _, token = await self.registry.join(cluster, sealing_key)
        return await self._registration(cluster, token, public)

    async def rotate(
        self, cluster: str, asker: representations.Actor, *, sealing_key: str
    ) -> AgentRegistration:
        """Give the agent of a cluster another token and key; see `join`.

        Raises:
            refusals.NotFound: It has no agent.
            errors.UserError: As `join`.
        """
        public = await asyncio.to_thread(self.key.public)
        async with self._noting(asker, "cluster.rotate", cluster):
            _, token = await self.registry.rotate(_AGENT, cluster, sealing_key)
        await self.check_connected()
        return await self._registration(cluster, token, public)

    async def remove(self, cluster: str, asker: representations.Actor) -> Agent:
        """Take the rights of the agent of a cluster, end its connections, and return how it was.

        Raises:
            refusals.NotFound: It has none.
        """
        async with self._noting(asker, "cluster.remove", cluster):
            removed = await self.registry.remove(_AGENT, cluster)
            before = self._view(removed, await self._may_be_elsewhere())
        self.hub.disconnect(cluster, _TAKEN)
        return before

    def _noting(
        self, asker: representations.Actor, action: str, cluster: str
    ) -> AbstractAsyncContextManager[command_client.Change]:
        return self.audit_trail.noting(asker, action, document={"cluster": cluster})

    def _check(self, cluster: str) -> None:
        members = {member.name: member for member in self.clusters.members.clusters}
        member = refusals.required(members.get(cluster), "cluster", cluster)
        if not member.agent:
            raise errors.user_error(
                f"the fleet file does not say that cluster {cluster} is reached through an agent",
                hint="write agent: true there, in place of kubeconfig, context or inCluster",
            )

    async def _registration(self, cluster: str, token: str, public: str) -> AgentRegistration:
        addresses = await self.servers.advertised()
        return AgentRegistration(cluster, cluster, token, public, addresses)

    async def _may_be_elsewhere(self) -> bool:
        """Say whether agents may be connected to other servers of this store."""
        return len(await self.servers.advertised()) > 1

    def _view(self, agent: records.AgentRecord, elsewhere: bool) -> Agent:
        policy = agent.document.get("policy")
        status = self._status(agent, elsewhere)
        return Agent(
            name=agent.name,
            clusters=agent.clusters,
            status=status.value,
            reason="" if status is AgentStatus.CONNECTED else agent.unreadable or agent.reason,
            version=agent.version,
            protocol=agent.protocol,
            seen=agent.seen,
            created=agent.created,
            rotated=agent.rotated,
            rotating=bool(agent.previous),
            policy=tuple(map(str, policy)) if isinstance(policy, list) else (),
        )

    def _status(self, agent: records.AgentRecord, elsewhere: bool) -> AgentStatus:
        if self.hub.count(agent.name):
            return AgentStatus.CONNECTED
        if agent.seen is None:
            return AgentStatus.PENDING
        if agent.reason and agent.reason != _GONE:
            return AgentStatus.REFUSED
        is_recent = self.registry.clock.now() - agent.seen < 3 * agent_registry.EXACTNESS
        # Another server of this store has its connection.
        is_elsewhere = is_recent and not agent.reason and elsewhere
        return AgentStatus.CONNECTED if is_elsewhere else AgentStatus.DISCONNECTED

    # Agents.

    async def welcome(self, agent: records.AgentRecord, hello: hellos.Hello) -> hellos.Welcome:
        """Answer what an agent says first.

        Raises:
            agent_registry.RefusedError: It is not let in; says why.
        """
        version = volary.__version__
        protocol = await self.registry.welcome(agent, hello, version=version)
        return hellos.Welcome(
            version,
            protocol,
            agent.name,
            await self.servers.advertised(),
            temporal=self.temporal,
        )

    async def carry(
        self, agent: records.AgentRecord, cluster: str, channel: tunnels.Channel, *, digest: str
    ) -> str:
        """Carry a tunnel of an agent until it ends, and return why.

        Args:
            agent: Whose it is.
            cluster: One of its clusters.
            channel: Open; whoever opened it closes it.
            digest: Of the token by which it was let in.

        Raises:
            tunnel_hub.TooManyTunnelsError: It has as many as it may.
        """
        self.hub.check_room(agent.name)
        _LOG.info("agent %s is connected (version %s)", agent.name, agent.version)
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._look(cluster), name="first probe")
            try:
                reason = await self.hub.carry(agent.name, cluster, channel, digest=digest)
            finally:
                looking.cancel()
        _LOG.warning("agent %s is not connected any more: %s", agent.name, reason)
        if not self.hub.count(agent.name):
            await self._note(agent.name, _GONE)
        return reason

    async def _look(self, cluster: str) -> None:
        """Ask a cluster whose agent has just come, so that who waits for it goes on at once."""
        rules = self.clusters.rules
        answer = await probes.probe(self.clusters.clusters, cluster, rules.timeout)
        if answer.state is cluster_health.ClusterState.READY:
            self.clusters.observe_requests(cluster, "")

    async def keep_checking(self) -> None:
        """See to it that who is connected still may be, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            try:
                await self.check_connected()
            except errors.TemporaryError as error:
                _LOG.debug("agents cannot be checked now: %s", error)

    async def check_connected(self) -> None:
        """End the tunnels of agents whose tokens are good no more, and note those that are here.

        Raises:
            errors.TemporaryError: It cannot be said now.
        """
        connected = self.hub.digests
        if not connected:
            return
        known = {agent.name: agent for agent in await self.registry.list(_AGENT)}
        now = self.registry.clock.now()
        for name, digest in connected:
            agent = known.get(name)
            if agent is None or digest not in (agent.hash, agent.previous):
                self.hub.disconnect(name, _TAKEN, except_digest=agent.hash if agent else "")
            elif now - self._noted.get(name, agent.created) >= agent_registry.EXACTNESS:
                await self._note(name, "")

    async def _note(self, name: str, reason: str) -> None:
        now = self._noted[name] = self.registry.clock.now()
        try:
            await self.registry.store.agents.note(name, seen=now, reason=reason)
        except errors.TemporaryError as error:
            _LOG.debug("agent %s cannot be noted now: %s", name, error)
