"""Closing undisturbed: a second Ctrl-C must not break off what cleans up after the first."""

import asyncio
import signal

from rich import console as rich_console


async def until_told(talk: rich_console.Console) -> None:
    """Wait for Ctrl-C; further ones are answered with words, until the event loop is closed."""
    told = asyncio.Event()

    def interrupted() -> None:
        if told.is_set():
            talk.print("closing …")
        told.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
    await told.wait()


def undisturbed(talk: rich_console.Console) -> None:
    """From now on answer Ctrl-C with words, until the event loop is closed.

    What closes here takes moments; SIGTERM and SIGKILL still end the process.
    """
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, talk.print, "closing …")
