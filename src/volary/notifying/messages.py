"""Notices in the words of Slack and of webhooks, pure."""

from typing import NamedTuple

from volary.model import clocks, json, server_settings, statuses
from volary.notifying import notices

#: Slack cuts longer texts without saying so.
_LONGEST = 1500


class Tone(NamedTuple):
    """How a notice looks: its colour for Slack, for other chats, and for Adaptive Cards."""

    slack: str
    colour: str
    card: str


_GOOD = Tone("good", "#2eb67d", "Good")
_WARNING = Tone("warning", "#ecb22e", "Warning")
_DANGER = Tone("danger", "#e01e5a", "Attention")
_NEUTRAL = Tone("#439fe0", "#439fe0", "Accent")
_TONES = {
    statuses.RunStatus.SUCCEEDED: _GOOD,
    statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS: _WARNING,
    statuses.RunStatus.FAILED: _DANGER,
    statuses.RunStatus.ROLLED_BACK: _DANGER,
    statuses.RunStatus.ROLLING_BACK: _WARNING,
    statuses.RunStatus.CANCELLED: _WARNING,
    statuses.RunStatus.WAITING: _WARNING,
}


def title(notice: notices.Notice) -> str:
    """Return what happened, in a few words."""
    stage = f" ({notice.stage})" if notice.stage else ""
    about = notice.subject.application or ", ".join(notice.subject.targets)
    return f"{about}: {notice.event.happened}{stage}"


def tone(notice: notices.Notice) -> Tone:
    """Return how a notice looks, by how its run stands."""
    if notice.event in notices.ALARMING:
        return _DANGER
    return _TONES.get(notice.progress.status, _NEUTRAL)


def fields(notice: notices.Notice) -> dict[str, str]:
    """Return what a notice is about, by name; nothing is empty."""
    subject = notice.subject
    named = {
        "Application": subject.application,
        "Cluster": "" if subject.application else ", ".join(subject.targets),
        "Commit": " ".join(filter(None, (subject.commit[:7], subject.title))),
        "Stage": notice.stage or notice.progress.stage,
        "Run": subject.run,
        "Asked for by": subject.by,
    }
    return {name: value for name, value in named.items() if value}


def lines(notice: notices.Notice) -> list[str]:
    """Return why, and all clusters in one line."""
    texts = (notice.reason or notice.progress.reason, notice.progress.line)
    return [text for text in texts if text]


def cut(text: str, longest: int) -> str:
    """Return text that is not longer than a service takes."""
    return text if len(text) <= longest else f"{text[:longest]} …"


def slack(notice: notices.Notice, receiver: server_settings.Slack) -> json.JsonObject:
    """Return the message about a run as it stands: title, reason, clusters in one line."""
    mentioned = mentions(notice, receiver)
    return {
        # What shows in notifications of phones, and pings those who are mentioned.
        "text": " ".join(filter(None, (escape(title(notice)), mentioned))),
        "attachments": [
            {
                "color": tone(notice).slack,
                "fallback": escape(title(notice)),
                "text": "\n".join(map(escape, lines(notice))),
                "fields": [
                    {"title": name, "value": escape(value), "short": True}
                    for name, value in fields(notice).items()
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
    return cut(text, _LONGEST).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def webhook(notice: notices.Notice) -> json.JsonObject:
    """Return the body for a webhook; keys are only ever added."""
    subject, progress = notice.subject, notice.progress
    return {
        "event": notice.event.value,
        "at": clocks.rfc3339(notice.at),
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
