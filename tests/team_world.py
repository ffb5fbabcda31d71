"""Given clusters and a repository; when a `volary server` runs for them; then somebody uses it.

The server is a process of its own, driven by Git; the clusters live in the test's process.
"""

import asyncio
import contextlib
import json
import re
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp

import command_world
import process_time

CANARY = "canary-5f2b1c77e9"
SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:{port}
dataDirectory: {data}
repositories:
- name: shop
  url: {repository}
  interval: {interval}
  webhook: {{provider: gitlab, secretFile: {data}/hook}}
"""


@dataclass
class Team:
    """A server, and somebody who is logged in."""

    world: command_world.World
    process: command_world.Started
    url: str
    token: str
    data: Path

    async def volary(self, *words: str) -> command_world.Ended:
        return await self.world.volary(*words, VOLARY_SERVER=self.url, VOLARY_TOKEN=self.token)

    async def type_what_is_said(self, verb: str, *more: str) -> command_world.Ended:
        """Type the command that `volary explain` says, and `more`."""
        explained = json.loads((await self.volary("explain", "simple", "-o", "json")).out)
        said = [line for line in explained["nextCommands"] if line.startswith(f"volary {verb} ")]
        return await self.volary(*shlex.split(said[0])[1:], *more)

    async def read(self, path: str, last: str) -> str:
        """Return what a stream says until an event of that name has come."""
        headers = {"authorization": f"Bearer {self.token}"}
        said = ""
        async with (
            asyncio.timeout(process_time.HANG),
            aiohttp.ClientSession(headers=headers, read_bufsize=1 << 22) as session,
            session.get(f"{self.url}/api/v1{path}") as answer,
        ):
            assert answer.status == 200, await answer.text()
            while f"event: {last}\n" not in said or not said.endswith("\n\n"):
                said += (await answer.content.readline()).decode()
        return said

    async def request_refresh(self) -> None:
        """A webhook of the Git host."""
        headers = {"x-gitlab-token": f"hook-{CANARY}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.url}/webhooks/shop", headers=headers) as answer,
        ):
            assert answer.status == 202

    async def pushed(self, commit: str) -> None:
        """Wait until a commit has become a run."""
        async with asyncio.timeout(process_time.HANG):
            while True:
                if f'"commit": "{commit}"' in (await self.volary("get", "runs", "-o", "json")).out:
                    return
                await self.request_refresh()
                await asyncio.sleep(0.1)

    async def log_in(self) -> int:
        """Type `volary login` and the token; return its exit code."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "volary", "login", self.url),
            env=self.world.environment,
            stdin=asyncio.subprocess.PIPE,
        )
        await process.communicate(f"{self.token}\n".encode())
        return process.returncode or 0

    async def known(self) -> None:
        """Wait until the application was found and its first run is over."""
        async with asyncio.timeout(process_time.HANG):
            while "synced" not in (await self.volary("get", "apps")).out:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


async def everything_shown(session: aiohttp.ClientSession) -> dict[str, str]:
    """Return what every path shows that can be read to an end, of each run and of `simple`."""
    seen = {}
    async with session.get("/api/v1/openapi.json") as answer:
        paths = (await answer.json())["paths"]
    async with session.get("/api/v1/runs") as answer:
        runs = [each["id"] for each in (await answer.json())["items"]]
    for path, operations in paths.items():
        # What is followed of an application goes on for as long as somebody listens.
        is_endless = path.endswith("/stream") and "{run}" not in path
        for run in runs if "{run}" in path else runs[:1]:
            filled = path.replace("{run}", run).replace("{application}", "simple")
            if "get" in operations and not is_endless:
                async with session.get(filled) as answer:
                    seen[f"GET {filled}"] = await answer.text()
    return seen


@contextlib.asynccontextmanager
async def team(
    base: Path,
    world: command_world.World,
    *,
    interval: str = "1s",
    more: str = "",
    arguments: tuple[str, ...] = (),
    port: int = 0,
) -> AsyncIterator[Team]:
    """Serve beside the block; `more` are settings, and `arguments` are those of the server."""
    data = base / "data"
    data.mkdir(mode=0o700)
    (data / "hook").write_text(f"hook-{CANARY}")
    file = base / "volary-server.yaml"
    settings = {"fleet": world.fleet, "data": data, "repository": world.directory, "port": port}
    file.write_text(SETTINGS.format(**settings, interval=interval) + more)
    made = await world.volary("token", "create", "ana", "--role", "admin", "--config", str(file))
    assert made.code == 0, made
    async with world.start("server", "--config", str(file), *arguments) as process:
        await process.until("listening on http")
        found = re.search(r"http://127\.0\.0\.1:\d+", process.said)
        assert found
        yield Team(world, process, found.group(), made.out.strip(), data)
