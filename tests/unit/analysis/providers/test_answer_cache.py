from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.providers import provider_pool

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
