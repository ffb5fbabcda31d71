"""Hundreds of tasks of one process that meet others: what else it asks the server is answered."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import aiohttp
import msgspec
import pytest
from aiohttp import web

import process_time
from volary.agents.orders import keys
from volary.agents.tasks import meetings, server_services, services
from volary.analysis.metering import meters
from volary.controller.agents import run_orders, task_services
from volary.controller.persistence import redaction
from volary.engine.execution import task_contexts
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.engine.state_machine import commands
from volary.model import json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.stages import executor as stage_executor
from volary.stages.runtime import rendezvouses, task_states
from volary.store import factory

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = tuple(f"c-{each}" for each in range(250))
KIND = traffic_stages.PROGRESSIVE_TRAFFIC
RUN = run_builder.new_run(
    "run-1",
    run_builder.RunSpec(
        "shop",
        "new",
        run_builder.one_group(NAMES),
        (pipelines.Stage(KIND.name, KIND.options()),),
        "old",
    ),
    START,
)
STAGE = RUN.stages[0].id


class Clock:
    """Stands still."""

    def now(self) -> datetime:
        return START


@dataclass
class Server:
    """Answers over HTTP, and counts what it answers at a time."""

    answers: task_services.TaskServices
    #: Where the leader carries out one task itself.
    performer: stage_executor.ClusterExecutor
    open_now: int = 0
    most: int = 0

    @property
    def place(self) -> rendezvouses.Rendezvous:
        return self.performer.rendezvous(STAGE)

    async def answer(self, request: web.Request) -> web.Response:
        self.open_now += 1
        self.most = max(self.most, self.open_now)
        try:
            if request.path.endswith("/admit"):
                return web.Response(status=204)
            body = msgspec.json.decode(await request.read())
            asked = json.convert(body["meetings"], list[services.Meeting])
            met = await self.answers.meet(NAMES, asked, wait=body["wait"])
            return web.Response(body=msgspec.json.encode(met))
        finally:
            self.open_now -= 1


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with factory.open_store("memory:", clock=Clock()) as store:
        first = transitions.first_transition(RUN, {"targets": list(NAMES)}, START)
        await store.keep_transition(first, fence=None)
        apart = run_orders.ApartTasks(lambda: keys.read(keys.generate()))
        secrets = redaction.SecretValues()
        performer = stage_executor.ClusterExecutor(*[cast("Any", None)] * 4)
        apart.open_runs["run-1"] = performer
        made = Server(
            task_services.TaskServices(store, Clock(), meters.NoMeter(), secrets, apart), performer
        )
        made.place.join("eu")
        yield made


@pytest.fixture
async def asking(server: Server) -> AsyncIterator[server_services.ServerServices]:
    application = web.Application(client_max_size=2**22)
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as session:
        yield server_services.ServerServices(session, lambda: "token", lambda: [address])
    await runner.cleanup()


async def test_what_else_is_asked_is_answered(
    server: Server, asking: server_services.ServerServices
) -> None:
    ours, everyone = meetings.Meetings(asking), {*NAMES, "eu"}
    heard: dict[str, set[str]] = {}
    may_leave = asyncio.Event()

    async def attend(name: str) -> None:
        command = commands.StartTask(STAGE, name, 1, START + timedelta(hours=1))
        here = rendezvouses.Rendezvous()
        here.join(name)
        async with ours.shared(here, task_contexts.of_command(RUN, command)):
            await process_time.until(lambda: len(here.members) == len(everyone))
            here.post(name, "report 1", len(name))
            heard[name] = set(await here.gather(name, "report 1"))
            await may_leave.wait()

    async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
        for name in NAMES:
            group.create_task(attend(name))
        await process_time.until(lambda: len(server.place.members) == len(everyone))
        server.place.post("eu", "report 1", 0)
        await process_time.until(lambda: len(heard) == len(NAMES))
        # Nothing happens now, and all of them hear.
        for _ in range(3):
            await asking.admit(task_states.TaskAttempt("run-1", STAGE, NAMES[0], 1))
        may_leave.set()

    assert all(names == everyone for names in heard.values())
    assert server.place.members == ("eu",)
    # One says something, two hear, and one asks something else.
    assert server.most <= len(("says", "hears", "hears for those that have begun", "asks"))
