"""A sandbox in the foreground: what ``volary sandbox up`` does."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from volary.sandbox import fleet

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def run(
    names: Sequence[str],
    directory: Path,
    *,
    ready: Callable[[fleet.Fleet], None],
    ports: Sequence[int] | None = None,
    settings: fleet.Settings | None = None,
) -> None:
    """Run a fleet until Ctrl-C or SIGTERM, then end it cleanly.

    `ready` is called once all clusters answer.

    Raises:
        UserError: See `fleet.start`.
    """
    stopped = asyncio.Event()
    with _stopping(stopped):
        async with fleet.start(
            names, ports=ports, directory=directory, settings=settings
        ) as running:
            ready(running)
            await stopped.wait()


@contextlib.contextmanager
def _stopping(stopped: asyncio.Event) -> Iterator[None]:
    """Set `stopped` on a signal, for the length of the block."""
    events = asyncio.get_running_loop()
    for each in _SIGNALS:
        events.add_signal_handler(each, stopped.set)
    try:
        yield
    finally:
        for each in _SIGNALS:
            events.remove_signal_handler(each)
