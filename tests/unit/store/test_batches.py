"""Lines are taken at once and kept soon, whatever the database does."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model import errors
from volary.model.runs import run_records
from volary.store import batches, fencing, records
from volary.store.memory import store as memory


class BrokenLogs:
    """Logs of a database that is away while `broken`."""

    def __init__(self, error: Exception) -> None:
        self.broken = True
        self.error = error
        self.kept: list[records.LogLine] = []
        self.sizes: list[int] = []

    async def append(
        self, lines: Sequence[records.LogLine], *, fence: run_records.Fence | None
    ) -> None:
        if self.broken:
            raise self.error
        self.kept += lines
        self.sizes.append(len(lines))

    async def after(
        self, run_id: str, position: int, *, stage: str = "", target: str = "", limit: int = 500
    ) -> tuple[records.StoredLogLine, ...]:
        return ()


@pytest.mark.looptime
async def test_lines_are_kept_after_a_moment() -> None:
    store = memory.MemoryStore(clock=given.TurnedClock(), limits=records.Limits())
    await store.keep_transition(given.first(), fence=None)
    kept = batches.LogBatches(store.logs, fence=None, every=timedelta(seconds=1))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kept.run())
        kept.add(given.line("one"))
        await asyncio.sleep(0.9)
        assert await store.logs.after("run-1", 0) == ()
        await asyncio.sleep(0.2)
        assert len(await store.logs.after("run-1", 0)) == 1
        kept.add(given.line("two"))
        running.cancel()
    await kept.flush()

    assert [each.line.text for each in await store.logs.after("run-1", 0)] == ["one", "two"]


@pytest.mark.looptime
async def test_many_lines_do_not_wait() -> None:
    logs = BrokenLogs(errors.TemporaryError("away"))
    logs.broken = False
    kept = batches.LogBatches(logs, fence=None, every=timedelta(seconds=60), most=10)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kept.run())
        await asyncio.sleep(0)
        for number in range(25):
            kept.add(given.line(str(number)))
        await asyncio.sleep(0.01)
        running.cancel()

    assert logs.sizes == [10, 10, 5]
    assert [line.text for line in logs.kept] == [str(number) for number in range(25)]


@pytest.mark.looptime
async def test_lines_wait_while_the_database_is_away(caplog: pytest.LogCaptureFixture) -> None:
    logs = BrokenLogs(errors.TemporaryError("the database cannot be reached"))
    kept = batches.LogBatches(logs, fence=None, every=timedelta(seconds=1), room=4)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(kept.run())
        for number in range(7):
            kept.add(given.line(str(number)))
        await asyncio.sleep(30)
        logs.broken = False
        await asyncio.sleep(3)
        running.cancel()

    assert [line.text for line in logs.kept] == [
        *"0123",
        "3 lines are missing here: the database was away for too long",
    ]
    assert logs.kept[-1].level == "warning"
    assert [each.getMessage() for each in caplog.records] == [
        "logs of tasks are kept later: the database cannot be reached",
        "logs of tasks are kept again",
    ]


@pytest.mark.looptime
async def test_who_was_overtaken_stops() -> None:
    kept = batches.LogBatches(BrokenLogs(fencing.LeaseLost("taken")), fence=None)
    kept.add(given.line("one"))
    with pytest.raises(fencing.LeaseLost):
        await kept.run()
