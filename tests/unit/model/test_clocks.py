"""Moments in documents."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from volary.model import clocks


@pytest.mark.parametrize(
    ("at", "written"),
    [
        (datetime(2030, 1, 1, 12, tzinfo=UTC), "2030-01-01T12:00:00Z"),
        (datetime(2030, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC), "2030-01-01T12:00:00.250000Z"),
        (datetime(2030, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2029-12-31T23:00:00Z"),
    ],
)
def test_a_moment_is_written_in_utc(at: datetime, written: str) -> None:
    assert clocks.rfc3339(at) == written
