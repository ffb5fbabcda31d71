"""Runs a program: bounded, and gone with all its children when its time is over."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from volary.model import errors

LARGEST_OUTPUT = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_CHUNK = 64 * 1024
#: Seconds; a killed program is gone at once, unless the disk hangs.
_LONGEST_EXIT = 5


class ProcessTimeoutError(errors.UserError):
    """A program did not end in time."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a program ended."""

    code: int
    output: bytes
    #: What it said on stderr, cut when very long.
    complaint: str

    def text(self, name: str) -> str:
        """Return the output as text.

        Raises:
            UserError: It is not UTF-8.
        """
        try:
            return self.output.decode()
        except UnicodeDecodeError as error:
            raise errors.user_error(f"{name} wrote something that is not UTF-8 text") from error


async def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: timedelta,
    largest: int = LARGEST_OUTPUT,
    directory: Path | None = None,
    name: str = "",
) -> ProcessResult:
    """Run a program in `directory` (None: in ours), without a shell and standard input.

    Problems call it `name`; empty: as its file is called.

    Raises:
        ProcessTimeoutError: It did not end in time.
        UserError: It could not be started, or wrote too much.
    """
    name = name or Path(argv[0]).name
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=directory,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # it cannot ask on our terminal, and ends as a whole
        )
    except OSError as error:
        raise errors.user_error(f"{name} cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(timeout.total_seconds()):
            output, complaint = await _collect(process, largest, name)
            code = await process.wait()
    except TimeoutError as error:
        await _kill(process)
        message = f"{name} did not end within {timeout.total_seconds():g} seconds"
        raise ProcessTimeoutError(errors.Problem(message)) from error
    except BaseException:
        # Also when we are cancelled: nobody else knows about the program.
        await asyncio.shield(_kill(process))
        raise
    return ProcessResult(code, output, complaint.decode("utf-8", "replace").strip())


async def _collect(
    process: asyncio.subprocess.Process, largest: int, name: str
) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.TaskGroup() as group:
        complaint = group.create_task(_read(process.stderr, _LARGEST_ERROR))
        # One byte more than it may be, to see that it is too much.
        output = await _read(process.stdout, largest + 1, until_full=True)
        if len(output) > largest:
            complaint.cancel()
    # Raised out here: what is raised inside of a group comes out wrapped.
    if len(output) > largest:
        raise errors.user_error(f"{name} wrote more than {largest // (1024 * 1024)} MiB")
    return output, complaint.result()


async def _read(stream: asyncio.StreamReader, most: int, *, until_full: bool = False) -> bytes:
    """Return the first `most` bytes; the rest is read too, so that the program does not block."""
    kept = bytearray()
    while chunk := await stream.read(_CHUNK):
        kept += chunk[: most - len(kept)]
        if until_full and len(kept) == most:
            break
    return bytes(kept)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the program and its children, and wait until nothing of them is left."""
    # Its own session, so its own group. As long as one of them lives, the number is theirs.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_EXIT):
            await process.communicate()


def private_environment(program: str, home: Path) -> dict[str, str]:
    """Return an environment that holds nothing of ours, with `home` as the home.

    A search path with the program's own directory, and a proxy that leads nowhere: a second
    fence behind the check for remote references.
    """
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": str(Path(program).parent),
        "HOME": str(home),
        "TMPDIR": str(home),
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "",
    }
