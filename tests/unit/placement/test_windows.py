"""When windows are open, and when they next will be."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.model.placement import rollouts
from volary.model.schedules import cron, recurrence
from volary.placement import windows

BERLIN = ZoneInfo("Europe/Berlin")
OFFICE = rollouts.Window("office hours", "0 9 * * 1-5", timedelta(hours=8), "Europe/Berlin")
YEAR_END = rollouts.Window("year end", "0 0 20 12 *", timedelta(days=14), "Europe/Berlin")
NIGHT = rollouts.Window("night", "0 22 * * *", timedelta(hours=8))


def berlin(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC)  # type: ignore[misc,arg-type]


def test_open_within_an_allowed_window_from_its_beginning_until_before_its_end() -> None:
    assert windows.closure([OFFICE], [], berlin(2026, 11, 20, 9)) is None
    assert windows.closure([OFFICE], [], berlin(2026, 11, 20, 16, 59)) is None
    closed = windows.closure([OFFICE], [], berlin(2026, 11, 20, 17))
    assert closed is not None
    assert closed.why == "outside office hours"
    # 20 November 2026 is a Friday.
    assert closed.opening == "Mon 2026-11-23 09:00 Europe/Berlin"


def test_of_windows_that_hold_besides_each_other_each_has_to_be_open() -> None:
    """What one list lets in, another one keeps out."""
    at_noon = berlin(2026, 11, 20, 12)

    assert windows.closure([OFFICE, NIGHT], [], at_noon) is None
    closed = windows.closure([OFFICE], [], at_noon, besides=[[NIGHT]])
    assert closed is not None
    assert closed.why == "outside night"
    assert windows.closure([OFFICE], [], at_noon, besides=[[], [OFFICE]]) is None


def test_a_window_that_is_over_for_good_is_said_to_be() -> None:
    once = rollouts.Window("move", "", timedelta(hours=1), recurrence="DTSTART:20201201T000000")
    closed = windows.closure([once], [], berlin(2026, 11, 20))
    assert closed is not None
    assert closed.why == "outside move, which never begins again"


def test_deny_wins_and_the_opening_is_the_first_that_both_leave() -> None:
    closed = windows.closure([OFFICE], [YEAR_END], berlin(2026, 12, 21, 10))
    assert closed is not None
    assert closed.why == "denied by year end"
    # The freeze ends at midnight of Sunday 3 January.
    assert closed.opening == "Mon 2027-01-04 09:00 Europe/Berlin"
    assert windows.closure([], [YEAR_END], berlin(2027, 1, 3)) is None


def test_a_window_goes_over_midnight_and_adjoining_ones_are_one() -> None:
    before_dawn = datetime(2026, 3, 1, 5, 59, tzinfo=UTC)
    assert windows.is_within(NIGHT, before_dawn)
    assert not windows.is_within(NIGHT, before_dawn + timedelta(minutes=1))
    morning = rollouts.Window("morning", "0 6 * * *", timedelta(hours=3))
    closed = windows.closure([], [NIGHT, morning], before_dawn)
    assert closed is not None
    assert closed.opens == datetime(2026, 3, 1, 9, tzinfo=UTC)


def test_an_hour_that_is_skipped_or_comes_twice() -> None:
    nightly = rollouts.Window("nightly", "30 2 * * *", timedelta(minutes=10), "Europe/Berlin")
    # 29 March 2026: 02:30 does not exist; 25 October: it comes twice.
    assert windows.is_within(nightly, berlin(2026, 3, 29, 3, 35))
    first = datetime(2026, 10, 25, 0, 35, tzinfo=UTC)
    assert windows.is_within(nightly, first)
    assert not windows.is_within(nightly, first + timedelta(hours=1))


def test_what_is_always_denied_is_looked_at_again_later() -> None:
    always = rollouts.Window("always", "* * * * *", timedelta(minutes=5))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    closed = windows.closure([], [always], now)
    assert closed is not None
    assert closed.opens > now
    # Nobody has looked beyond that: no time is promised.
    assert closed.opening.endswith(" UTC or later")


@given(
    moment=st.timedeltas(timedelta(), timedelta(days=3650)),
    allow=st.lists(st.sampled_from((OFFICE, NIGHT)), max_size=2, unique=True),
    deny=st.lists(st.sampled_from((YEAR_END, NIGHT)), max_size=2, unique=True),
)
def test_it_is_open_when_it_is_said_to_open_and_at_no_quarter_before(moment, allow, deny) -> None:
    now = datetime(2020, 1, 1, tzinfo=UTC) + moment
    closed = windows.closure(allow, deny, now)
    if closed is None or (allow == deny == [NIGHT]):
        return
    if windows.closure(allow, deny, closed.opens) is not None:
        # Given up: what is allowed is always denied.
        assert set(allow) <= set(deny)
        return
    quarter = closed.opens - timedelta(minutes=15)
    while quarter > max(now, closed.opens - timedelta(days=2)):
        assert windows.closure(allow, deny, quarter) is not None
        quarter -= timedelta(minutes=15)


def test_both_days_given_mean_either() -> None:
    found = cron.parse("0 0 13 * FRI")
    days = [date(2026, 11, day) for day in (6, 10, 13)]
    assert [found.falls_on(day) for day in days] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 9 * *", "five fields"),
        ("60 9 * * *", "minute must be from 0 to 59"),
        ("0 9 * * 5-1", "ends before it begins"),
        ("0 9 30 2 *", "never happens"),
        ("*/0 9 * * *", "not a step"),
        ("0 x * * *", "is no hour"),
    ],
)
def test_what_is_no_schedule_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cron.parse(text)


def test_an_unknown_zone_is_said() -> None:
    for name in ("Mars/Olympus", "../etc/passwd", "America", ""):
        with pytest.raises(ValueError, match="not a known time zone"):
            cron.zone(name)


def test_an_icalendar_freeze_in_a_zone() -> None:
    text = recurrence.write("20260131T180000", "FREQ=MONTHLY;BYMONTHDAY=-1", ("20260331T180000",))
    month_end = rollouts.Window("month end", "", timedelta(hours=14), "Europe/Berlin", text)
    closed = windows.closure([], [month_end], berlin(2026, 2, 28, 23))
    assert closed is not None
    assert (closed.why, closed.opening) == (
        "denied by month end",
        "Sun 2026-03-01 08:00 Europe/Berlin",
    )
    assert windows.closure([], [month_end], berlin(2026, 3, 31, 23)) is None
    assert windows.closure([], [month_end], berlin(2026, 2, 28, 17)) is None
    outside = windows.closure([month_end], [], berlin(2026, 3, 2))
    assert outside is not None
    assert outside.opening == "Thu 2026-04-30 18:00 Europe/Berlin"


def test_three_windows_are_named_and_of_more_it_is_said_that_there_are_some() -> None:
    office = [
        rollouts.Window(name, "0 9 * * *", timedelta(hours=1)) for name in ("a", "b", "c", "d")
    ]
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)

    reasons = [windows.closure(office[:count], [], noon) for count in (1, 2, 3, 4)]

    assert [reason and reason.why for reason in reasons] == [
        "outside a",
        "outside a or b",
        "outside a or b or c",
        "outside a or b or c and more",
    ]
