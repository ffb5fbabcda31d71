"""The fields of ``windows``: when clusters may be changed, and when they may not."""

from pydantic import Field

from volary.config import section, values, wave_sections


class Window(section.Section):
    """A time that comes again and again, for some clusters.

    It begins as `schedule`, `start` with `rrule`, or a `calendar` says: one of them.
    """

    name: section.Text = Field(description="What it is about; shown to those who wait for it.")
    schedule: str = Field(
        default="",
        description="When it begins, with cron's five fields: minute, hour, day of the month, "
        "month, weekday (`0 9 * * MON-FRI`). When both days are restricted, either is enough.",
    )
    start: str = Field(
        default="",
        description="When it first begins, in the time of the zone, as iCalendar writes it: "
        "`20261220T000000`.",
    )
    rrule: str = Field(
        default="",
        description="When it begins again: an iCalendar rule such as "
        "`FREQ=MONTHLY;BYDAY=-1FR`, with `INTERVAL`, `BYDAY`, `BYMONTHDAY`, `BYMONTH`, `WKST`, "
        "`COUNT` and `UNTIL`. Without one: once.",
    )
    without: list[str] = Field(
        default_factory=list,
        description="Beginnings of the rule that are left out: `20261225T090000`, or a day.",
    )
    calendar: str = Field(
        default="",
        description="The text of an iCalendar file (`.ics`); each event is a window and lasts as "
        "long as it does.",
    )
    duration: values.Duration | None = Field(
        default=None, description="How long it lasts, at most 8784h (a year)."
    )
    time_zone: str = Field(
        default="UTC",
        description="The zone of its times, such as `Europe/Berlin`; of a calendar, of those "
        "that name none.",
    )
    targets: wave_sections.ClusterSelector | None = Field(
        default=None, description="Which clusters it is for; none given: all."
    )


class Windows(section.Section):
    """When clusters may be changed; `deny` wins."""

    allow: list[Window] = Field(
        default_factory=list,
        description="A cluster that any of these is for is changed within them only.",
    )
    deny: list[Window] = Field(
        default_factory=list, description="Within these a cluster is not changed, whatever else."
    )
