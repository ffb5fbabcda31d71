"""Whichever comes first, in virtual time."""

import asyncio

import pytest

from volary.concurrency import races


async def after(seconds: float, value: str) -> str:
    await asyncio.sleep(seconds)
    return value


@pytest.mark.parametrize(
    ("one", "other", "expected", "passed"),
    [
        (1, 2, ("one", None), 1),
        (2, 1, (None, "other"), 1),
        (5, 6, (None, None), 3),
        (1, 1, ("one", "other"), 1),
    ],
)
@pytest.mark.looptime
async def test_what_has_not_ended_is_broken_off(
    one: float, other: float, expected: tuple[str | None, str | None], passed: float
) -> None:
    begun = asyncio.get_running_loop().time()

    tasks = await races.first(after(one, "one"), after(other, "other"), timeout=3)

    results = tuple(None if task.cancelled() else task.result() for task in tasks)
    assert results == expected
    assert asyncio.get_running_loop().time() - begun == passed


@pytest.mark.looptime
async def test_without_a_timeout_it_takes_as_long_as_the_first() -> None:
    task, _ = await races.first(after(10_000, "one"), asyncio.Event().wait())

    assert task.result() == "one"


@pytest.mark.looptime
async def test_a_future_that_others_wait_for_is_shielded_by_its_caller() -> None:
    shared = asyncio.get_running_loop().create_future()

    await races.first(asyncio.shield(shared), after(1, "other"))

    assert not shared.done()
