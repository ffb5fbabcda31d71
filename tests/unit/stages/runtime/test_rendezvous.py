"""Tasks of one stage meet, and nobody waits for one who is not there."""

import asyncio

import pytest

from volary.stages.runtime import rendezvouses


@pytest.mark.looptime
async def test_all_who_are_present_are_waited_for() -> None:
    meeting = rendezvouses.Rendezvous()
    for name in ("us", "eu"):
        meeting.join(name)

    async def say(target: str, delay: float) -> object:
        await asyncio.sleep(delay)
        meeting.post(target, "look 1", target.upper())
        found = await meeting.gather(target, "look 1")
        return found, asyncio.get_running_loop().time()

    us, eu = await asyncio.gather(say("us", 1), say("eu", 5))

    assert us == eu == ({"us": "US", "eu": "EU"}, 5)


@pytest.mark.looptime
async def test_one_who_leaves_is_waited_for_no_more_and_stays_heard() -> None:
    meeting = rendezvouses.Rendezvous()
    for name in ("us", "eu", "asia"):
        meeting.join(name)
    meeting.post("us", "x", 1)
    meeting.post("eu", "x", 2)

    async def go() -> None:
        await asyncio.sleep(3)
        meeting.leave("eu")
        meeting.leave("asia")

    found, _ = await asyncio.gather(meeting.gather("us", "x"), go())

    assert found == {"us": 1, "eu": 2}
    assert meeting.members == ("us",)


async def test_who_comes_again_has_said_nothing_yet() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    meeting.join("eu")
    meeting.post("eu", "x", 1)
    meeting.leave("eu")
    meeting.join("eu")

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await meeting.gather("us", "x")


async def test_a_second_join_forgets_nothing() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    meeting.post("us", "x", 1)
    meeting.join("us")

    assert meeting.said("x") == {"us": 1}


async def test_those_who_start_in_the_same_moment_see_each_other() -> None:
    meeting = rendezvouses.Rendezvous()

    async def task(target: str) -> object:
        meeting.join(target)
        meeting.post(target, "x", target)
        return await meeting.gather(target, "x")

    first, second = await asyncio.gather(task("us"), task("eu"))

    assert first == second == {"us": "us", "eu": "eu"}


def test_old_topics_are_forgotten() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    for number in range(1_000):
        meeting.post("us", f"look {number}", number)

    assert meeting.said("look 0") == {}
    assert meeting.said("look 999") == {"us": 999}


async def test_whoever_knows_a_part_is_told_the_rest() -> None:
    meeting = rendezvouses.Rendezvous()
    for target in ("us", "eu"):
        meeting.join(target)
    meeting.post("us", "old", 1)
    known = meeting.number
    meeting.post("us", "round", 2)
    meeting.post("eu", "old", 3)
    # Who comes again takes back what it had said, and hides nothing of others.
    meeting.leave("eu")
    meeting.join("eu")

    told = [(word.topic, word.target, word.value) for word in meeting.said_since(known)]

    assert told == [("round", "us", 2)]
    assert [word.value for word in meeting.said_since(0)] == [2, 1]
    assert meeting.said_since(meeting.number) == []


async def test_only_what_others_do_is_news() -> None:
    meeting = rendezvouses.Rendezvous()
    meeting.join("us")
    known = meeting.number
    meeting.post("us", "round", 1)
    assert not meeting.has_news(known, ("us",))

    for act in (
        lambda: meeting.join("eu"),
        lambda: meeting.post("eu", "round", 1),
        lambda: meeting.leave("eu"),
    ):
        known = meeting.number
        act()
        assert meeting.has_news(known, ("us",))
        assert not meeting.has_news(meeting.number, ("us",))
