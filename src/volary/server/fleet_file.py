"""Reads the fleet file again when it has changed, or when the process is asked to (SIGHUP).

A file that cannot be read, or has errors, changes nothing: the fleet stays as it is and the log
says what has to be mended, once for each version of the file.
"""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator

from volary.model import errors
from volary.model.fleet import fleets

_LOG = logging.getLogger(__name__)
#: Seconds between two looks at the file's date.
INTERVAL = 2.0

_Stamp = tuple[int, int, int] | None


async def keep_watching(
    file: str,
    read: Callable[[], fleets.Fleet],
    change: Callable[[fleets.Fleet], None],
    *,
    interval: float = INTERVAL,
) -> None:
    """Watch until cancelled.

    Args:
        file: The fleet file.
        read: Reads it; may raise UserError.
        change: Is given the fleet whenever the file was read anew.
        interval: Seconds between two looks at the file's date.
    """
    asked = asyncio.Event()
    seen = await asyncio.to_thread(_stamp, file)
    with _on_hangup(asked):
        while True:
            is_asked = await _wait(asked, interval)
            now = await asyncio.to_thread(_stamp, file)
            if not is_asked and now == seen:
                continue
            seen = now
            try:
                fleet = await asyncio.to_thread(read)
            except errors.UserError as error:
                first = str(error.problems[0]).splitlines()[0]
                _LOG.error("the fleet stays as it was: %s", first)
            else:
                _LOG.info("the fleet file was read again: %d clusters", len(fleet.clusters))
                change(fleet)


async def _wait(asked: asyncio.Event, seconds: float) -> bool:
    """Wait, and say whether somebody asked."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asked.wait()
    is_asked = asked.is_set()
    asked.clear()
    return is_asked


def _stamp(file: str) -> _Stamp:
    try:
        file_status = os.stat(file)
    except OSError:
        return None
    return file_status.st_mtime_ns, file_status.st_size, file_status.st_ino


@contextlib.contextmanager
def _on_hangup(asked: asyncio.Event) -> Iterator[None]:
    """Have SIGHUP ask, where signals can be taken: in the main thread."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGHUP, asked.set)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
