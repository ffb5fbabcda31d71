"""Which notices a route takes."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.model import applications, server_settings
from volary.notifying import notices, routes

SUBJECT = notices.Subject("shop", run="r1", labels={"team": "web", "env": "prod"})


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
