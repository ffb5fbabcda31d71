"""Waiting out a store that is locked, full or gone: nothing is lost, and it is said."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from volary.model import errors

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")

#: Seconds between two attempts at first, and at most.
_FIRST, _LONGEST = 0.2, 5.0


async def until_available(action: Callable[[], Awaitable[Value]], what: str) -> Value:
    """Do `action` until it works and return its value; logs once on loss and once on return.

    Only what may pass is waited out; every other error is the caller's.
    """
    delay, waiting = _FIRST, False
    while True:
        try:
            value = await action()
        except errors.TemporaryError as error:
            if not waiting:
                _LOG.warning("%s waits for the database: %s", what, error)
            waiting = True
            await asyncio.sleep(error.delay.total_seconds() if error.delay else delay)
            delay = min(delay * 2, _LONGEST)
        else:
            if waiting:
                _LOG.warning("%s goes on: the database is back", what)
            return value
