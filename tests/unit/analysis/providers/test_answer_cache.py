import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.providers import provider_pool, query
from volary.model import analysis

SECONDS_SINCE_1970 = st.floats(1.6e9, 4e9)
MOMENTS = SECONDS_SINCE_1970.map(lambda each: datetime.fromtimestamp(each, UTC))
SECONDS = st.floats(0.1, 86400).map(lambda each: timedelta(seconds=each))
SHARES = st.floats(0, 300).map(lambda each: timedelta(seconds=each))


@given(MOMENTS, SECONDS, SHARES)
def test_the_moment_is_a_little_before(end: datetime, window: timedelta, share: timedelta) -> None:
    found = provider_pool.round_down(end, window, share)

    longest = max(timedelta(seconds=1), min(window / 20, max(share, timedelta(seconds=1))))
    assert timedelta(0) <= end - found <= longest + timedelta(milliseconds=1)


@given(MOMENTS, SECONDS, SHARES, st.floats(0, 1))
def test_who_asks_at_about_the_same_time_asks_the_same(
    end: datetime, window: timedelta, share: timedelta, part: float
) -> None:
    begin = provider_pool.round_down(end, window, share)
    later = begin + (end - begin) * part + timedelta(milliseconds=1)

    if later <= end:
        assert provider_pool.round_down(later, window, share) == begin


class Asker:
    """Counts what is asked, and answers everything."""

    def __init__(self, reading: analysis.Reading = analysis.Reading.VALUES) -> None:
        self.cache = provider_pool.AnswerCache()
        self.asked: list[int] = []
        self.answer = query.Answer(reading, (1.0,))

    async def get(self, key: int, seconds: float = 60) -> query.Answer:
        async def ask() -> query.Answer:
            self.asked.append(key)
            return self.answer

        return await self.cache.get(key, ask, timedelta(seconds=seconds))


@pytest.mark.looptime
async def test_an_answer_counts_for_as_long_as_it_is_shared() -> None:
    asker = Asker()
    for seconds in (0, 59, 2):
        await asyncio.sleep(seconds)
        assert await asker.get(1) == asker.answer
    assert asker.asked == [1, 1]


@pytest.mark.looptime
async def test_an_error_is_asked_for_again() -> None:
    asker = Asker(analysis.Reading.ERROR)
    await asker.get(1)
    await asker.get(1)
    assert asker.asked == [1, 1]


@pytest.mark.looptime
async def test_of_too_many_answers_the_oldest_is_forgotten() -> None:
    asker = Asker()
    for key in range(2001):
        await asker.get(key)
    await asker.get(2000)
    await asker.get(1)
    assert len(asker.asked) == 2001
    await asker.get(0)
    assert asker.asked[2001:] == [0]
