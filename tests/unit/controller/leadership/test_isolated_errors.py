"""What goes wrong about one application harms no other."""

import asyncio
import itertools
import logging
from datetime import timedelta

import pytest

from volary.controller.leadership import context
from volary.model import backoffs, errors
from volary.store import fencing

QUICK = backoffs.Backoff(timedelta(milliseconds=1), timedelta(minutes=1))


async def raising(error: BaseException) -> None:
    raise error


async def answering(*, yes: bool) -> bool:
    return yes


async def test_what_the_work_comes_to_is_returned() -> None:
    assert await context.isolate_errors(answering(yes=True), "shop", "is not moved")
    assert not await context.isolate_errors(answering(yes=False), "shop", "is not moved")


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
    assert not await context.isolate_errors(raising(error), "shop", "is not moved now")

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
        await context.isolate_errors(raising(error), "shop", "is not moved now")


async def test_a_loop_that_meets_a_bug_begins_anew_and_later_each_time() -> None:
    lives: list[float] = []
    loop = asyncio.get_running_loop()

    async def work() -> None:
        lives.append(loop.time())
        if len(lives) < 4:
            raise ZeroDivisionError("a bug")

    await context.keep_running(work, "requests", QUICK)

    pauses = [after - before for before, after in itertools.pairwise(lives)]
    assert len(pauses) == 3
    assert pauses[0] >= 0.001
    assert pauses[2] >= 0.004


async def test_a_loop_of_who_was_overtaken_ends() -> None:
    lost = fencing.LeaseLost("another process took over")

    with pytest.raises(ExceptionGroup):
        await context.keep_running(
            lambda: raising(ExceptionGroup("of a task group", [lost])), "requests", QUICK
        )
