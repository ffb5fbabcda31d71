"""A user's script as a process: its output line by line, and its end with all its children.

The script is the user's own text, out of Git, given to ``/bin/sh -l -c`` (that is PipeCD's
contract). It gets a process group of its own, nothing on its standard input, and an
environment that holds nothing of ours but the search path.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from volary.concurrency import races
from volary.model import errors, safe_text

SHELL = "/bin/sh"
#: Longer lines are cut.
LONGEST_LINE = 4000
#: Beyond that the output is read, so that the script does not block, but not shown.
MOST_LINES = 5000
_CHUNK = 64 * 1024
#: How long the children of a script that has ended may keep its output open.
_LINGER = 1.0
_LONGEST_EXIT = 5.0
_MARK = "VOLARY_TASK"
_PROCESSES = Path("/proc")
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class End(StrEnum):
    """Why a script is over."""

    EXITED = "exited"
    #: Its time was over.
    LATE = "late"
    #: Somebody asked to stop.
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a script ended."""

    end: End
    #: The exit status; negative: the signal that ended it.
    code: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a script may take."""

    timeout: timedelta
    #: Between the polite signal and the one that cannot be refused.
    grace: timedelta = timedelta(seconds=5)


async def run(
    script: str,
    *,
    directory: Path,
    home: Path,
    environment: Mapping[str, str],
    limits: Limits,
    say: Callable[[str], None],
    stop: Callable[[], Awaitable[None]],
    mark: str = "",
) -> Ended:
    """Run a script to its end; when it is late or has to stop, end it with its children.

    Children are found by their process group and by their environment, which bears `mark`, so
    one that left the group is found too. Before it starts, whatever an earlier process of
    ours left running under the same mark is ended.

    Args:
        script: What the shell is given.
        directory: Where it runs.
        home: A directory of its own for ``HOME`` and temporary files.
        environment: Its variables, besides the search path and the home.
        limits: How long it may take.
        say: Gets each line of its output, both streams in the order they come.
        stop: Returns when the script has to stop.
        mark: What no other script that runs at the same time has; empty: only the process
            group counts.

    Raises:
        UserError: The shell cannot be started.
    """
    await asyncio.to_thread(_end_marked, mark)
    stream, transport, output = await _pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(SHELL, "-l", "-c", script),
            cwd=directory,
            env={**_environment(home), **environment, **({_MARK: mark} if mark else {})},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        transport.close()
        raise errors.user_error(f"the script cannot be started: {error}") from error
    finally:
        os.close(output)
    try:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(_read(stream, say))
            end = await _wait(process, limits, stop)
            if end is not End.EXITED:
                await _end(process, limits.grace)
            # Children that outlive the shell do not hold it up.
            await asyncio.wait((reading,), timeout=_LINGER)
            _signal(process.pid, signal.SIGKILL)
            reading.cancel()
    finally:
        # Also when we are broken off: nobody else knows about its children.
        _signal(process.pid, signal.SIGKILL)
        transport.close()
        await asyncio.shield(_reap(process, mark))
    return Ended(end, process.returncode if process.returncode is not None else -signal.SIGKILL)


async def _pipe() -> tuple[asyncio.StreamReader, asyncio.ReadTransport, int]:
    """Return our end of a new pipe, what closes it, and the number of the script's end.

    asyncio's own pipes would make waiting for the shell wait for its children as well.
    """
    ours, theirs = os.pipe()
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ours, "rb", buffering=0)
    )
    return stream, transport, theirs


async def _wait(
    process: asyncio.subprocess.Process, limits: Limits, stop: Callable[[], Awaitable[None]]
) -> End:
    """Wait until the script has exited, is late, or has to stop."""
    seconds = max(0.0, limits.timeout.total_seconds())
    ended, asked = await races.first(process.wait(), stop(), timeout=seconds)
    if not ended.cancelled():
        return End.EXITED
    return End.LATE if asked.cancelled() else End.STOPPED


async def _end(process: asyncio.subprocess.Process, grace: timedelta) -> None:
    """Ask the whole group to end, and wait as long as that may take."""
    _signal(process.pid, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace.total_seconds()):
            await process.wait()


async def _reap(process: asyncio.subprocess.Process, mark: str) -> None:
    await asyncio.to_thread(_end_marked, mark)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_EXIT):
            await process.wait()


def _end_marked(mark: str) -> None:
    """End every process of ours that bears a mark, on systems that tell (Linux)."""
    if not mark:
        return
    wanted = f"{_MARK}={mark}".encode()
    for place in _PROCESSES.glob("[0-9]*/environ"):
        # Those of others cannot be read, and some end while we look.
        with contextlib.suppress(OSError):
            if wanted in place.read_bytes().split(b"\0"):
                os.kill(int(place.parent.name), signal.SIGKILL)


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _read(stream: asyncio.StreamReader, say: Callable[[str], None]) -> None:
    """Pass on the output line by line, within bounds; read the rest and drop it."""
    pending, count = b"", 0
    while chunk := await stream.read(_CHUNK):
        *lines, pending = (pending + chunk).split(b"\n")
        if len(pending) > LONGEST_LINE:
            lines, pending = [*lines, pending], b""
        for line in lines:
            count += 1
            _tell(line, count, say)
    if pending:
        _tell(pending, count + 1, say)


def _tell(line: bytes, number: int, say: Callable[[str], None]) -> None:
    if number > MOST_LINES:
        return
    text = safe_text.printable(line[: 4 * LONGEST_LINE].decode("utf-8", "replace").rstrip("\r"))
    say(text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} …")
    if number == MOST_LINES:
        say(f"more than {MOST_LINES} lines: the rest of the output is not shown")


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH") or _DEFAULT_PATH,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
    }
