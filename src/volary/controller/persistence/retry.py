"""Waiting out a store that is locked, full or gone: nothing is lost, and it is said."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from volary.concurrency import retries
from volary.model import errors

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")


async def until_available(action: Callable[[], Awaitable[Value]], what: str) -> Value:
    """Do `action` until the store is there, and return its value; see `retries`."""
    return await retries.until_available(action, what, "the database")


async def until_known(action: Callable[[], Awaitable[Value]], what: str) -> Value:
    """Do an `action` that may be repeated until it works, and return its value.

    After an error that nobody knows it may have been done all the same: it is repeated once, and
    says so then.

    Raises:
        errors.PermanentError: It is refused, so nothing was done.
        Exception: What went wrong with it twice.
    """
    try:
        return await until_available(action, what)
    except Exception as error:
        if isinstance(error, errors.PermanentError):
            raise
        _LOG.exception("%s: it is not known whether it was done; repeated", what)
    return await until_available(action, what)


async def until_done(
    action: Callable[[], Awaitable[Value]], what: str, *, is_final: Callable[[Exception], bool]
) -> Value:
    """Do `action` until it works, whatever goes wrong, and return its value.

    Raises:
        Exception: One for which `is_final` holds.
    """
    failures = 0
    while True:
        try:
            return await until_available(action, what)
        except Exception as error:
            if is_final(error):
                raise
            failures += 1
            _LOG.exception("%s: tried again", what)
            await asyncio.sleep(retries.BACKOFF.after(failures).total_seconds())
