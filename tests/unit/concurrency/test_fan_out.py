"""Results come in the order of what was asked, and one failure does not stop the others."""

import asyncio
import itertools

import pytest

from volary.concurrency import fan_out
from volary.model import errors


async def test_results_are_in_the_order_of_the_items() -> None:
    async def act(number: int) -> int:
        await asyncio.sleep(0.001 * (3 - number))
        return number * 10

    assert await fan_out.run_all((0, 1, 2), act) == [0, 10, 20]


@pytest.mark.parametrize(("at_once", "expected"), [(0, 6), (1, 1), (4, 4)])
async def test_no_more_are_under_way_than_may_be(at_once: int, expected: int) -> None:
    under_way, most = 0, 0

    async def act(_: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1

    await fan_out.run_all(range(6), act, at_once=at_once)

    assert most == expected


async def test_a_failure_cancels_the_others() -> None:
    done: list[str] = []

    async def act(name: str) -> None:
        if name == "bad":
            raise errors.TemporaryError("no answer")
        await asyncio.sleep(0)
        done.append(name)

    with pytest.raises(ExceptionGroup):
        await fan_out.run_all(("bad", "good"), act)

    assert done == []


async def test_a_failure_as_a_value_leaves_the_others_alone() -> None:
    async def act(name: str) -> str:
        await asyncio.sleep(0)
        if name == "bad":
            raise errors.TemporaryError("no answer")
        return name.upper()

    answers = await fan_out.attempt_all(("bad", "good"), act)

    assert isinstance(answers[0], errors.TemporaryError)
    assert answers[1] == "GOOD"


async def test_a_bug_is_no_value() -> None:
    async def act(_: str) -> str:
        raise LookupError

    with pytest.raises(ExceptionGroup):
        await fan_out.attempt_all(("one",), act)


async def test_others_get_their_turn_while_thousands_begin() -> None:
    turns: list[int] = []
    begun = 0

    async def act(_: int) -> None:
        nonlocal begun
        begun += 1

    async def look() -> None:
        while begun < 5000:
            turns.append(begun)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        await fan_out.run_all(range(5000), act)

    assert max(later - before for before, later in itertools.pairwise(turns)) <= 200
