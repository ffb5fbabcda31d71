"""Waiting out a store that is locked, full or gone: nothing is lost, and it is said."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from volary.model import backoffs, errors

_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")

_BACKOFF = backoffs.Backoff(timedelta(milliseconds=200), timedelta(seconds=5))


async def until_available(action: Callable[[], Awaitable[Value]], what: str) -> Value:
    """Do `action` until it works and return its value; logs once on loss and once on return.

    Only what may pass is waited out; every other error is the caller's.
    """
    failures = 0
    while True:
        try:
            value = await action()
        except errors.TemporaryError as error:
            if not failures:
                _LOG.warning("%s waits for the database: %s", what, error)
            failures += 1
            await asyncio.sleep((error.delay or _BACKOFF.after(failures)).total_seconds())
        else:
            if failures:
                _LOG.warning("%s goes on: the database is back", what)
            return value


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
            await asyncio.sleep(_BACKOFF.after(failures).total_seconds())
