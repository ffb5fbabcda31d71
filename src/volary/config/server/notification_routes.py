"""Notifications in the controller's settings: routes and receivers, checked (PipeCD: 8.5)."""

from volary.config.decoding import file_paths, readings
from volary.config.server import settings_sections
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
    "FAILOVER_STOPPED",
    "CLUSTER_LOST",
    "CLUSTER_READY",
)
GROUPS = ("DEPLOYMENT", "STAGE", "FAILOVER", "CLUSTER")
_AT = ("notifications",)


def convert(
    reading: readings.Reading, read: settings_sections.Notifications, directory: str
) -> server_settings.Notifications:
    """Return the notifications; problems are noted."""
    names = [receiver.name for receiver in read.receivers]
    for i, name in enumerate(names):
        if name in names[:i]:
            message = f"the receiver {name} is listed twice"
            reading.error((*_AT, "receivers", i, "name"), message)
    return server_settings.Notifications(
        routes=tuple(_route(reading, each, names, i) for i, each in enumerate(read.routes)),
        receivers=tuple(
            _receiver(reading, each, directory, (*_AT, "receivers", i))
            for i, each in enumerate(read.receivers)
        ),
    )


def _route(
    reading: readings.Reading, read: settings_sections.Route, receivers: list[str], index: int
) -> server_settings.Route:
    at: yaml.Path = (*_AT, "routes", index)
    if read.receiver not in receivers:
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
    return server_settings.Route(
        name=read.name,
        receiver=read.receiver,
        events=tuple(read.events),
        ignore_events=tuple(read.ignore_events),
        groups=tuple(read.groups),
        ignore_groups=tuple(read.ignore_groups),
        apps=tuple(read.apps),
        ignore_apps=tuple(read.ignore_apps),
        labels=read.labels,
        ignore_labels=read.ignore_labels,
    )


def _receiver(
    reading: readings.Reading, read: settings_sections.Receiver, directory: str, at: yaml.Path
) -> server_settings.Receiver:
    chats = {
        kind: found for kind in server_settings.ChatKind if (found := getattr(read, kind.value))
    }
    if sum(each is not None for each in (read.slack, read.webhook, *chats.values())) != 1:
        names = ", ".join(("slack", "webhook", *(kind.value for kind in server_settings.ChatKind)))
        reading.error(at, f"needs one way to send, one of {names}")
    slack = _slack(reading, read.slack, directory, (*at, "slack")) if read.slack else None
    webhook = None
    if read.webhook:
        if not read.webhook.url.startswith(("https://", "http://")):
            reading.error((*at, "webhook", "url"), "must be an address with https://")
        webhook = server_settings.OutgoingWebhook(
            read.webhook.url,
            read.webhook.signature_key,
            _resolve(read.webhook.signature_value_file, directory),
        )
    chat = next(
        (
            server_settings.Chat(kind, _resolve(found.hook_url_file, directory))
            for kind, found in chats.items()
        ),
        None,
    )
    return server_settings.Receiver(read.name, slack, webhook, chat)


def _slack(
    reading: readings.Reading, read: settings_sections.Slack, directory: str, at: yaml.Path
) -> server_settings.Slack:
    by_token = bool(read.oauth_token_file) and bool(read.channel_id)
    any_token = bool(read.oauth_token_file) or bool(read.channel_id)
    if bool(read.hook_url_file) == by_token or (read.hook_url_file and any_token):
        hint = "write hookURLFile, or oauthTokenFile with channelID"
        reading.error(at, "is not one complete way to send", hint)
    return server_settings.Slack(
        hook_url_file=_resolve(read.hook_url_file, directory),
        oauth_token_file=_resolve(read.oauth_token_file, directory),
        channel_id=read.channel_id,
        mentioned_accounts=tuple(read.mentioned_accounts),
        mentioned_groups=tuple(read.mentioned_groups),
    )


def _resolve(path: str, directory: str) -> str:
    return file_paths.resolve(path, directory) if path else ""
