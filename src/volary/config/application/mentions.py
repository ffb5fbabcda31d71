"""Who is named in notifications about an application, and who is told, from its file."""

from volary.config.application import application_sections
from volary.config.decoding import readings
from volary.config.server import notification_routes
from volary.config.text import yaml
from volary.model import applications

_AT: yaml.Path = ("spec", "notification", "mentions")
_ALL = "*"
#: PipeCD's events that nothing here is an occasion for.
_NEVER_SENT = (
    "APPLICATION_SYNCED",
    "APPLICATION_OUT_OF_SYNC",
    "APPLICATION_HEALTHY",
    "PIPED_STARTED",
    "PIPED_STOPPED",
)


def convert(
    reading: readings.Reading, read: application_sections.Notification
) -> tuple[applications.Mention, ...]:
    """Return the mentions (PipeCD: 2); problems are noted."""
    for index, entry in enumerate(read.mentions):
        _check(reading, entry, (*_AT, index))
    return tuple(
        applications.Mention(
            mention.event, (*mention.slack, *mention.slack_users), tuple(mention.slack_groups)
        )
        for mention in read.mentions
    )


def own_routes(
    reading: readings.Reading, read: application_sections.Notification
) -> tuple[applications.Alert, ...]:
    """Return the application's own routes; problems are noted. Only our own dialect has some."""
    if not isinstance(read, application_sections.OwnNotification):
        return ()
    for i, entry in enumerate(read.routes):
        for j, name in enumerate(entry.events):
            if name not in notification_routes.EVENTS:
                hint = readings.did_you_mean(name, notification_routes.EVENTS)
                here = ("spec", "notification", "routes", i, "events", j)
                reading.error(here, f"{name[:80]} is never sent", hint)
    return tuple(read.routes)


def _check(reading: readings.Reading, read: application_sections.Mention, at: yaml.Path) -> None:
    name = read.event
    if name in (_ALL, *notification_routes.EVENTS):
        return
    if name in _NEVER_SENT:
        reading.lenient((*at, "event"), f"{name} is never sent", then="it mentions no user")
        return
    hint = readings.did_you_mean(name, (*notification_routes.EVENTS, _ALL))
    reading.error((*at, "event"), f"{name[:80]} is no event of a notification", hint)
