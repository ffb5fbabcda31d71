"""The fields of ``windows``: when clusters may be changed, and when they may not."""

from pydantic import Field

from volary.config import section, values, wave_sections


class Window(section.Section):
    """A time that comes again and again, for some clusters."""

    name: section.Text = Field(description="What it is about; shown to those who wait for it.")
    schedule: section.Text = Field(
        description="When it begins, with cron's five fields: minute, hour, day of the month, "
        "month, weekday (`0 9 * * MON-FRI`). When both days are restricted, either is enough."
    )
    duration: values.Duration = Field(description="How long it lasts, at most 8784h (a year).")
    time_zone: str = Field(
        default="UTC", description="The zone of the schedule, such as `Europe/Berlin`."
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
