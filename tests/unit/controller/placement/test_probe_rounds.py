"""After each round of probes: nobody's errors harm others, and the last round counts."""

import asyncio
import logging
from datetime import UTC, datetime

import pytest

from volary.controller.placement import probe_rounds
from volary.model import errors
from volary.model.fleet import cluster_health
from volary.store import fencing

_AT = datetime(2026, 1, 1, tzinfo=UTC)


async def raising(error: BaseException) -> bool:
    raise error


async def answering(*, yes: bool) -> bool:
    return yes


async def test_what_the_work_comes_to_is_returned() -> None:
    assert await probe_rounds.isolate_errors(answering(yes=True), "shop", "is not moved")
    assert not await probe_rounds.isolate_errors(answering(yes=False), "shop", "is not moved")


@pytest.mark.parametrize(
    ("error", "level", "has_trace"),
    [
        (errors.TemporaryError("no answer"), logging.WARNING, False),
        (ZeroDivisionError("a bug"), logging.ERROR, True),
    ],
)
async def test_an_error_about_one_application_is_logged_and_harms_no_other(
    error: Exception, level: int, has_trace: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert not await probe_rounds.isolate_errors(raising(error), "shop", "is not moved now")

    (record,) = caplog.records
    assert record.levelno == level
    assert record.getMessage().startswith("application shop is not moved now")
    assert ("no answer" in record.getMessage()) is not has_trace
    assert bool(record.exc_info) is has_trace


@pytest.mark.parametrize(
    "error",
    [
        fencing.LeaseLost("leader"),
        ExceptionGroup("both", [ZeroDivisionError(), fencing.LeaseLost("leader")]),
    ],
)
async def test_who_was_overtaken_stops_at_once(error: Exception) -> None:
    with pytest.raises(type(error)):
        await probe_rounds.isolate_errors(raising(error), "shop", "is not moved now")


async def test_of_rounds_that_came_meanwhile_the_last_one_counts() -> None:
    seen: list[str] = []
    may_go_on, begun = asyncio.Event(), asyncio.Event()

    async def look(health: cluster_health.FleetHealth) -> None:
        seen.append(health.doubt)
        begun.set()
        await may_go_on.wait()

    listener = probe_rounds.RoundListener(look)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(listener.keep_running())

        await listener.take(cluster_health.FleetHealth(_AT, doubt="1"))
        await begun.wait()
        begun.clear()
        await listener.take(cluster_health.FleetHealth(_AT, doubt="2"))
        await listener.take(cluster_health.FleetHealth(_AT, doubt="3"))
        may_go_on.set()
        await begun.wait()
        running.cancel()

    assert seen == ["1", "3"]
