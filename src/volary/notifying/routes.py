"""Which receivers a notice goes to (PipeCD: 8.5), pure."""

from collections.abc import Iterable

from volary.model import applications, server_settings
from volary.notifying import notices

#: The group of events that are about runs.
_RUNS = "DEPLOYMENT"


def receivers(routes: Iterable[server_settings.Route], notice: notices.Notice) -> tuple[str, ...]:
    """Return the receivers of every route that matches, each once, in the routes' order.

    Those of the application's own alerts come last. PipeCD sends once per route, so two routes
    to one channel say everything twice.
    """
    names = [route.receiver for route in routes if matches(route, notice)]
    names += [alert.receiver for alert in notice.subject.alerts if _wants_alert(alert, notice)]
    return tuple(dict.fromkeys(names))


def _wants_alert(alert: applications.Alert, notice: notices.Notice) -> bool:
    if not alert.events:
        return notice.event.group == _RUNS
    return notice.event.value in alert.events


def matches(route: server_settings.Route, notice: notices.Notice) -> bool:
    """Say whether a route takes a notice.

    First what is ignored: by event, group, application, or any one label. Then what is
    asked for: the event, its group, the application, and all labels, each if given.
    """
    subject = notice.subject
    is_ignored = (
        notice.event.value in route.ignore_events
        or notice.event.group in route.ignore_groups
        or subject.application in route.ignore_apps
        or any(subject.labels.get(key) == value for key, value in route.ignore_labels.items())
    )
    return (
        not is_ignored
        and (not route.events or notice.event.value in route.events)
        and (not route.groups or notice.event.group in route.groups)
        and (not route.apps or subject.application in route.apps)
        and all(subject.labels.get(key) == value for key, value in route.labels.items())
    )
