"""One process is the leader: it holds a lease with a fencing number, the others stand by.

The holder renews the lease every few seconds. One that finds itself overtaken, or that could
not renew for as long as the lease lasts, stops all work at once; and whatever it still tries to
write is refused by the store, because its number is old. Another process takes over within the
lease's time plus one look (12 s by default).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from volary.model import errors
from volary.model.runs import run_records
from volary.store import fencing, records, stores

_LOG = logging.getLogger(__name__)

#: The lease of the leader.
NAME = "controller"
_RELEASE_SECONDS = 2.0

Work = Callable[[run_records.Fence], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """How long a lease lasts, and how often it is looked after."""

    ttl: timedelta = timedelta(seconds=10)
    renew: timedelta = timedelta(seconds=3)
    #: How often a process that stands by tries to take it.
    look: timedelta = timedelta(seconds=2)


class _ExpiredError(fencing.LeaseLost):
    """The lease could not be renewed for so long that another may have it."""


async def lead(
    store: stores.Store, owner: str, work: Work, *, timing: LeaseTiming | None = None
) -> None:
    """Do `work` whenever this process holds the lease; goes on until it is cancelled.

    Work is cancelled when the lease is lost, and begun anew with a new fence when it is won
    again. When `drive` itself is cancelled, work ends first and then the lease is given back.
    """
    chosen = timing or LeaseTiming()
    while True:
        lease = await _acquire(store, owner, chosen)
        _LOG.info("acquired leader lease, term %d", lease.number)
        try:
            async with held(store, lease, timing=chosen) as fence:
                await work(fence)
        except* fencing.LeaseLost as lost:
            _LOG.warning("leadership ends: %s", lost.exceptions[0])
        _LOG.warning("another process is the leader now, or may be: this one stands by")


async def _acquire(store: stores.Store, owner: str, timing: LeaseTiming) -> records.Lease:
    silent = False
    while True:
        try:
            lease = await store.leases.acquire(NAME, owner, timing.ttl)
        except errors.TemporaryError as error:
            if not silent:
                _LOG.warning("the lease cannot be read: %s", error)
            lease, silent = None, True
        if lease is not None:
            return lease
        await asyncio.sleep(timing.look.total_seconds())


@asynccontextmanager
async def held(
    store: stores.Store, lease: records.Lease, *, timing: LeaseTiming | None = None
) -> AsyncIterator[run_records.Fence]:
    """Hold a lease during the body, which is cancelled when it is lost, and give it back.

    Raises:
        fencing.LeaseLost: It was lost; in an exception group, as task groups raise.
    """
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(_renew(store, lease, timing or LeaseTiming()))
            try:
                yield lease.fence
            # Raised again below as it is: out of the group it would come wrapped.
            except Exception as error:  # noqa: BLE001
                failure = error
            renewing.cancel()
    finally:
        await _release(store, lease)
    if failure is not None:
        raise failure


async def _renew(store: stores.Store, lease: records.Lease, timing: LeaseTiming) -> None:
    loop = asyncio.get_running_loop()
    good_until = loop.time() + timing.ttl.total_seconds()
    pause = timing.renew.total_seconds()
    while True:
        # Never past the lease's end: there another process takes it.
        left = good_until - loop.time()
        await asyncio.sleep(min(pause, left))
        asked = loop.time()
        try:
            # A database that hangs must not keep us past the lease's end.
            async with asyncio.timeout_at(max(good_until, asked)):
                await store.leases.renew(lease, timing.ttl)
        except (errors.TemporaryError, TimeoutError) as error:
            if left <= pause or loop.time() >= good_until:
                raise _ExpiredError("the lease could not be renewed in time") from error
        else:
            good_until = asked + timing.ttl.total_seconds()


async def _release(store: stores.Store, lease: records.Lease) -> None:
    """Spare the next one the wait; not being able to costs only that."""
    try:
        async with asyncio.timeout(_RELEASE_SECONDS):
            await store.leases.release(lease)
    except (errors.VolaryError, TimeoutError) as error:
        _LOG.info("the lease was not given back: %s", error)
