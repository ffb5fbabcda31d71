"""Notifications in the controller's settings: routes and receivers, checked (PipeCD: 8.5)."""

from collections.abc import Sequence

from volary.config.decoding import readings
from volary.config.text import yaml
from volary.model import server_settings

#: What is sent, in PipeCD's words.
EVENTS = (
    "DEPLOYMENT_TRIGGERED",
    "DEPLOYMENT_PLANNED",
    "DEPLOYMENT_STARTED",
    "DEPLOYMENT_WAIT_APPROVAL",
    "DEPLOYMENT_APPROVED",
    "DEPLOYMENT_ROLLING_BACK",
    "DEPLOYMENT_SUCCEEDED",
    "DEPLOYMENT_FAILED",
    "DEPLOYMENT_CANCELLED",
    "DEPLOYMENT_TRIGGER_FAILED",
    "STAGE_STARTED",
    "STAGE_SKIPPED",
    "STAGE_SUCCEEDED",
    "STAGE_FAILED",
    "STAGE_CANCELLED",
    "APPLICATION_OUT_OF_SYNC",
    "APPLICATION_SYNCED",
    "FAILOVER_STOPPED",
    "CLUSTER_LOST",
    "CLUSTER_READY",
)
#: Where the events of a group do not begin with its name.
_PREFIXES = {"APPLICATION_SYNC": "APPLICATION"}
GROUPS = ("DEPLOYMENT", "STAGE", "APPLICATION_SYNC", "FAILOVER", "CLUSTER")
_AT = ("notifications",)


def group_of(event: str) -> str:
    """Return the group of an event: what its name begins with."""
    return next((group for group in GROUPS if event.startswith(_PREFIXES.get(group, group))), "")


def check(reading: readings.Reading, read: server_settings.Notifications) -> None:
    """Note what is wrong with the routes and receivers."""
    names = [receiver.name for receiver in read.receivers]
    for i, name in enumerate(names):
        if name in names[:i]:
            message = f"the receiver {name} is listed twice"
            reading.error((*_AT, "receivers", i, "name"), message)
    for i, route in enumerate(read.routes):
        check_route(reading, route, names, (*_AT, "routes", i))
    for i, receiver in enumerate(read.receivers):
        _check_receiver(reading, receiver, (*_AT, "receivers", i))


def check_route(
    reading: readings.Reading,
    read: server_settings.Route,
    receivers: Sequence[str] | None,
    at: yaml.Path,
) -> None:
    """Note what is wrong with a route; receivers that are not known (None) are not missed."""
    if receivers is not None and read.receiver not in receivers:
        hint = readings.did_you_mean(read.receiver, receivers)
        reading.error((*at, "receiver"), f"no receiver {read.receiver} is listed", hint)
    for field, given, known in (
        ("events", read.events, EVENTS),
        ("ignoreEvents", read.ignore_events, EVENTS),
        ("groups", read.groups, GROUPS),
        ("ignoreGroups", read.ignore_groups, GROUPS),
    ):
        for i, name in enumerate(given):
            if name not in known:
                hint = readings.did_you_mean(name, known)
                reading.error((*at, field, i), f"{name[:80]} is never sent", hint)


def _check_receiver(
    reading: readings.Reading, read: server_settings.Receiver, at: yaml.Path
) -> None:
    given = [way for way in (read.slack, read.webhook) if way is not None]
    if len(given) + len(read.chats) != 1:
        names = ", ".join(("slack", "webhook", *(kind.value for kind in server_settings.ChatKind)))
        reading.error(at, f"needs one way to send, one of {names}")
    if read.slack:
        _check_slack(reading, read.slack, (*at, "slack"))
    if read.webhook and not read.webhook.url.startswith(("https://", "http://")):
        reading.error((*at, "webhook", "url"), "must be an address with https://")


def _check_slack(reading: readings.Reading, read: server_settings.Slack, at: yaml.Path) -> None:
    by_token = bool(read.oauth_token_file) and bool(read.channel_id)
    any_token = bool(read.oauth_token_file) or bool(read.channel_id)
    if bool(read.hook_url_file) == by_token or (read.hook_url_file and any_token):
        hint = "write hookURLFile, or oauthTokenFile with channelID"
        reading.error(at, "is not one complete way to send", hint)
