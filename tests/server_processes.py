"""Given clusters and a repository; when `volary server` runs in processes of its own; then look.

Each process is told of the clusters under a name of its own (see `ADDRESSES`), so that what
they receive shows who sent it.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

import command_world
import process_time
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info

#: Names of this machine: two processes that use different ones are told apart by them.
ADDRESSES = ("127.0.0.1", "localhost")
_SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}/fleet.yaml
listen: 127.0.0.1:0
dataDirectory: {data}
store: {store}
repositories:
- {{name: shop, url: {repository}, interval: 1s}}
"""


@dataclass(frozen=True, slots=True)
class Write:
    """A request that can change a cluster."""

    #: The address that whoever sent it knows the cluster by.
    sender: str
    #: The port of its API server.
    cluster: str
    #: ``patch configmaps/simple``.
    line: str
    #: Seconds of a clock that nobody sets.
    at: float


@dataclass
class Writes:
    """The requests that reached the clusters and can change something, in order."""

    sent: list[Write] = field(default_factory=list)
    #: Whose writes are carried out, and not answered before `answered`.
    held: str = ""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    #: Writes without an answer.
    waiting: int = 0

    @property
    def middleware(self) -> server.Middleware:
        """What stands in front of the API servers."""

        @web.middleware
        async def note(request: web.Request, handler: server.Handler) -> web.StreamResponse:
            asked = request_info.read(request.method, request.path, request.query)
            reads = asked.verb in ("get", "list", "watch") or "dryRun" in request.query
            # Questions that are asked with POST.
            if reads or not asked.resource or asked.resource.startswith("selfsubject"):
                return await handler(request)
            sender, _, cluster = request.host.partition(":")
            line = f"{asked.verb} {asked.resource}/{asked.name}"
            self.sent.append(Write(sender, cluster, line, time.monotonic()))
            answer = await handler(request)
            if sender == self.held:
                self.waiting += 1
                await self.answered.wait()
                self.waiting -= 1
            return answer

        return note

    async def still(self) -> None:
        """Wait until nothing comes any more."""
        seen = -1
        while seen != len(self.sent):
            seen = len(self.sent)
            await asyncio.sleep(0.3)

    def by(self, sender: str) -> list[Write]:
        """Return what one of `ADDRESSES` sent."""
        return [write for write in self.sent if write.sender == sender]


@dataclass
class ServerProcess:
    """A server that runs."""

    process: command_world.Started
    url: str
    #: What it knows the clusters by.
    address: str

    async def get(self, path: str) -> tuple[int, Any]:
        """Return the status and the body of an answer."""
        async with aiohttp.ClientSession() as session, session.get(self.url + path) as answer:
            is_json = answer.content_type.endswith("json")
            return answer.status, await (answer.json() if is_json else answer.text())

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Ask for something; return what is said to it."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + path, json=body) as answer,
        ):
            assert answer.status in (200, 202), await answer.text()
            return await answer.json()

    async def until(self, path: str, holds: Callable[[Any], object]) -> Any:
        """Wait until the body of an answer is so."""
        body = None
        try:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    status, body = await self.get(path)
                    if status == 200 and holds(body):
                        return body
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{path} never was so, but: {body}") from None

    async def synced(self, commit: str = "") -> None:
        """Wait until a commit runs; empty: until one does."""

        def runs(body: Any) -> bool:
            return any(
                item["status"] == "synced" and item["runningCommit"].startswith(commit)
                for item in body["items"]
            )

        await self.until("/api/v1/applications", runs)


def fleet_of(world: command_world.World, base: Path, address: str) -> Path:
    """Write a fleet file whose clusters are at another name of this machine."""
    directory = base / f"fleet-{address}"
    directory.mkdir(exist_ok=True)
    for file in world.running.directory.iterdir():
        (directory / file.name).write_text(file.read_text().replace("127.0.0.1", address))
    return directory


@contextlib.asynccontextmanager
async def started(
    world: command_world.World,
    base: Path,
    store: str,
    *,
    address: str = ADDRESSES[0],
    start: Callable[..., contextlib.AbstractAsyncContextManager[command_world.Started]]
    | None = None,
) -> AsyncIterator[ServerProcess]:
    """Run ``volary server``; it is killed at the end of the block.

    Args:
        world: The clusters and the repository.
        base: Where its files go.
        store: The address of its database.
        address: What it knows the clusters by.
        start: Starts the command; None: as `command_world` does.
    """
    data = base / f"data-{address}"
    data.mkdir(mode=0o700, exist_ok=True)
    file = base / f"{address}.yaml"
    fleet = fleet_of(world, base, address)
    file.write_text(
        _SETTINGS.format(fleet=fleet, data=data, store=store, repository=world.directory)
    )
    async with (start or world.start)("server", "--config", str(file)) as process:
        await process.until("listening on http")
        url = re.search(r"http://127\.0\.0\.1:\d+", process.said)
        assert url
        yield ServerProcess(process, url.group(), address)
