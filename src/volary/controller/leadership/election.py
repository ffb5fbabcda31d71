"""One process is the leader: it holds a lease with a fencing number, the others stand by.

The holder renews the lease every few seconds. One that finds itself overtaken, or that could
not renew for as long as the lease lasts, stops all work at once, whatever the store does with what
it was asked last; and whatever it still tries to write is refused by the store, because its
number is old. Another process takes over within the lease's time plus two looks (14 s by default).

Nobody compares clocks of two machines. The store's clock says whether a lease has expired to who
has just come; who stands by takes over once it has seen the lease unchanged for its whole time, by
its own clock. The holder counts for itself how long the lease is good (`tenures`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from volary.controller import system_clock
from volary.controller.leadership import tenures
from volary.model import errors
from volary.model.runs import run_records
from volary.store import fencing, records, stores

_LOG = logging.getLogger(__name__)

#: The lease of the leader.
NAME = "controller"
_RELEASE_SECONDS = 2.0
#: How often a holder looks whether its time is over, at least.
_WATCH = timedelta(seconds=1)
#: Seconds; when the time is nearly over.
_SHORTEST = 0.01

Work = Callable[[run_records.Fence], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """How long a lease lasts, and how often it is looked after."""

    ttl: timedelta = timedelta(seconds=10)
    renew: timedelta = timedelta(seconds=3)
    #: How often a process that stands by tries to take it.
    look: timedelta = timedelta(seconds=2)

    @property
    def good_for(self) -> timedelta:
        """How long the holder acts by it: what it sent last has to arrive before the end."""
        return self.ttl * 0.8


class _ExpiredError(fencing.LeaseLost):
    """The lease could not be renewed for so long that another may have it."""


async def lead(
    store: stores.Store,
    owner: str,
    work: Work,
    *,
    timing: LeaseTiming | None = None,
    tenure: tenures.Tenure | None = None,
) -> None:
    """Do `work` whenever this process holds the lease; goes on until it is cancelled.

    Work is cancelled when the lease is lost, and begun anew with a new fence when it is won
    again. When `drive` itself is cancelled, work ends first and then the lease is given back.
    `tenure` says at each moment whether this process may act.
    """
    chosen, mine = timing or LeaseTiming(), tenure or tenures.Tenure(system_clock.elapsed)
    while True:
        lease = await _win(store, owner, chosen, mine)
        _LOG.info("acquired leader lease, term %d", lease.number)
        await _cancellable(_serve(store, lease, work, chosen, mine))
        _LOG.warning("another process is the leader now, or may be: this one stands by")


async def _serve(
    store: stores.Store,
    lease: records.Lease,
    work: Work,
    timing: LeaseTiming,
    tenure: tenures.Tenure,
) -> None:
    try:
        async with held(store, lease, timing=timing, tenure=tenure) as fence:
            await work(fence)
    except* fencing.LeaseLost as lost:
        _LOG.warning("leadership ends: %s", lost.exceptions[0])


async def _cancellable(term: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of a term; cancelled is cancelled, also while the term is ending anyway.

    A task group that ends with an error forgets that it was cancelled meanwhile.
    """
    task = asyncio.create_task(term)  # noqa: TID251 - awaited here, whatever happens
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            task.cancel()
    if cancelled is not None:
        raise cancelled
    task.result()


class _StandBy:
    """What a process that stands by has seen of the lease."""

    def __init__(self, elapsed: tenures.Elapsed, owner: str) -> None:
        self._elapsed = elapsed
        self._owner = owner
        self._seen: records.Lease | None = None
        self._since = 0.0
        self._has_changed = False

    def see(self, held: records.Lease | None) -> None:
        """Take note of the lease as it is now."""
        if held != self._seen:
            self._has_changed = self._seen is not None and held is not None
            self._seen, self._since = held, self._elapsed()

    def stale(self, ttl: timedelta) -> records.Lease | None:
        """Return the lease when it was not renewed for its whole time."""
        silent = self._elapsed() - self._since >= ttl.total_seconds()
        return self._seen if silent else None

    def may_try(self, ttl: timedelta) -> bool:
        """Whether to try to take it: not while it was seen being renewed."""
        held = self._seen
        free = held is None or held.owner in ("", self._owner)
        return free or not self._has_changed or self.stale(ttl) is not None


