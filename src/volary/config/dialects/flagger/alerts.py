"""Alerts: in Volary a matter of the controller, not of an application's file."""

from typing import Any

from volary.config import shape
from volary.config.dialects.flagger import schema, source
from volary.model import application

#: Which events an alert of that severity is told (Flagger: alerts and events).
_EVENTS = {
    "info": [],
    "warn": ["DEPLOYMENT_WAIT_APPROVAL", "DEPLOYMENT_ROLLING_BACK", "DEPLOYMENT_FAILED"],
    "error": ["DEPLOYMENT_ROLLING_BACK", "DEPLOYMENT_FAILED"],
}


def translate(read: source.Source) -> None:
    """Name every alert, and put those that can be sent into the settings."""
    if read.analysis is None:
        return
    routes: list[dict[str, Any]] = []
    receivers: dict[str, dict[str, Any]] = {}
    for i, each in enumerate(read.analysis.alerts):
        at = (*read.analysis_path, "alerts", i)
        provider = _provider(read, each)
        kind = provider.spec.type if provider else "unknown"
        if kind != "slack":
            read.reading.warn(
                at,
                f"the alert {each.name} is not sent: its provider {each.provider_ref.name} is of "
                f"the type {kind}",
                "set up a webhook receiver in the controller's settings (notifications)",
            )
            continue
        read.reading.warn(
            at,
            f"the alert {each.name} is not sent by this file: the controller's settings say who "
            "is told",
            "add the notifications that `volary convert flagger` prints to them",
        )
        name = each.provider_ref.name
        receivers[name] = {"name": name, "slack": {"hookURLFile": f"{name}.hook-url"}}
        route: dict[str, Any] = {"name": each.name, "receiver": name, "apps": [read.name]}
        if events := _EVENTS.get(each.severity, _EVENTS["error"]):
            route["events"] = events
        routes.append(route)
    if routes:
        read.settings["notifications"] = {
            "routes": routes,
            "receivers": list(receivers.values()),
        }


def _provider(read: source.Source, alert: schema.Alert) -> schema.AlertProvider | None:
    """Return the AlertProvider, if it is in the directory; its problems are noted."""
    found = read.find("AlertProvider", alert.provider_ref.name)
    if found is None or not source.is_flaggers(found):
        return None
    reading = shape.Reading(found, application.Dialect.FLAGGER)
    provider = reading.read(schema.AlertProvider, found.value, ())
    read.note(reading.problems)
    return provider
