"""A way to a server that falls silent: nothing is closed, nothing is refused, nothing arrives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

#: A socket in the file system, a port of 127.0.0.1, or one of another address.
Place = Path | int | tuple[str, int]


@dataclass
class SilentProxy:
    """Passes on what comes for a server."""

    server: Place
    port: int = 0
    #: How often something was passed on, in either direction.
    passed: int = 0
    _passes: asyncio.Event = field(default_factory=asyncio.Event)
    _connections: set[asyncio.Task[None]] = field(default_factory=set)

    def fall_silent(self) -> None:
        """Pass nothing on any more, in neither direction; connections stay open."""
        self._passes.clear()

    def go_on(self) -> None:
        """Pass on what has come meanwhile, late as it is, and what comes."""
        self._passes.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # Also of a connection that is broken off before the server has answered.
            with contextlib.closing(writer):
                await self._serve(reader, writer)
        except* (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await _connect(self.server)
        with contextlib.closing(back):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, back))
                group.create_task(self._pass(there, writer))

    async def close(self) -> None:
        """Break off every connection."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            while chunk := await reader.read(1 << 16):
                await self._passes.wait()
                self.passed += 1
                writer.write(chunk)
                await writer.drain()


async def _connect(place: Place) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(place, Path):
        return await asyncio.open_unix_connection(place)
    return await asyncio.open_connection(*_address(place))


def _address(place: int | tuple[str, int]) -> tuple[str, int]:
    return ("127.0.0.1", place) if isinstance(place, int) else place


@contextlib.asynccontextmanager
async def opened(server: Place, at: Place = 0) -> AsyncIterator[SilentProxy]:
    """Listen for as long as the block lasts, at a port of its own if at none that is given."""
    proxy = SilentProxy(server)
    proxy.go_on()
    if isinstance(at, Path):
        listener = await asyncio.start_unix_server(proxy.serve, at)
    else:
        listener = await asyncio.start_server(proxy.serve, *_address(at))
        proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.close()
