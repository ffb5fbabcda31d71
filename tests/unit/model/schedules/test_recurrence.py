"""Recurrences as iCalendar has them, on days."""

from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model.schedules import recurrence

CASES = Path(__file__).parents[3] / "cases" / "recurrence" / "dateutil.txt"
DAY = timedelta(days=1)
HORIZON = timedelta(days=1500)


def rule(text: str, start: str = "20260105T090000", *without: str) -> recurrence.Recurrence:
    return recurrence.parse(recurrence.write(start, text, without))


def days(found: recurrence.Recurrence, most: int = 2_000) -> list[date]:
    first = found.start.date()
    each = (first + timedelta(days=number) for number in range(int(HORIZON.days) + 1))
    return [day for day in each if found.falls_on(day)][:most]


@pytest.mark.parametrize("line", CASES.read_text().splitlines())
def test_days_are_those_that_dateutil_finds(line: str) -> None:
    """Beginning, rule, first days, and how many there are in 1500 days, by python-dateutil."""
    start, text, *first, count = line.split()
    found = days(rule(text, start))
    assert [each.isoformat() for each in found[: len(first)]] == first
    assert len(found) == int(count)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        # The last Friday of each month, every second Tuesday, Thanksgiving.
        ("FREQ=MONTHLY;BYDAY=-1FR", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TU", ["2026-01-06", "2026-01-20", "2026-02-03"]),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", ["2026-11-26", "2027-11-25", "2028-11-23"]),
        # Named both ways: either is enough.
        ("FREQ=MONTHLY;BYDAY=MO,-1FR", ["2026-01-12", "2026-01-19", "2026-01-26"]),
    ],
)
def test_rules_people_write(text: str, first: list[str]) -> None:
    found = [each for each in days(rule(text)) if each != date(2026, 1, 5)]
    assert [each.isoformat() for each in found[:3]] == first


def test_beginnings_are_left_out_by_time_or_by_day() -> None:
    found = days(rule("FREQ=DAILY;COUNT=5", "20260105T090000", "20260106T090000,20260108"))
    assert [each.day for each in found] == [5, 7, 9]
    other = days(rule("FREQ=DAILY;COUNT=5", "20260105T090000", "20260106T100000"))
    assert len(other) == 5, "another time is another beginning"


def test_until_a_time_is_until_the_last_that_begins_by_then() -> None:
    assert len(days(rule("FREQ=DAILY;UNTIL=20260107T090000"))) == 3
    assert len(days(rule("FREQ=DAILY;UNTIL=20260107T085959"))) == 2
    assert len(days(rule("FREQ=DAILY;UNTIL=20260107"))) == 3
    in_berlin = recurrence.in_local_time("FREQ=DAILY;UNTIL=20260107T080000Z", "Europe/Berlin")
    assert in_berlin == "FREQ=DAILY;UNTIL=20260107T090000"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FREQ=HOURLY", "FREQ must be one of DAILY, WEEKLY, MONTHLY, YEARLY, not HOURLY"),
        ("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1", "BYSETPOS is not read here"),
        ("INTERVAL=2", "FREQ must be one of"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL must be a number from 1"),
        ("FREQ=WEEKLY;BYDAY=2MO", "BYDAY with a number has no meaning with FREQ=WEEKLY"),
        ("FREQ=WEEKLY;BYMONTHDAY=2", "BYMONTHDAY has no meaning"),
        ("FREQ=DAILY;COUNT=3;UNTIL=20260107", "COUNT and UNTIL exclude each other"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ is given twice"),
        ("FREQ=MONTHLY;BYDAY=XX", "BYDAY cannot be 'XX'"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY cannot be '32'"),
        ("FREQ=YEARLY;COUNT=100", "COUNT=100 is more than there are in 50 years"),
        ("FREQ=DAILY;UNTIL=tomorrow", "is not a time such as"),
    ],
)
def test_what_is_not_read_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rule(text)


@pytest.mark.parametrize("start", ["00010101T000000", "99991231T000000"])
def test_times_near_the_end_of_dates_are_refused(start: str) -> None:
    """Counting on from there would be an error of ours, not the user's."""
    with pytest.raises(ValueError, match="is not between 1970 and 2200"):
        rule("FREQ=YEARLY;COUNT=2", start)


@given(
    frequency=st.sampled_from(recurrence.Frequency),
    interval=st.integers(1, 4),
    months=st.sets(st.integers(1, 12), max_size=2),
    days_on=st.integers(0, 1500),
    ahead=st.integers(0, 900),
)
def test_the_next_day_is_the_first_on_which_it_falls(
    frequency: recurrence.Frequency,
    interval: int,
    months: set[int],
    days_on: int,
    ahead: int,
) -> None:
    start = datetime.combine(date(2024, 1, 1) + days_on * DAY, time(9))
    found = recurrence.Recurrence(start, recurrence.Rule(frequency, interval, months=tuple(months)))
    asked = start.date() + timedelta(days=ahead - 100)
    following = found.next_day(asked)
    if following is None:
        assert not any(found.falls_on(asked + timedelta(days=each)) for each in range(900))
        return
    assert following >= asked
    assert found.falls_on(following)
    between = (following - max(asked, start.date())).days
    assert not any(found.falls_on(following - timedelta(days=each + 1)) for each in range(between))