async def _win(
    store: stores.Store, owner: str, timing: LeaseTiming, tenure: tenures.Tenure
) -> records.Lease:
    silent = False
    watched = _StandBy(tenure.elapsed, owner)
    while True:
        lease = None
        try:
            watched.see(await store.leases.look(NAME))
            if watched.may_try(timing.ttl):
                stale = watched.stale(timing.ttl)
                lease = await acquire(store, NAME, owner, timing, tenure, stale=stale)
        except errors.TemporaryError as error:
            if not silent:
                _LOG.warning("the lease cannot be read: %s", error)
            silent = True
        if lease is not None:
            return lease
        await asyncio.sleep(timing.look.total_seconds())


async def acquire(
    store: stores.Store,
    name: str,
    owner: str,
    timing: LeaseTiming,
    tenure: tenures.Tenure,
    *,
    stale: records.Lease | None = None,
) -> records.Lease | None:
    """Take a lease that is free, expired, or still the `stale` one; None: another holds it.

    The tenure begins before it was asked for.
    """
    asked = tenure.elapsed()
    lease = await store.leases.acquire(name, owner, timing.ttl, stale=stale)
    if lease is not None:
        tenure.extend(asked, timing.good_for)
    return lease


@asynccontextmanager
async def held(
    store: stores.Store, lease: records.Lease, *, timing: LeaseTiming, tenure: tenures.Tenure
) -> AsyncIterator[run_records.Fence]:
    """Hold a lease of `acquire` during the body, and give it back.

    The body is cancelled when the lease is lost, or may be.

    Raises:
        fencing.LeaseLost: It was lost; in an exception group, as task groups raise.
    """
    failure: Exception | None = None
    woken = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            keepers = [
                group.create_task(_renew(store, lease, timing, tenure, woken)),
                group.create_task(_watch(timing, tenure, woken)),
            ]
            try:
                yield lease.fence
            # Raised again below as it is: out of the group it would come wrapped.
            except Exception as error:  # noqa: BLE001
                failure = error
            for keeper in keepers:
                keeper.cancel()
    finally:
        # One that ran out needs no giving back, and who asks for it may wait long for an answer.
        if tenure.is_valid:
            await _release(store, lease)
        tenure.end()
    if failure is not None:
        raise failure


async def _renew(
    store: stores.Store,
    lease: records.Lease,
    timing: LeaseTiming,
    tenure: tenures.Tenure,
    woken: asyncio.Event,
) -> None:
    """Renew the lease again and again; at once when this process is `woken`."""
    while True:
        try:
            async with asyncio.timeout(timing.renew.total_seconds()):
                await woken.wait()
        except TimeoutError:
            pass
        woken.clear()
        asked = tenure.elapsed()
        try:
            await store.leases.renew(lease, timing.ttl)
        except errors.TemporaryError as error:
            _LOG.info("the lease could not be renewed now: %s", error)
        else:
            tenure.extend(asked, timing.good_for)


async def _watch(timing: LeaseTiming, tenure: tenures.Tenure, woken: asyncio.Event) -> None:
    """End the work when the time is over, whatever becomes of the renewal.

    One that stood still could not renew. It writes nothing, and asks once whether it still holds
    the lease: where nobody took it over, it goes on.

    Raises:
        _ExpiredError: The time is over.
    """
    pause = min(_WATCH, timing.renew).total_seconds()
    looked, patience = tenure.elapsed(), float("-inf")
    while True:
        await asyncio.sleep(min(pause, max(tenure.left, _SHORTEST)))
        now = tenure.elapsed()
        if now - looked > 2 * pause:
            patience = now + timing.renew.total_seconds()
            woken.set()
        looked = now
        if not tenure.is_valid and now >= patience:
            raise _ExpiredError("the lease could not be renewed in time")


async def _release(store: stores.Store, lease: records.Lease) -> None:
    """Spare the next one the wait; not being able to costs only that."""
    try:
        async with asyncio.timeout(_RELEASE_SECONDS):
            await store.leases.release(lease)
    except (errors.VolaryError, TimeoutError) as error:
        _LOG.info("the lease was not given back: %s", error)
