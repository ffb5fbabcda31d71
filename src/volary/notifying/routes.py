"""Which receivers a notice goes to (PipeCD: 8.5), pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from volary.model import applications, projects, server_settings
from volary.notifying import notices
from volary.tenancy import membership

#: The group of events that are about runs.
_RUNS = "DEPLOYMENT"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which receivers a notice goes to."""

    #: Each once, in the routes' order.
    receivers: tuple[str, ...]
    #: What the application's own alerts name, to which none of its project's routes leads.
    refused: tuple[str, ...] = ()


def choose(
    routes: Iterable[server_settings.Route],
    notice: notices.Notice,
    known: membership.Projects = membership.NONE,
) -> Choice:
    """Return the receivers of every route that matches.

    After the settings' come those of the application's project, then those of its own alerts.
    Where there are projects an alert names no receivers but those that some route of the project
    leads to: a team does not fill other teams' channels. PipeCD sends once per route, so two
    routes to one channel say everything twice.
    """
    listed = tuple(routes)
    name = notice.subject.project
    project = known.by_name.get(name)
    own = () if project is None else of_project(project)
    names = [route.receiver for route in (*listed, *own) if matches(route, notice)]
    alerts = [alert.receiver for alert in notice.subject.alerts if _wants_alert(alert, notice)]
    if not known.are_in_use:
        return Choice(tuple(dict.fromkeys([*names, *alerts])))
    open_to_it = {route.receiver for route in own}
    open_to_it |= {route.receiver for route in listed if name and name in route.projects}
    allowed = [alert for alert in alerts if alert in open_to_it]
    refused = [alert for alert in alerts if alert not in open_to_it and alert not in names]
    return Choice(tuple(dict.fromkeys([*names, *allowed])), tuple(dict.fromkeys(refused)))


def of_project(project: projects.Project) -> tuple[server_settings.Route, ...]:
    """Return a project's routes: whatever they say, for its applications only."""
    return tuple(replace(route, projects=(project.name,)) for route in project.routes)


def _wants_alert(alert: applications.Alert, notice: notices.Notice) -> bool:
    if not alert.events:
        return notice.event.group == _RUNS
    return notice.event.value in alert.events


def matches(route: server_settings.Route, notice: notices.Notice) -> bool:
    """Say whether a route takes a notice.

    First what is ignored: by event, group, application, or any one label. Then what is
    asked for: the event, its group, the project, the application, and all labels, each if given.
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
        and (not route.projects or subject.project in route.projects)
        and (not route.apps or subject.application in route.apps)
        and all(subject.labels.get(key) == value for key, value in route.labels.items())
    )
