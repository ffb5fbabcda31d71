"""Notices in the words of Slack and of webhooks, pure."""

from datetime import UTC, datetime

from volary.model import json, server_settings, statuses
from volary.notifying import notices

#: Slack cuts longer texts without saying so.
_LONGEST = 1500
_GOOD, _WARNING, _DANGER, _NEUTRAL = "good", "warning", "danger", "#439fe0"
_COLOURS = {
    statuses.RunStatus.SUCCEEDED: _GOOD,
    statuses.RunStatus.FAILED: _DANGER,
    statuses.RunStatus.ROLLED_BACK: _DANGER,
    statuses.RunStatus.ROLLING_BACK: _WARNING,
    statuses.RunStatus.CANCELLED: _WARNING,
    statuses.RunStatus.WAITING: _WARNING,
}
_HAPPENED = {
    notices.Event.DEPLOYMENT_TRIGGERED: "a run was asked for",
    notices.Event.DEPLOYMENT_PLANNED: "a run was planned",
    notices.Event.DEPLOYMENT_STARTED: "the run has started",
    notices.Event.DEPLOYMENT_WAIT_APPROVAL: "the run waits for approval",
    notices.Event.DEPLOYMENT_APPROVED: "the run goes on",
    notices.Event.DEPLOYMENT_ROLLING_BACK: "the run is being rolled back",
    notices.Event.DEPLOYMENT_SUCCEEDED: "the run succeeded",
    notices.Event.DEPLOYMENT_FAILED: "the run failed",
    notices.Event.DEPLOYMENT_CANCELLED: "the run was cancelled",
    notices.Event.DEPLOYMENT_TRIGGER_FAILED: "no run could begin",
    notices.Event.STAGE_STARTED: "a stage has started",
    notices.Event.STAGE_SKIPPED: "a stage was skipped",
    notices.Event.STAGE_SUCCEEDED: "a stage succeeded",
    notices.Event.STAGE_FAILED: "a stage failed",
    notices.Event.STAGE_CANCELLED: "a stage was cancelled",
    notices.Event.FAILOVER_STOPPED: "nothing is moved away from lost clusters",
    notices.Event.CLUSTER_LOST: "the cluster is lost",
    notices.Event.CLUSTER_READY: "the cluster is ready again",
}


def title(notice: notices.Notice) -> str:
    """Return what happened, in a few words."""
    stage = f" ({notice.stage})" if notice.stage else ""
    about = notice.subject.application or ", ".join(notice.subject.targets)
    return f"{about}: {_HAPPENED[notice.event]}{stage}"


def slack(notice: notices.Notice, receiver: server_settings.Slack) -> json.JsonObject:
    """Return the message about a run as it stands: title, reason, clusters in one line."""
    subject, progress = notice.subject, notice.progress
    colour = _COLOURS.get(progress.status, _NEUTRAL)
    if notice.event in notices.ALARMING:
        colour = _DANGER
    fields = [
        ("Application", subject.application),
        ("Cluster", "" if subject.application else ", ".join(subject.targets)),
        ("Commit", " ".join(filter(None, (subject.commit[:7], subject.title)))),
        ("Stage", notice.stage or progress.stage),
        ("Run", subject.run),
        ("Asked for by", subject.by),
    ]
    lines = [escape(text) for text in (notice.reason or progress.reason, progress.line) if text]
    mentioned = mentions(notice, receiver)
    return {
        # What shows in notifications of phones, and pings those who are mentioned.
        "text": " ".join(filter(None, (escape(title(notice)), mentioned))),
        "attachments": [
            {
                "color": colour,
                "fallback": escape(title(notice)),
                "text": "\n".join(lines),
                "fields": [
                    {"title": name, "value": escape(value), "short": True}
                    for name, value in fields
                    if value
                ],
                "ts": int(notice.at.timestamp()),
            }
        ],
    }


def slack_reply(notice: notices.Notice, receiver: server_settings.Slack) -> str:
    """Return what is said below a run's message, because an edit reaches nobody; or nothing."""
    mentioned = mentions(notice, receiver)
    if notice.event not in notices.URGENT or not mentioned:
        return ""
    reason = f": {notice.reason}" if notice.reason else ""
    return f"{mentioned} {escape(title(notice) + reason)}"


def mentions(notice: notices.Notice, receiver: server_settings.Slack) -> str:
    """Return the accounts and groups in Slack's form (PipeCD: a leading ``@`` is dropped).

    The application's for this event come first, then the receiver's; each once.
    """
    fitting = [
        mention for mention in notice.subject.mentions if mention.event in ("*", notice.event.value)
    ]
    users = [name for mention in fitting for name in mention.users]
    groups = [name for mention in fitting for name in mention.groups]
    named = (
        *(f"<@{_id(account)}>" for account in (*users, *receiver.mentioned_accounts)),
        *(f"<!subteam^{_id(group)}>" for group in (*groups, *receiver.mentioned_groups)),
    )
    return " ".join(dict.fromkeys(named))


def escape(text: str) -> str:
    """Return text that mentions nobody and links nowhere."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def webhook(notice: notices.Notice) -> json.JsonObject:
    """Return the body for a webhook; keys are only ever added."""
    subject, progress = notice.subject, notice.progress
    return {
        "event": notice.event.value,
        "at": _time(notice.at),
        "application": subject.application,
        "labels": dict(subject.labels),
        "run": subject.run,
        "commit": subject.commit,
        "subject": subject.title,
        "by": subject.by,
        "status": progress.status.value,
        "reason": notice.reason or progress.reason,
        "stage": notice.stage or progress.stage,
        "clusters": {name: status.value for name, status in progress.clusters.items()},
        "summary": progress.line,
        "cluster": "" if subject.application else ", ".join(subject.targets),
    }


def _id(text: str) -> str:
    return text.removeprefix("@").translate({ord(character): None for character in "<>|"})


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
