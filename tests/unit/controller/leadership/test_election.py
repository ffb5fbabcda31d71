"""One leader at a time; virtual time."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volary.controller.leadership import election, tenures
from volary.model import errors
from volary.model.runs import run_records
from volary.store import factory, fencing, records, stores
from volary.store.sql.database import database

#: Seconds that a driver waits for a silent server.
DRIVER_PATIENCE = 60.0
TTL = timedelta(seconds=10)


class LoopClock:
    """Follows the loop's virtual time, but for jumps."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        seconds = asyncio.get_running_loop().time()
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds) + self.ahead


class Process:
    """The elapsed time of a process whose machine may have slept, unseen by its loop."""

    def __init__(self) -> None:
        self.slept = 0.0

    def elapsed(self) -> float:
        return asyncio.get_running_loop().time() + self.slept

    def lead(self, store: Any, owner: str, work: election.Work) -> Coroutine[Any, Any, None]:
        self.tenure = tenures.Tenure(self.elapsed)
        return election.lead(store, owner, work, tenure=self.tenure)


def lead(store: Any, owner: str, work: election.Work) -> Coroutine[Any, Any, None]:
    return Process().lead(store, owner, work)


class Work:
    """Notes when it is begun and ended."""

    def __init__(self) -> None:
        self.fences: list[run_records.Fence] = []
        self.ended: list[float] = []
        self.begun = asyncio.Event()

    async def __call__(self, fence: run_records.Fence) -> None:
        self.fences.append(fence)
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.append(asyncio.get_running_loop().time())


class Silent:
    """A store that can be gone."""

    def __init__(self, store: stores.Store) -> None:
        self._leases = store.leases
        self.gone = False
        #: Nothing is answered, for as long as a driver waits.
        self.hangs = False

    async def _answer(self) -> None:
        if self.hangs:
            await self._hang()
        if self.gone:
            raise errors.TemporaryError("the database is gone")

    @database.finished
    async def _hang(self) -> None:
        await asyncio.sleep(DRIVER_PATIENCE)
        raise errors.TemporaryError("the database does not answer")

    @property
    def leases(self) -> "Silent":
        return self

    async def look(self, name: str) -> records.Lease | None:
        await self._answer()
        return await self._leases.look(name)

    async def acquire(
        self, name: str, owner: str, ttl: timedelta, *, stale: records.Lease | None = None
    ) -> records.Lease | None:
        await self._answer()
        return await self._leases.acquire(name, owner, ttl, stale=stale)

    async def renew(self, lease: records.Lease, ttl: timedelta) -> records.Lease:
        await self._answer()
        return await self._leases.renew(lease, ttl)

    async def release(self, lease: records.Lease) -> None:
        await self._answer()
        await self._leases.release(lease)


@pytest.mark.looptime
async def test_the_other_process_takes_over_within_15_seconds_of_a_silent_death() -> None:
    first, second = Work(), Work()
    async with factory.open_store("memory:", clock=LoopClock()) as kept:
        silent = Silent(kept)
        async with asyncio.TaskGroup() as group:
            one = group.create_task(lead(silent, "one", first))
            await asyncio.sleep(1)
            two = group.create_task(lead(kept, "two", second))
            await asyncio.sleep(30)
            assert (len(first.fences), second.fences) == (1, [])
            died = asyncio.get_running_loop().time()
            silent.gone = True
            await second.begun.wait()
            took = asyncio.get_running_loop().time() - died
            stopped = list(first.ended)
            one.cancel()
            two.cancel()
    assert took <= 15
    assert len(stopped) == 1, "the first stopped before the second began"
    assert second.fences[0].number == first.fences[0].number + 1


@pytest.mark.looptime
async def test_a_lease_given_back_at_shutdown_spares_the_wait() -> None:
    second = Work()
    async with (
        factory.open_store("memory:", clock=LoopClock()) as kept,
        asyncio.TaskGroup() as group,
    ):
        one = group.create_task(lead(kept, "one", Work()))
        await asyncio.sleep(1)
        two = group.create_task(lead(kept, "two", second))
        await asyncio.sleep(1)
        left = asyncio.get_running_loop().time()
        one.cancel()
        await second.begun.wait()
        assert asyncio.get_running_loop().time() - left <= 2.1
        two.cancel()


@pytest.mark.looptime
async def test_work_that_finds_itself_overtaken_ends_and_begins_anew_with_a_new_fence() -> None:
    fences: list[int] = []

    async def work(fence: run_records.Fence) -> None:
        fences.append(fence.number)
        if len(fences) == 1:
            async with asyncio.TaskGroup() as group:
                group.create_task(overtaken())
        await asyncio.Event().wait()

    async def overtaken() -> None:
        raise fencing.LeaseLost("another process is the leader")

    async with (
        factory.open_store("memory:", clock=LoopClock()) as kept,
        asyncio.TaskGroup() as group,
    ):
        driving = group.create_task(lead(kept, "one", work))
        await asyncio.sleep(5)
        driving.cancel()
    assert fences == [1, 2]


