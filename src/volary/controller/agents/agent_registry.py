"""The agents that may connect: joined, rotated and removed by people, known by their tokens.

A token has 256 random bits and is shown once; the store has its SHA-256, so that whoever reads the
store can be no agent. Rotation makes another one beside it: that in use is good until the new one
was seen.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from volary.agents import hellos
from volary.agents.orders import keys
from volary.controller import refusals
from volary.model import clocks, errors, json
from volary.store import records, stores

#: What tokens begin with, so that leaked ones are recognised by scanners.
PREFIX = "volary_agent_"
_LONGEST_TOKEN = 200
#: How exact it is known when an agent was heard of last: not each word of it writes.
EXACTNESS = timedelta(minutes=1)


class RefusedError(Exception):
    """An agent whose token is good is not let in; the message says why."""


@dataclass(frozen=True, slots=True)
class AgentRegistry:
    """See the module."""

    store: stores.Store
    clock: clocks.Clock

    async def join(self, cluster: str, sealing_key: str) -> tuple[records.AgentRecord, str]:
        """Register an agent for a cluster, and return it with its token, which is shown once.

        Raises:
            refusals.Conflict: The cluster has one.
            errors.UserError: The key is none.
        """
        made = await self._add(records.AgentKind.AGENT, cluster, [cluster], sealing_key)
        if made is None:
            raise refusals.conflict(
                f"cluster {cluster} has an agent, or there is a worker of that name",
                hint=f"volary cluster rotate {cluster} makes another token for it, and"
                f" volary cluster remove {cluster} takes its rights",
            )
        return made

    async def join_worker(
        self, name: str, clusters: Sequence[str], sealing_key: str
    ) -> tuple[records.AgentRecord, str]:
        """Register a worker for clusters, and return it with its token, which is shown once.

        Raises:
            refusals.Conflict: There is an agent or a worker of this name.
            errors.UserError: The key is none.
        """
        made = await self._add(records.AgentKind.WORKER, name, sorted(set(clusters)), sealing_key)
        if made is None:
            raise refusals.conflict(
                f"there is an agent or a worker {name}",
                hint=f"take another name, or take its rights: volary worker remove {name}",
            )
        return made

    async def _add(
        self, kind: records.AgentKind, name: str, clusters: Sequence[str], sealing_key: str
    ) -> tuple[records.AgentRecord, str] | None:
        """Register somebody; None: there is somebody of this name."""
        _check_key(sealing_key)
        now, token = self.clock.now(), new_token()
        record = records.AgentRecord(
            name,
            digest(token),
            created=now,
            rotated=now,
            kind=kind,
            sealing_key=sealing_key,
            document={"clusters": list(clusters)},
        )
        return (record, token) if await self.store.agents.add(record) else None

    async def rotate(
        self, kind: records.AgentKind, name: str, sealing_key: str
    ) -> tuple[records.AgentRecord, str]:
        """Give somebody another token and key, and return them with that, which is shown once.

        Raises:
            refusals.NotFound: There is none of this kind and name.
            errors.UserError: The key is none.
        """
        _check_key(sealing_key)
        await self.get(kind, name)
        token = new_token()
        await self.store.agents.rotate(
            name, digest=digest(token), sealing_key=sealing_key, at=self.clock.now()
        )
        return await self.get(kind, name), token

    async def remove(self, kind: records.AgentKind, name: str) -> records.AgentRecord:
        """Take somebody's rights, and return how they were.

        Raises:
            refusals.NotFound: There is none of this kind and name.
        """
        before = await self.get(kind, name)
        await self.store.agents.remove(name)
        return before

    async def get(self, kind: records.AgentKind, name: str) -> records.AgentRecord:
        """Return one.

        Raises:
            refusals.NotFound: There is none of this kind and name.
        """
        found = await self.store.agents.get(name)
        if found is not None and found.kind is not kind:
            found = None
        return refusals.required(found, kind.value, name)

    async def list(self, kind: records.AgentKind) -> tuple[records.AgentRecord, ...]:
        """Return all of a kind, by name."""
        return tuple(one for one in await self.store.agents.list() if one.kind is kind)

    async def authenticate(self, presented: str) -> records.AgentRecord | None:
        """Return whose token this is; None: nobody's.

        The first time that the token after a rotation is seen, the one before is good no more.

        Raises:
            errors.TemporaryError: It cannot be said now.
        """
        if not presented.startswith(PREFIX) or len(presented) > _LONGEST_TOKEN:
            return None
        shown = digest(presented)
        agent = await self.store.agents.find(shown)
        if agent is None or agent.unreadable:
            return None
        # The database compared them already, in a time that may tell something of the hash.
        if hmac.compare_digest(agent.hash, shown):
            if agent.previous:
                await self.store.agents.confirm(agent.name, digest=shown)
            return agent
        is_previous = bool(agent.previous) and hmac.compare_digest(agent.previous, shown)
        return agent if is_previous else None

    async def welcome(
        self, agent: records.AgentRecord, hello: hellos.Hello, *, version: str
    ) -> int:
        """Take what an agent says of itself, and return the protocol to speak.

        Args:
            agent: Whose token came with it.
            hello: What it says.
            version: Of this server.

        Raises:
            RefusedError: It is a worker, is for another cluster, comes from another one than
                before, or has no protocol in common with this server.
        """
        speaks = (hellos.OLDEST, hellos.NEWEST)
        protocol = hellos.common_protocol(hello.protocols, speaks)
        reason = ""
        if agent.kind is records.AgentKind.WORKER:
            raise RefusedError(f"{agent.name} is a worker: no cluster is reached through it")
        if not protocol:
            reason = hellos.incompatible(hello, version, speaks)
        elif hello.cluster not in agent.clusters:
            reason = f"agent {agent.name} is not for cluster {hello.cluster}"
        elif not await self.store.agents.pin(agent.name, cluster_uid=hello.cluster_uid):
            reason = (
                f"agent {agent.name} comes from another cluster than before; where that was built"
                f" anew, volary cluster remove {agent.name} and join again"
            )
        known: json.JsonObject = {**agent.document, "policy": list(hello.policy)}
        now = self.clock.now()
        noted = (agent.reason, agent.version, agent.protocol, agent.document)
        is_recent = agent.seen is not None and now - agent.seen < EXACTNESS
        if is_recent and noted == (reason, hello.version, protocol, known) and not reason:
            return protocol
        await self.store.agents.note(
            agent.name,
            seen=now,
            reason=reason,
            version=hello.version,
            protocol=protocol,
            document=known,
        )
        if reason:
            raise RefusedError(reason)
        return protocol


def _check_key(sealing_key: str) -> None:
    try:
        keys.read_sealing(sealing_key)
    except keys.NoKeyError as error:
        raise errors.user_error(f"the public key cannot be used: {error}") from None


def new_token() -> str:
    """Return a token that nobody has."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
