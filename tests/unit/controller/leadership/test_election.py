"""One leader at a time; virtual time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from volary.controller.leadership import election
from volary.model import errors
from volary.model.runs import run_records
from volary.store import factory, fencing, records, stores


class LoopClock:
    """Follows the loop's virtual time."""

    def now(self) -> datetime:
        seconds = asyncio.get_running_loop().time()
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


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

    @property
    def leases(self) -> "Silent":
        return self

    async def acquire(self, name: str, owner: str, ttl: timedelta) -> records.Lease | None:
        if self.gone:
            raise errors.TemporaryError("the database is gone")
        return await self._leases.acquire(name, owner, ttl)

    async def renew(self, lease: records.Lease, ttl: timedelta) -> records.Lease:
        if self.gone:
            raise errors.TemporaryError("the database is gone")
        return await self._leases.renew(lease, ttl)

    async def release(self, lease: records.Lease) -> None:
        if self.gone:
            raise errors.TemporaryError("the database is gone")
        await self._leases.release(lease)


@pytest.mark.looptime
async def test_the_other_process_takes_over_within_15_seconds_of_a_silent_death() -> None:
    first, second = Work(), Work()
    async with factory.open_store("memory:", clock=LoopClock()) as kept:
        silent = Silent(kept)
        async with asyncio.TaskGroup() as group:
            one = group.create_task(election.lead(silent, "one", first))  # type: ignore[arg-type]
            await asyncio.sleep(1)
            two = group.create_task(election.lead(kept, "two", second))
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
        one = group.create_task(election.lead(kept, "one", Work()))
        await asyncio.sleep(1)
        two = group.create_task(election.lead(kept, "two", second))
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
        driving = group.create_task(election.lead(kept, "one", work))
        await asyncio.sleep(5)
        driving.cancel()
    assert fences == [1, 2]


@pytest.mark.looptime
async def test_a_bug_in_the_work_is_not_hidden() -> None:
    async def work(fence: run_records.Fence) -> None:
        raise ValueError("a bug")

    async with factory.open_store("memory:", clock=LoopClock()) as kept:
        with pytest.raises(ValueError, match="a bug"):
            await election.lead(kept, "one", work)
