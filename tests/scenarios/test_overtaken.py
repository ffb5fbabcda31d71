"""A process that was overtaken changes nothing any more, however late what it sent arrives."""

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web

import command_world
import process_time
from controller_process import ControllerProcesses, stop_between_writes
from killed_world import SPEED, SYNCED, until
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
"""
#: Objects that every version has, besides those of the example.
OLD = [f"part-{number:02}" for number in range(30)]
#: Objects that v2 and v3 have.
NEW = ["new-0", "new-1"]
#: How many objects are written before the rest is held up.
WRITTEN = 14
_HOLDER = "select owner from leases where name = 'controller'"


def parts(version: str) -> str:
    """Objects that all say which version they are of."""
    return "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"
        f"data: {{version: {version}}}\n"
        for name in (OLD if version == "v1" else [*NEW, *OLD])
    )


class Holding:
    """Holds up the writes of a process in front of an API server, once some have gone through.

    To the server they are late: whoever sent them may be stopped, or dead, when they arrive.
    """

    def __init__(self) -> None:
        self.is_armed = False
        self.written = 0
        self.held: Counter[str] = Counter()
        #: What the API server has answered to them in the end.
        self.answers: list[int] = []
        self._opened = asyncio.Event()

    @property
    def middleware(self) -> server.Middleware:
        """What stands in front of the API server."""

        @web.middleware
        async def hold(request: web.Request, handler: server.Handler) -> web.StreamResponse:
            asked = request_info.read(request.method, request.path, request.query)
            is_write = asked.verb == "patch" and not request.query.get("dryRun")
            if not self.is_armed or not is_write or asked.name not in (*OLD, *NEW):
                return await handler(request)
            if asked.name in OLD and self.written < WRITTEN:
                self.written += 1
                return await handler(request)
            await request.read()
            self.held[asked.name] += 1
            await self._opened.wait()
            answer = await handler(request)
            self.answers.append(answer.status)
            return answer

        return hold

    @property
    def is_full(self) -> bool:
        """Whether so much was written, and of both kinds of objects some are held up."""
        held = self.held.keys()
        return self.written == WRITTEN and bool(held & set(OLD)) and bool(held & set(NEW))

    async def let_in(self) -> None:
        """Have everything arrive that is held up, and see it answered."""
        self._opened.set()
        await wait_until(lambda: len(self.answers) == self.held.total())


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(process_time.HANG):
        while True:
            if holds():
                return
            await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def given(tmp_path: Path) -> AsyncIterator[tuple[command_world.World, Holding]]:
    """A cluster whose API server can be held up, and v1 of an application."""
    holding = Holding()
    async with command_world.world(
        tmp_path, "us", speed=SPEED, middlewares=(holding.middleware,)
    ) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": APPLICATION, "parts.yaml": parts("v1")}, message="v1")
        try:
            yield world, holding
        finally:
            await holding.let_in()


def versions(world: command_world.World) -> dict[str, set[str]]:
    """Which versions the objects are of."""
    said: dict[str, set[str]] = {"old": set(), "new": set()}
    for name in (*OLD, *NEW):
        body = world.find("us", "ConfigMap", name)
        said["old" if name in OLD else "new"].add(body["data"]["version"] if body else "")
    return said


AMID = {"old": {"v1", "v2"}, "new": {""}}
V3 = {"old": {"v3"}, "new": {"v3"}}


@pytest.mark.usefixtures("engine")
async def test_stopped_in_mid_apply_and_overtaken_a_server_writes_nothing(tmp_path: Path) -> None:
    """Neither what was on its way when it was stopped, nor what it would send when it wakes."""
    async with given(tmp_path) as (world, holding):
        controllers = ControllerProcesses(
            tmp_path / "volary.db", world.directory, world.fleet, lease=1.5
        )
        async with controllers.started("first") as first:
            await until(controllers, SYNCED, bool)
            holding.is_armed = True
            world.write({"parts.yaml": parts("v2")}, message="v2")
            await wait_until(lambda: holding.is_full)
            await stop_between_writes(controllers, first)
            assert versions(world) == AMID
            holding.is_armed = False
            third = world.write({"parts.yaml": parts("v3")}, message="v3")
            async with controllers.started("second"):
                await until(controllers, SYNCED, lambda commit: commit == third)
                assert versions(world) == V3
                before = await world.settled()

                await holding.let_in()

                assert set(holding.answers) == {409}
                assert await world.settled() == before
                os.kill(first, signal.SIGCONT)
            # It leads again only when it has seen that it was overtaken, and given up its work.
            await until(controllers, _HOLDER, lambda owner: owner == "first")
            assert await world.settled() == before
            assert controllers.ask(SYNCED) == [(third,)]


async def test_what_a_killed_run_has_sent_changes_nothing_after_the_next_one(
    tmp_path: Path,
) -> None:
    """On a laptop: `volary run`, killed in mid-apply, and `volary run` of the next version."""
    async with given(tmp_path) as (world, holding):
        await world.deployed()
        holding.is_armed = True
        world.write({"parts.yaml": parts("v2")}, message="v2")
        words = "run", ".", "--fleet", world.fleet, "--strategy", "quick"
        async with world.start(*words) as second:
            await wait_until(lambda: holding.is_full)
            second.interrupt(signal.SIGKILL)
            assert (await second.ended()).code == -signal.SIGKILL
        assert versions(world) == AMID
        holding.is_armed = False
        world.write({"parts.yaml": parts("v3")}, message="v3")

        ended = await world.run("--strategy", "quick", "--abandon")
        assert ended.code == 0, ended
        assert versions(world) == V3
        before = await world.settled()

        await holding.let_in()

        assert set(holding.answers) == {409}
        assert await world.settled() == before
