"""Alerts: routes of this application to receivers of the controller's settings, by name.

An AlertProvider's address is a secret, which Flagger reads from the cluster, so it is never taken
from Git: the settings have a receiver of the provider's name, with the address in a file.
"""

from volary.config.decoding import readings
from volary.config.dialects.flagger import schema, source

#: What is told by severity: all of a release, what needs somebody, or what went wrong
#: (Flagger: alerts and events).
_ERROR = ["DEPLOYMENT_ROLLING_BACK", "DEPLOYMENT_FAILED", "DEPLOYMENT_TRIGGER_FAILED"]
_WARN = ["DEPLOYMENT_WAIT_APPROVAL", "DEPLOYMENT_CANCELLED", *_ERROR]
_INFO = ["DEPLOYMENT_STARTED", "DEPLOYMENT_SUCCEEDED", *_WARN]
_EVENTS = {"info": _INFO, "warn": _WARN, "error": _ERROR}
#: Ways to send; their names are those of our receivers.
_TYPES = ("slack", "msteams", "discord", "rocket", "gchat")
_ROUTES = ("spec", "notification", "routes")


def translate(read: source.Source) -> None:
    """Write a route for every alert, and the receivers for them into the settings."""
    if read.analysis is None:
        return
    receivers: dict[str, dict[str, object]] = {}
    for i, alert in enumerate(read.analysis.alerts):
        at = (*read.analysis_path, "alerts", i)
        name = alert.provider_ref.name
        route = {"name": alert.name, "receiver": name, "events": _events(read, alert, i)}
        for field, value in route.items():
            read.put((*_ROUTES, i, field), value, at)
        if name in receivers:
            continue
        receivers[name] = {}
        provider = read.read_neighbour(schema.AlertProvider, alert.provider_ref)
        if provider is None:
            message = f"the AlertProvider {name} is not in the application's directory"
            hint = f"the receiver {name} of the controller's settings is told"
            read.reading.warn((*at, "providerRef"), message, hint)
            continue
        receivers[name] = _receiver(read, provider.spec, name, i)
    if made := [receiver for receiver in receivers.values() if receiver]:
        read.settings["notifications"] = {"receivers": made}


def _events(read: source.Source, alert: schema.Alert, index: int) -> list[str]:
    at = (*read.analysis_path, "alerts", index, "severity")
    if not alert.severity:
        message = f"{alert.name} has no severity: Flagger sends nothing then, here it is error"
        read.reading.warn(at[:-1], message, "write severity: error, warn or info")
    elif alert.severity not in _EVENTS:
        hint = readings.did_you_mean(alert.severity, _EVENTS) or "write info, warn or error"
        read.reading.error(at, f"{alert.severity} is no severity", hint)
    return _EVENTS.get(alert.severity, _ERROR)


def _receiver(
    read: source.Source, spec: schema.AlertProviderSpec, name: str, index: int
) -> dict[str, object]:
    """Return the receiver that stands for a provider, and note what is not taken from it."""
    at = (*read.analysis_path, "alerts", index, "providerRef")
    if spec.type not in _TYPES:
        message = f"the AlertProvider {name} is of the type {spec.type}, which is not carried out"
        hint = readings.did_you_mean(spec.type, _TYPES) or f"carried out: {', '.join(_TYPES)}"
        read.reading.error(at, message, hint)
        return {}
    message = f"the receiver {name} of the controller's settings is told, by `volary server` alone"
    hint = "add the notifications that `volary convert flagger` prints to the settings"
    read.reading.warn(at, message, hint)
    if spec.address:
        message = f"the address of the AlertProvider {name} is not taken from Git"
        hint = "whoever has it may write to the channel: put it into the receiver's file"
        read.reading.warn(at, message, hint)
    without = {
        "channel": spec.channel,
        "username": spec.username,
        "proxy": spec.proxy,
    }
    if ignored := [field for field, value in without.items() if value]:
        message = f"{', '.join(ignored)} of the AlertProvider {name} has no effect"
        read.reading.warn(at, message, "the address decides where it goes, and in whose name")
    return {"name": name, spec.type: {"hookURLFile": f"{name}.hook-url"}}
