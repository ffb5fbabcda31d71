"""Which notices a route takes."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.model import applications, projects, server_settings
from volary.notifying import notices, routes
from volary.tenancy import membership

SUBJECT = notices.Subject("shop", run="r1", project="store", labels={"team": "web", "env": "prod"})


def notice(event: notices.Event = notices.Event.DEPLOYMENT_FAILED) -> notices.Notice:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return notices.Notice(event, at, SUBJECT, notices.Progress())


@pytest.mark.parametrize(
    ("route", "taken"),
    [
        ({}, True),
        ({"events": ("DEPLOYMENT_FAILED",)}, True),
        ({"events": ("DEPLOYMENT_STARTED",)}, False),
        ({"groups": ("DEPLOYMENT",)}, True),
        ({"groups": ("STAGE",)}, False),
        ({"events": ("DEPLOYMENT_FAILED",), "groups": ("STAGE",)}, False),
        ({"apps": ("shop", "other")}, True),
        ({"apps": ("other",)}, False),
        ({"projects": ("store", "other")}, True),
        ({"projects": ("other",)}, False),
        ({"labels": {"team": "web"}}, True),
        ({"labels": {"team": "web", "env": "test"}}, False),
        ({"ignore_events": ("DEPLOYMENT_FAILED",), "events": ("DEPLOYMENT_FAILED",)}, False),
        ({"ignore_groups": ("DEPLOYMENT",)}, False),
        ({"ignore_apps": ("shop",)}, False),
        ({"ignore_labels": {"team": "ops", "env": "prod"}}, False),
        ({"ignore_labels": {"team": "ops"}}, True),
    ],
)
def test_a_route_takes_what_is_asked_for_and_not_ignored(
    route: dict[str, object], taken: bool
) -> None:
    made = server_settings.Route("all", "chat", **route)  # type: ignore[arg-type] # one row each

    assert routes.matches(made, notice()) is taken


def test_two_routes_to_one_receiver_send_once() -> None:
    twice = (server_settings.Route("a", "chat"), server_settings.Route("b", "chat"))

    assert routes.choose(twice, notice()).receivers == ("chat",)


def test_every_event_of_the_settings_is_known_and_the_other_way_round() -> None:
    from volary.config.server import notification_routes

    assert {each.value for each in notices.Event} == set(notification_routes.EVENTS)
    assert {each.group for each in notices.Event} == set(notification_routes.GROUPS)


@pytest.mark.parametrize(
    ("events", "event", "told"),
    [
        (("DEPLOYMENT_FAILED",), "DEPLOYMENT_FAILED", ("chat", "team")),
        (("DEPLOYMENT_FAILED",), "DEPLOYMENT_STARTED", ("chat",)),
        ((), "DEPLOYMENT_STARTED", ("chat", "team")),
        ((), "STAGE_STARTED", ("chat",)),
    ],
)
def test_an_application_s_alerts_are_told_besides_the_routes(
    events: tuple[str, ...], event: str, told: tuple[str, ...]
) -> None:
    alerts = (
        applications.Alert("mine", "team", events),
        applications.Alert("again", "chat"),
    )
    made = replace(notice(notices.Event(event)), subject=replace(SUBJECT, alerts=alerts))

    assert routes.choose((server_settings.Route("a", "chat"),), made).receivers == told


def project(name: str, *routes_of_it: server_settings.Route) -> membership.Projects:
    return membership.Projects({name: projects.Project(name, routes=routes_of_it)})


def test_routes_of_a_project_take_what_is_of_its_applications_and_nothing_else() -> None:
    # Whatever it says: also that it wants what is another's.
    greedy = server_settings.Route("all", "team", projects=("other", "store"))
    about = {
        "own": replace(notice(), subject=SUBJECT),
        "other": replace(notice(), subject=replace(SUBJECT, project="other")),
        "nobody's": replace(notice(), subject=replace(SUBJECT, project="")),
        "a cluster's": replace(notice(), subject=notices.Subject("", targets=("us",))),
    }

    told = {
        name: routes.choose((), each, project("store", greedy)).receivers
        for name, each in about.items()
    }

    assert told == {"own": ("team",), "other": (), "nobody's": (), "a cluster's": ()}


def test_where_there_are_projects_alerts_reach_receivers_of_the_project_only() -> None:
    alerts = (applications.Alert("a", "theirs"), applications.Alert("b", "team"))
    made = replace(notice(), subject=replace(SUBJECT, alerts=alerts))
    own = server_settings.Route("own", "team", events=("DEPLOYMENT_STARTED",))
    lent = server_settings.Route(
        "lent", "theirs", events=("DEPLOYMENT_STARTED",), projects=("store",)
    )
    everybody = server_settings.Route("everybody", "theirs", events=("DEPLOYMENT_STARTED",))

    refused = routes.choose((everybody,), made, project("store", own))
    allowed = routes.choose((lent,), made, project("store", own))
    unknown = routes.choose((), made, membership.Projects(unknown="the Git host is away"))

    assert refused == routes.Choice(("team",), ("theirs",))
    assert allowed == routes.Choice(("theirs", "team"))
    assert unknown == routes.Choice((), ("theirs", "team"))
