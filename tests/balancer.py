"""A balancer of TCP connections that gives each to the next server: nobody sticks to one."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib import parse

import process_time


@dataclass
class Balancer:
    """Gives connections to the servers of a list in turn; those that take none are passed over."""

    url: str = ""
    #: Addresses of the servers.
    servers: list[str] = field(default_factory=list)
    #: Which server got each connection, in order.
    given: list[str] = field(default_factory=list)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, until both sides have ended it."""
        self._writers.add(writer)
        try:
            await self._pass_on(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(len(self.servers)):
            server = self.servers.pop(0)
            self.servers.append(server)
            address = parse.urlsplit(server)
            try:
                there, back = await asyncio.open_connection(address.hostname, address.port)
            except OSError:
                continue
            self.given.append(server)
            try:
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
            finally:
                back.close()
            return

    def end_connections(self) -> None:
        """End every connection that is open."""
        for writer in self._writers:
            writer.transport.abort()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    # The end of one direction ends both: nobody here goes on after half a connection.
    writer.close()


@contextlib.asynccontextmanager
async def balancing() -> AsyncIterator[Balancer]:
    """Balance on a port of this machine, for as long as the block lasts."""
    made = Balancer()
    listening = await asyncio.start_server(made.take, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        listening.close()
        made.end_connections()
        async with asyncio.timeout(process_time.HANG):
            await listening.wait_closed()
