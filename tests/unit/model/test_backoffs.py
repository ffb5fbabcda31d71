"""Each failure doubles the delay, up to the longest one."""

from datetime import timedelta

import pytest

from volary.model import backoffs

BACKOFF = backoffs.Backoff(timedelta(seconds=3), timedelta(seconds=20))


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 3), (1, 3), (2, 6), (3, 12), (4, 20), (5, 20), (10_000, 20)]
)
def test_the_delay_doubles_up_to_the_longest(failures: int, seconds: int) -> None:
    assert BACKOFF.after(failures) == timedelta(seconds=seconds)


def test_a_limit_of_years_is_reached_without_an_overflow() -> None:
    slow = backoffs.Backoff(timedelta(days=1), timedelta(days=10_000))

    assert slow.after(1_000_000) == timedelta(days=10_000)
