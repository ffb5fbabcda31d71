"""Given clusters and a repository; when `volary server` runs in processes of its own; then look.

Each process is told of the clusters under a name of its own (see `ADDRESSES`), so that what
they receive shows who sent it.
"""

import asyncio
import contextlib
import email.utils
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

import command_world
import engine_fixtures
import process_time
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info

#: Names of this machine: two processes that use different ones are told apart by them.
ADDRESSES = ("127.0.0.1", "localhost")
#: Starts ``volary …``, which is killed at the end of the block.
Start = Callable[..., contextlib.AbstractAsyncContextManager[command_world.Started]]
#: Seconds by which clocks differ that show the same time, on a machine however slow.
_CLOCKS_DIFFER = 600.0


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

    async def is_ahead(self, by: timedelta) -> None:
        """Wait until its wall clock is that much ahead of the machine's."""
        async with aiohttp.ClientSession() as session, asyncio.timeout(process_time.HANG):
            while True:
                async with session.get(self.url + "/healthz") as answer:
                    shown = email.utils.parsedate_to_datetime(answer.headers["date"]).timestamp()
                if abs(shown - time.time() - by.total_seconds()) < _CLOCKS_DIFFER:
                    return
                await asyncio.sleep(0.1)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Ask for something; return what is said to it."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + path, json=body) as answer,
        ):
            assert answer.status in (200, 202), await answer.text()
            return await answer.json()

    async def ask(self, verb: str, run: Any, **options: Any) -> tuple[int, Any]:
        """Ask for something about a run as it was looked at; return the answer."""
        address = f"{self.url}/api/v1/runs/{run['summary']['id']}/{verb}"
        body = {"seen": run["seen"], **options}
        async with aiohttp.ClientSession() as session, session.post(address, json=body) as answer:
            return answer.status, await answer.json()

    async def waiting(self, commit: str) -> Any:
        """Wait until the run of a commit waits for somebody; return it."""
        path = f"/api/v1/runs?commit={commit}&status=waiting"
        body = await self.until(path, lambda body: body["items"])
        return await self.run(body["items"][0]["id"])

    async def run(self, run_id: str) -> Any:
        """Return a run as it is now."""
        return (await self.get(f"/api/v1/runs/{run_id}"))[1]

    async def until(self, path: str, holds: Callable[[Any], object], *, status: int = 200) -> Any:
        """Wait until the body of an answer with this status is so."""
        body = None
        try:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    answered, body = await self.get(path)
                    if answered == status and holds(body):
                        return body
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"{path} never was so, but: {body}") from None

    async def asks(self, commit: str) -> str:
        """Wait until the run of a commit asks for approval, and return it."""

        def waits(body: Any) -> bool:
            newest = next(iter(body["items"]), {})
            return (newest.get("commit"), newest.get("status")) == (commit, "waiting")

        runs = await self.until("/api/v1/runs?limit=1", waits)
        return str(runs["items"][0]["id"])

    async def approve(self, run: str) -> None:
        """Approve what a run asks for, once this process carries it out."""
        _, body = await self.get(f"/api/v1/runs/{run}")
        await self.post(f"/api/v1/runs/{run}/approve", {"seen": body["seen"]})

    async def ended(self, run: str) -> Any:
        """Wait for a run's end; return how it ended."""
        body = await self.until(f"/api/v1/runs/{run}", lambda body: body["summary"]["finished"])
        return body["summary"]

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


def write_settings(
    world: command_world.World,
    base: Path,
    store: str,
    *,
    address: str = ADDRESSES[0],
    **settings: object,
) -> Path:
    """Write the settings of a server that watches the repository of the world.

    Args:
        world: The clusters and the repository.
        base: Where its files go.
        store: The address of its database.
        address: What it knows the clusters by.
        settings: More sections, or others in place of those.
    """
    data = base / f"data-{address}"
    data.mkdir(mode=0o700, exist_ok=True)
    written = {
        "apiVersion": "volary.dev/v1",
        "kind": "Controller",
        "fleet": str(fleet_of(world, base, address) / "fleet.yaml"),
        "listen": "127.0.0.1:0",
        "dataDirectory": str(data),
        "authentication": "none",
        "store": store,
        "repositories": [{"name": "shop", "url": str(world.directory), "interval": "1s"}],
    }
    file = base / f"{address}.yaml"
    file.write_text(json.dumps({**written, **engine_fixtures.document(), **settings}))
    return file


@contextlib.asynccontextmanager
async def started(
    world: command_world.World,
    base: Path,
    store: str,
    *,
    address: str = ADDRESSES[0],
    start: Start | None = None,
    **settings: object,
) -> AsyncIterator[ServerProcess]:
    """Run ``volary server``; it is killed at the end of the block.

    Args:
        world: The clusters and the repository.
        base: Where its files go.
        store: The address of its database.
        address: What it knows the clusters by.
        start: Starts the command; None: as `command_world` does.
        settings: More sections of its settings, or others in place of what `write_settings` has.
    """
    file = write_settings(world, base, store, address=address, **settings)
    async with (start or world.start)("server", "--config", str(file)) as process:
        await process.until("listening on http")
        url = re.search(r"http://127[.\d]+:\d+", process.said)
        assert url
        yield ServerProcess(process, url.group(), address)
