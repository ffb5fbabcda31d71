"""Shells in namespaces of their own, and processes that see what they see.

Nothing of a namespace is left when its shell and what was started there have ended.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import command_world
import warm_processes

#: Most kernels ask for no privileges of who is root in a namespace alone.
OWN_USER = ("--user", "--map-root-user")
#: Before the exit code of a line.
_ENDED = "ended="


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell in namespaces of its own."""

    process: asyncio.subprocess.Process

    @property
    def pid(self) -> int:
        """Its number, for `warm_processes`."""
        return self.process.pid

    @property
    def inside(self) -> Sequence[str]:
        """What has a command run with its user and network, before the command's words."""
        entered = ("--user", "--net", "--preserve-credentials")
        return ("nsenter", "--target", str(self.pid), *entered)

    async def do(self, line: str) -> None:
        """Carry out a line, which must not fail."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{{ {line}; }} 2>&1; printf '\\n%s%d\\n' {_ENDED} $?\n".encode())
        said = ""
        while not (last := (await self.process.stdout.readline()).decode()).startswith(_ENDED):
            assert last, f"the shell has ended: {said}"
            said += last
        assert last == f"{_ENDED}0\n", f"{line}: {said}"

    @contextlib.asynccontextmanager
    async def start(
        self, world: command_world.World, *words: str
    ) -> AsyncIterator[command_world.Started]:
        """Run ``volary …`` beside it; it is killed at the end of the block."""
        async with warm_processes.volary(
            *words, directory=world.directory, environment=world.environment, inside=self.pid
        ) as process:
            yield command_world.Started(process)


@contextlib.asynccontextmanager
async def opened(
    line: str, *options: str, inside: Sequence[str] = (), lacking: str
) -> AsyncIterator[Shell]:
    """Start a shell that has carried out a line; or skip the test.

    Args:
        line: What it begins with.
        options: Of ``unshare``: which namespaces it has of its own.
        inside: Of another shell, in whose namespaces it is otherwise.
        lacking: What is not possible here if that fails.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *(*inside, "unshare", *options, "sh", "-c", f"{line} && echo && exec sh"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except FileNotFoundError as error:
        pytest.skip(f"the program {Path(error.filename).name} is not installed")
    try:
        assert process.stdout is not None
        if not await process.stdout.readline():
            _, err = await process.communicate()
            pytest.skip(f"{lacking}: {err.decode().strip()}")
        yield Shell(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
