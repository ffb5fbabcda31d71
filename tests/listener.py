"""A real server that counts who connects to it, for programs that should not get there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

SECRET = "the-secret-of-the-server"
_ANSWER = (
    f"HTTP/1.1 200 OK\r\nContent-Length: {len(SECRET)}\r\nConnection: close\r\n\r\n{SECRET}"
).encode()


@dataclass
class Listener:
    """Answers whatever comes with `SECRET`."""

    port: int = 0
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.readline()
        writer.write(_ANSWER)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    """Listen on loopback."""
    made = Listener()
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made
