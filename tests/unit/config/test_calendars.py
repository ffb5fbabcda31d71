"""Windows from the text of an iCalendar file."""

from datetime import timedelta
from pathlib import Path

from volary.config import application as files

CASE = Path(__file__).parents[2] / "cases" / "config" / "windows_calendar" / "volary.yaml"


def test_each_event_is_a_window_that_begins_and_lasts_as_it_does() -> None:
    loaded = files.parse(CASE.read_text(), file="volary.yaml", default_name="shop")
    assert loaded.application is not None
    found = loaded.application.waves.windows
    tuesdays, once = (each.window for each in found.allow)
    christmas, month_end, unnamed = (each.window for each in found.deny)

    assert tuesdays.recurrence.splitlines() == [
        "DTSTART:20260106T090000",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU",
        "EXDATE:20260120",
    ]
    # Ten in the evening in London is seven in the morning in Tokyo.
    assert (once.recurrence, once.zone) == ("DTSTART:20260302T070000", "Asia/Tokyo")
    assert (christmas.name, christmas.duration) == ("holidays (Christmas)", timedelta(days=3))
    assert christmas.zone == "Europe/Berlin"
    assert month_end.name == "holidays (Month end, which is a long title)"
    assert (month_end.zone, month_end.duration) == ("America/New_York", timedelta(hours=14))
    assert month_end.recurrence.splitlines() == [
        "DTSTART:20260131T180000",
        "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;UNTIL=20271231T180000",
        "EXDATE:20260331T180000",
    ]
    assert (unnamed.name, unnamed.zone, unnamed.duration) == ("holidays", "UTC", timedelta(days=1))
    assert all(each.selector is not None for each in found.deny)