@pytest.mark.looptime
async def test_a_bug_in_the_work_is_not_hidden() -> None:
    async def work(fence: run_records.Fence) -> None:
        raise ValueError("a bug")

    async with factory.open_store("memory:", clock=LoopClock()) as kept:
        with pytest.raises(ValueError, match="a bug"):
            await lead(kept, "one", work)


@pytest.mark.looptime
async def test_the_work_ends_in_time_also_when_the_store_answers_nothing() -> None:
    """A silent server keeps what asks it for a minute, the renewal and the work alike."""
    process, first, second = Process(), Work(), Work()
    async with factory.open_store("memory:", clock=LoopClock()) as kept:
        silent = Silent(kept)
        async with asyncio.TaskGroup() as group:
            one = group.create_task(process.lead(silent, "one", first))
            await first.begun.wait()
            two = group.create_task(lead(kept, "two", second))
            await asyncio.sleep(29)
            silent.hangs = True
            went_silent = asyncio.get_running_loop().time()
            await second.begun.wait()
            took_over = asyncio.get_running_loop().time()
            may_write = process.tenure.is_valid
            one.cancel()
            two.cancel()
    assert first.ended[0] < took_over <= went_silent + 15
    assert not may_write


@pytest.mark.looptime
@pytest.mark.parametrize("hours", [1, -1])
async def test_no_healthy_lease_is_taken_and_nobody_blocked_when_the_clock_jumps(
    hours: int,
) -> None:
    clock, first, second = LoopClock(), Work(), Work()
    async with factory.open_store("memory:", clock=clock) as kept:
        silent = Silent(kept)
        async with asyncio.TaskGroup() as group:
            one = group.create_task(lead(silent, "one", first))
            await asyncio.sleep(1)
            two = group.create_task(lead(kept, "two", second))
            await asyncio.sleep(20)
            clock.ahead += timedelta(hours=hours)
            await asyncio.sleep(20)
            assert (first.ended, second.fences) == ([], [])
            silent.gone = True
            clock.ahead -= timedelta(hours=hours)
            died = asyncio.get_running_loop().time()
            await second.begun.wait()
            took = asyncio.get_running_loop().time() - died
            one.cancel()
            two.cancel()
    assert took <= 15


@pytest.mark.looptime
async def test_a_machine_that_slept_goes_on_where_nobody_took_over() -> None:
    process, work = Process(), Work()
    async with (
        factory.open_store("memory:", clock=LoopClock()) as kept,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(process.lead(kept, "one", work))
        await asyncio.sleep(5)
        process.slept += 3600
        slept_on = process.tenure.is_valid
        async with asyncio.timeout(3):
            await process.tenure.wait()
        await asyncio.sleep(30)
        assert (len(work.fences), work.ended) == (1, [])
        running.cancel()
    assert not slept_on, "it may write only once it knows that it still leads"


@pytest.mark.looptime
async def test_a_machine_that_slept_and_was_overtaken_never_may_write_again() -> None:
    process, first = Process(), Work()
    async with (
        factory.open_store("memory:", clock=LoopClock()) as kept,
        asyncio.TaskGroup() as group,
    ):
        one = group.create_task(process.lead(kept, "one", first))
        await first.begun.wait()
        lease = await kept.leases.look(election.NAME)
        process.slept += 3600
        assert await kept.leases.acquire(election.NAME, "two", TTL, stale=lease)
        with pytest.raises(fencing.LeaseLost):
            await process.tenure.wait()
        assert len(first.ended) == 1
        await asyncio.sleep(5)
        assert not process.tenure.is_valid
        one.cancel()


@pytest.mark.looptime
async def test_a_tenure_begins_when_the_lease_was_asked_for() -> None:
    """However late the answer comes: the store may have counted from the question on."""
    process = Process()
    tenure = tenures.Tenure(process.elapsed)
    asked = process.elapsed()
    await asyncio.sleep(3)
    tenure.extend(asked, timedelta(seconds=8))

    assert tenure.left == 5
    await asyncio.sleep(4.9)
    assert tenure.is_valid
    await asyncio.sleep(0.1)
    assert not tenure.is_valid


async def test_who_holds_no_lease_is_told_so() -> None:
    with pytest.raises(fencing.LeaseLost, match="holds no lease, so it writes to no cluster"):
        await tenures.Tenure(lambda: 0.0).wait()
