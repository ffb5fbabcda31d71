"""Who is not known any more finds out, and who was just given a new token is let be."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

import process_time
from volary.agents.tasks import server_services
from volary.concurrency import background_tasks
from volary.model import errors
from volary.stages.runtime import task_states

#: Seconds.
ROTATION = 0.5
PLACE = task_states.TaskAttempt("run-1", "0-K8S_SYNC", "us", 1)


class Server:
    """Answers with a status."""

    status = 200
    address = ""

    async def answer(self, request: web.Request) -> web.Response:
        return web.Response(status=self.status, text='{"detail": "said so"}')


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture
async def services(server: Server) -> AsyncIterator[server_services.ServerServices]:
    async with aiohttp.ClientSession() as session:
        yield server_services.ServerServices(
            session, lambda: "token", lambda: [server.address], rotation=ROTATION
        )


async def refused(services: server_services.ServerServices) -> None:
    with pytest.raises(errors.TemporaryError, match="said so"):
        await services.admit(PLACE)


@pytest.mark.parametrize("status", [401, 403])
async def test_who_is_refused_for_long_is_not_known_any_more(
    server: Server, services: server_services.ServerServices, status: int
) -> None:
    server.status = status
    began = time.monotonic()
    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        waiting = group.create_task(services.until_unknown())
        while not waiting.done():
            await refused(services)
            await asyncio.sleep(0.01)

    assert time.monotonic() - began >= ROTATION


async def test_one_that_is_known_again_was_only_given_a_new_token(
    server: Server, services: server_services.ServerServices
) -> None:
    told = asyncio.Event()

    async def wait() -> None:
        await services.until_unknown()
        told.set()

    async with background_tasks.in_background(wait()):
        for _ in range(3):
            server.status = 401
            await refused(services)
            await asyncio.sleep(ROTATION)
            server.status = 200
            await services.admit(PLACE)

    assert not told.is_set()
