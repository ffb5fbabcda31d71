"""Real programs beside a sandbox: found, started, waited for, ended with the fleet."""

import asyncio
import contextlib
import os
import shutil
import signal
import sysconfig
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from kube_sandbox import errors

VARIABLE = "KUBE_SANDBOX_PROGRAMS"
#: Seconds a program gets to end by itself.
_GRACE = 5.0
_LOOK = 0.05
_TAIL = 2000


def find(name: str) -> str | None:
    """Return where a program is: beside this Python, then on the search path.

    None with ``KUBE_SANDBOX_PROGRAMS=none``: a sandbox that has to do without.
    """
    if os.environ.get(VARIABLE) == "none":
        return None
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


class Program:
    """A running program; made by `start`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.name = name
        self._process = process
        self._log = log

    async def until(self, ready: Callable[[], Awaitable[bool]], *, seconds: float = 20.0) -> None:
        """Wait until it is ready.

        Raises:
            UserError: It has ended, or is not ready in time; with the end of what it said.
        """
        try:
            async with asyncio.timeout(seconds):
                while not await ready():
                    if self._process.returncode is not None:
                        raise self._failed("has ended")
                    await asyncio.sleep(_LOOK)
        except TimeoutError:
            raise self._failed(f"is not ready after {seconds:g} seconds") from None

    async def stop(self) -> None:
        """End it, by force when it does not within some seconds."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_GRACE):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _failed(self, what: str) -> errors.UserError:
        with contextlib.suppress(OSError):
            said = self._log.read_text(errors="replace")[-_TAIL:].strip()
            return errors.UserError(f"{self.name} {what}: {said}")
        return errors.UserError(f"{self.name} {what}")


async def start(name: str, words: Sequence[str], *, log: Path, directory: Path) -> Program:
    """Start a program whose output goes to the file `log`.

    It leads a process group of its own: Ctrl-C must not end it before who works with it.

    Raises:
        UserError: It is not installed, or cannot be started.
    """
    path = find(name)
    if path is None:
        raise errors.UserError(f"{name} is not installed")
    try:
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                path,
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=directory,
                start_new_session=True,
                env={"PATH": os.defpath, "HOME": str(directory), "TMPDIR": str(directory)},
            )
    except OSError as problem:
        raise errors.UserError(f"cannot start {path}: {problem.strerror}") from problem
    return Program(name, process, log)


async def listens(host: str, port: int) -> bool:
    """Tell whether something accepts connections."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
