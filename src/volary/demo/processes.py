"""A ``volary`` command of the demo that goes on in a process of its own."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volary.model import errors

VOLARY = (sys.executable, "-m", "volary")
_STOP = 20.0
#: Characters of a log that are worth showing.
_LAST_WORDS = 400


@dataclass(slots=True)
class Process:
    """One that can be started, killed and started again."""

    #: What is typed after ``volary``.
    words: Sequence[str]
    #: Where all its lives write what they say.
    log: Path
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def last_words(self) -> str:
        """What it said last."""
        return self.log.read_text()[-_LAST_WORDS:]

    async def start(self) -> None:
        """Start it, and do not wait for anything."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *VOLARY, *self.words, stdout=log, stderr=log
            )

    async def kill(self) -> int:
        """Kill it as ``kill -9`` does, and return the number of the process that was.

        Raises:
            errors.UserError: It has ended before.
        """
        process = self._process
        if process is None or process.returncode is not None:
            raise errors.user_error(f"volary {self.words[0]} of the demo has ended by itself")
        process.send_signal(signal.SIGKILL)
        await process.wait()
        return process.pid

    async def stop(self) -> None:
        """End it politely, if it runs."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(_STOP):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
