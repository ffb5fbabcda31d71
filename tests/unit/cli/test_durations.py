"""Spans of time as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.cli import durations

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (timedelta(seconds=-2), "0s"),
        (timedelta(seconds=119.9), "119s"),
        (timedelta(minutes=3), "3m"),
        (timedelta(minutes=3, seconds=12), "3m12s"),
        (timedelta(minutes=90, seconds=5), "90m"),
        (timedelta(hours=47, minutes=50), "47h"),
        (timedelta(days=400), "400d"),
    ],
)
def test_ages_are_short(ago: timedelta, shown: str) -> None:
    assert durations.age((NOW - ago).isoformat(), NOW) == shown
