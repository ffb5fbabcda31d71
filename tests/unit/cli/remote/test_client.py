"""A command is asked for once, however often the connection breaks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from volary.cli.remote import client, login
from volary.model import errors


@dataclass
class BreakingServer:
    """Breaks the connection so many times, and then answers."""

    breaks: int
    keys: list[str] = field(default_factory=list)
    url: str = ""

    async def take(self, request: web.Request) -> web.StreamResponse:
        self.keys.append(request.headers["idempotency-key"])
        if len(self.keys) <= self.breaks:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"run": "r1"}, status=202)


@asynccontextmanager
async def serving(breaks: int) -> AsyncIterator[BreakingServer]:
    server = BreakingServer(breaks)
    application = web.Application()
    application.router.add_post("/api/v1/runs/r1/approve", server.take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()


async def test_a_command_whose_connection_broke_is_asked_for_under_its_key() -> None:
    async with (
        serving(1) as server,
        client.Client.open(login.Target(server.url, "")) as opened,
    ):
        answer = await opened.post("runs", "r1", "approve", body={})
        await opened.post("runs", "r1", "approve", body={})

    assert answer == {"run": "r1"}
    first, again, another = server.keys
    assert first == again != another


async def test_a_server_that_always_breaks_off_is_not_asked_for_ever() -> None:
    async with (
        serving(99) as server,
        client.Client.open(login.Target(server.url, "")) as opened,
    ):
        with pytest.raises(errors.TemporaryError, match="cannot be used"):
            await opened.post("runs", "r1", "approve", body={})

    assert (len(server.keys), len(set(server.keys))) == (4, 1)


async def test_a_server_that_cannot_have_heard_is_not_asked_again() -> None:
    async with serving(0) as server:
        pass
    async with client.Client.open(login.Target(server.url, "")) as opened:
        with pytest.raises(errors.TemporaryError, match="cannot be used"):
            await opened.post("runs", "r1", "approve", body={})

    assert server.keys == []
