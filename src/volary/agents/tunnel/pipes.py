"""Joins a stream of a tunnel with a socket: what comes on one goes out on the other."""

import asyncio
import contextlib

from volary.agents.tunnel import tunnels

#: Bytes that are read from a socket at once; half of them may wait in it.
_PIECE = 64 * 1024


async def join(
    stream: tunnels.Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass bytes on both ways until both have ended, or either breaks off; both are closed then."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_send(stream, reader), name="to the tunnel")
            group.create_task(_receive(stream, writer), name="from the tunnel")
    except* OSError:
        writer.transport.abort()
    finally:
        stream.reset()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _send(stream: tunnels.Stream, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(_PIECE):
        await stream.write(data)
    await stream.end()


async def _receive(stream: tunnels.Stream, writer: asyncio.StreamWriter) -> None:
    while data := await stream.read():
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
