"""Waiting out what is away for a while: nothing is lost, and it is said."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from volary.model import backoffs, errors

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")

BACKOFF = backoffs.Backoff(timedelta(milliseconds=200), timedelta(seconds=5))


async def until_available(action: Callable[[], Awaitable[Value]], what: str, whom: str) -> Value:
    """Do `action` until it works and return its value; logs once on loss and once on return.

    Only what may pass is waited out; every other error is the caller's.

    Args:
        action: What is done; again and again, so that it may be done twice.
        what: Who waits, for the log.
        whom: What it waits for: ``the database``.
    """
    failures = 0
    while True:
        try:
            value = await action()
        except errors.TemporaryError as error:
            if not failures:
                _LOG.warning("%s waits for %s: %s", what, whom, error)
            failures += 1
            await asyncio.sleep((error.delay or BACKOFF.after(failures)).total_seconds())
        else:
            if failures:
                _LOG.warning("%s goes on: %s is back", what, whom)
            return value
