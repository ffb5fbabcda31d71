"""How much of a calendar is looked through."""

import pytest

from volary.config.text import calendars

EVENT = "BEGIN:VEVENT\nDTSTART:20260105T090000\nDURATION:PT1H\n{}END:VEVENT\n"
RULE = "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29\n"


def calendar(rules: int, once: int) -> str:
    events = EVENT.format(RULE) * rules + EVENT.format("") * once
    return f"BEGIN:VCALENDAR\n{events}END:VCALENDAR\n"


def test_events_that_come_again_are_fewer_than_others() -> None:
    """Each is looked for at every step of a run: a calendar must not hold up other teams."""
    found = calendars.read(calendar(100, 400), name="freezes", zone="UTC")
    assert len(found) == 500

    with pytest.raises(ValueError, match="more than 100 events with an RRULE"):
        calendars.read(calendar(101, 0), name="freezes", zone="UTC")
    with pytest.raises(ValueError, match="more than 500 events"):
        calendars.read(calendar(0, 501), name="freezes", zone="UTC")
