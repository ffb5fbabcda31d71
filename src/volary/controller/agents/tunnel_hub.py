"""The tunnels of this process, and a socket for each cluster that leads through the newest of them.

The sockets are in a directory that only this user enters. That of a cluster is there for as long as
an agent of it is connected: without one, whoever connects is refused at once.
"""

import asyncio
import hashlib
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from volary.agents.tunnel import pipes, tunnels

_LOG = logging.getLogger(__name__)
#: Tunnels of one agent at once: its processes, and what is left of broken connections.
MOST_TUNNELS = 8
#: Characters: addresses of sockets may have about a hundred, ours included.
_LONGEST_DIRECTORY = 40


class TooManyTunnelsError(Exception):
    """An agent has as many tunnels as it may."""


@dataclass(slots=True)
class _Carried:
    """A tunnel that is carried now."""

    agent: str
    #: Hash of the token by which it was let in.
    digest: str
    tunnel: tunnels.Tunnel
    #: Everything that goes through it.
    group: asyncio.TaskGroup


@dataclass(slots=True)
class _Door:
    """The socket of a cluster, and the tunnels behind it: the newest is the last."""

    path: Path
    carried: list[_Carried] = field(default_factory=list)
    server: asyncio.Server | None = None

    async def open(self) -> None:
        if self.server is None:
            self.server = await asyncio.start_unix_server(self._connect, self.path)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
            self.server = None
        self.path.unlink(missing_ok=True)

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        usable = [one for one in self.carried if not one.tunnel.is_closing]
        if not usable:
            writer.transport.abort()
            return
        newest = usable[-1]
        newest.group.create_task(_pass_on(newest.tunnel, reader, writer), name="agent stream")


async def _pass_on(
    tunnel: tunnels.Tunnel, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        stream = await tunnel.open()
    except ConnectionError as error:
        _LOG.debug("a stream to an agent cannot be opened: %s", error)
        writer.transport.abort()
        return
    await pipes.join(stream, reader, writer)


class TunnelHub:
    """See the module; `open_hub` makes one."""

    def __init__(self, directory: Path, *, timing: tunnels.Timing | None = None) -> None:
        self._directory = directory
        self._timing = timing
        self._doors: dict[str, _Door] = {}
        self._opening = asyncio.Lock()

    @property
    def directory(self) -> str:
        """Where the sockets are."""
        return str(self._directory)

    def socket_of(self, cluster: str) -> str:
        """Return the path of a cluster's socket, also while there is none."""
        # A name may be longer than the path of a socket, and have slashes in it.
        name = hashlib.sha256(cluster.encode()).hexdigest()[:24]
        return str(self._directory / name)

    def count(self, agent: str) -> int:
        """Return how many tunnels an agent has here."""
        return sum(one.agent == agent for door in self._doors.values() for one in door.carried)

    @property
    def digests(self) -> frozenset[tuple[str, str]]:
        """The agents that are connected here, with the hash of the token that let them in."""
        return frozenset(
            (one.agent, one.digest) for door in self._doors.values() for one in door.carried
        )

    def check_room(self, agent: str) -> None:
        """See to it that an agent may have one more tunnel.

        Raises:
            TooManyTunnelsError: It has as many as it may.
        """
        if self.count(agent) >= MOST_TUNNELS:
            raise TooManyTunnelsError(f"agent {agent} has {MOST_TUNNELS} connections, and no more")

    async def carry(
        self, agent: str, cluster: str, channel: tunnels.Channel, *, digest: str
    ) -> str:
        """Carry a tunnel until it ends, and return why.

        Args:
            agent: Whose it is.
            cluster: To which it leads.
            channel: Open; whoever opened it closes it.
            digest: Of the token by which the agent was let in.
        """
        tunnel = tunnels.Tunnel(channel, timing=self._timing)
        async with asyncio.TaskGroup() as group:
            carried = _Carried(agent, digest, tunnel, group)
            try:
                await self._enter(cluster, carried)
                reason = await tunnel.run()
            finally:
                self._leave(cluster, carried)
        return reason

    async def _enter(self, cluster: str, carried: _Carried) -> None:
        door = self._doors.setdefault(cluster, _Door(Path(self.socket_of(cluster))))
        door.carried.append(carried)
        async with self._opening:
            await door.open()

    def _leave(self, cluster: str, carried: _Carried) -> None:
        door = self._doors[cluster]
        door.carried.remove(carried)
        if not door.carried:
            door.close()
            del self._doors[cluster]

    def disconnect(self, agent: str, reason: str, *, except_digest: str = "") -> None:
        """End the tunnels of an agent, but those that were let in by a token of this hash."""
        for door in tuple(self._doors.values()):
            for one in door.carried:
                if one.agent == agent and one.digest != except_digest:
                    one.tunnel.close(reason)


@asynccontextmanager
async def open_hub(*, timing: tunnels.Timing | None = None) -> AsyncIterator[TunnelHub]:
    """Open a hub without tunnels; its directory goes with it."""
    is_short = len(tempfile.gettempdir()) < _LONGEST_DIRECTORY
    place = None if is_short else "/tmp"
    with tempfile.TemporaryDirectory(prefix="volary-agents-", dir=place) as directory:  # mode 0700
        yield TunnelHub(Path(directory), timing=timing)
