"""The demo's server: a real ``volary server`` in a process of its own, and commands to it."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import yaml
from rich import console as rich_console

from kube_sandbox import fleet as fleets
from volary.demo import git_repository, harness, processes
from volary.model import errors
from volary.server import web_files

Answer = TypeVar("Answer")
_START = 60.0


@dataclass(slots=True)
class DemoServer:
    """A server that can be started, killed and asked."""

    directory: Path
    port: int
    token: str = ""
    _process: processes.Process = field(init=False)

    def __post_init__(self) -> None:
        words = ("server", "--config", str(self.config))
        self._process = processes.Process(words, self.directory / "server.log")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def config(self) -> Path:
        """Its settings file."""
        return self.directory / "server.yaml"

    async def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            errors.UserError: It ended, or does not answer in time.
        """
        await self._process.start()
        async with asyncio.timeout(_START):
            while not await self._answers():
                if not self._process.is_running:
                    raise errors.user_error(
                        "the server did not start", hint=self._process.last_words
                    )
                await asyncio.sleep(0.1)

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def kill(self) -> int:
        """Kill it as ``kill -9`` does, and return the number of the process that was.

        Raises:
            errors.UserError: It has ended before.
        """
        return await self._process.kill()

    async def stop(self) -> None:
        """End it politely, if it runs."""
        await self._process.stop()

    async def command(self, *words: str) -> str:
        """Run a command of the command line against it and return what it printed.

        Raises:
            errors.UserError: The command failed.
        """
        environment = {**os.environ, "VOLARY_SERVER": self.url, "VOLARY_TOKEN": self.token}
        process = await asyncio.create_subprocess_exec(
            *processes.VOLARY,
            *words,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, complaint = await process.communicate()
        if process.returncode:
            raise errors.user_error(
                f"volary {' '.join(words)} ended with {process.returncode}",
                hint=complaint.decode(errors="replace").strip()[-400:],
            )
        return out.decode(errors="replace")


def page_of(url: str, path: str = "/", *, token: str = "") -> list[str]:
    """Return the lines that say where the web UI is, and how to log in."""
    if web_files.directory() is None:
        return ["the web UI was not built: make web"]
    lines = [f"open {url}{path}"]
    return [*lines, f"  and log in with the API token {token}"] if token else lines


def free_port() -> int:
    """Return a port that is free at the moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass(frozen=True, slots=True)
class ServerEnvironment:
    """Where a scenario plays whose releases a server does."""

    console: rich_console.Console
    sandbox: fleets.Fleet
    #: That it watches, by their names.
    repositories: Mapping[str, git_repository.Repository]
    server: DemoServer

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        shown = harness.manual_commands(self.sandbox, *self.repositories.values())
        pages = page_of(self.server.url, token=self.server.token)
        return [*pages, *shown, f"volary get apps --server {self.server.url}"]


@contextlib.asynccontextmanager
async def prepare(
    console: rich_console.Console,
    base: Path,
    sandbox: fleets.Fleet,
    repositories: Mapping[str, git_repository.Repository],
    settings: Mapping[str, object],
) -> AsyncIterator[ServerEnvironment]:
    """Prepare a server that is stopped in the end, and the repositories that it watches."""
    for name, repository in repositories.items():
        repository.add_remote(base / f"{name}.git")
    server = DemoServer(base, free_port())
    write_settings(server, sandbox.path, base, repositories, settings)
    try:
        yield ServerEnvironment(console, sandbox, repositories, server)
    finally:
        await server.stop()


async def until(
    fetch: Callable[[], Awaitable[Answer]],
    holds: Callable[[Answer], object],
    *,
    patience: float = 600.0,
) -> Answer:
    """Return what the server answers once that holds.

    Raises:
        errors.UserError: It does not within `patience` seconds.
    """
    seen: object = {}
    try:
        async with asyncio.timeout(patience):
            while True:
                try:
                    seen = answer = await fetch()
                except (errors.UserError, errors.TemporaryError) as error:
                    seen = error
                else:
                    if holds(answer):
                        return answer
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise errors.user_error(
            f"the demo did not reach the expected state; the last one was {seen}"
        ) from None


def write_settings(
    server: DemoServer,
    fleet: Path,
    remotes: Path,
    repositories: Iterable[str],
    more: Mapping[str, object],
) -> None:
    """Write what a server is told.

    Args:
        server: Whose settings these are.
        fleet: Its fleet file.
        remotes: The directory of the bare repositories.
        repositories: Names of those that it watches.
        more: More sections, or others in place of these.
    """
    settings = {
        "apiVersion": "volary.dev/v1",
        "kind": "Controller",
        "fleet": str(fleet),
        "dataDirectory": "data",
        "listen": f"127.0.0.1:{server.port}",
        # Until the scenario makes a token, if it does.
        "authentication": "none",
        "repositories": [
            {"name": name, "url": str(remotes / f"{name}.git"), "branch": "main", "interval": "1s"}
            for name in repositories
        ],
        **more,
    }
    server.config.write_text(yaml.safe_dump(settings, sort_keys=False))
