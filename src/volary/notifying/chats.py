"""Notices in the words of chats that take plain posts at an incoming webhook, pure.

Each is told by what its documents say: Teams takes a message with an Adaptive Card, Discord
embeds, Rocket.Chat attachments in Slack's form, Google Chat a text. Nobody is mentioned: names
and texts of commits are shown as they are, and cannot call people.
"""

from collections.abc import Iterator

from volary.model import json, server_settings, statuses
from volary.notifying import messages, notices

#: Longest texts by what the services take; what is longer would be refused.
_LONGEST_FIELD, _LONGEST = 1000, 3000
_GREEN, _YELLOW, _RED, _BLUE = "#2eb67d", "#ecb22e", "#e01e5a", "#439fe0"
_COLOURS = {
    statuses.RunStatus.SUCCEEDED: _GREEN,
    statuses.RunStatus.FAILED: _RED,
    statuses.RunStatus.ROLLED_BACK: _RED,
    statuses.RunStatus.ROLLING_BACK: _YELLOW,
    statuses.RunStatus.CANCELLED: _YELLOW,
    statuses.RunStatus.WAITING: _YELLOW,
}
#: Colours of Adaptive Cards, which are names.
_CARD_COLOURS = {_GREEN: "Good", _YELLOW: "Warning", _RED: "Attention", _BLUE: "Accent"}
_NO_MENTIONS: json.JsonObject = {"parse": []}
_CARD = "application/vnd.microsoft.card.adaptive"
_CARD_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


def body(notice: notices.Notice, kind: server_settings.ChatKind) -> json.JsonObject:
    """Return what is posted about a notice."""
    match kind:
        case server_settings.ChatKind.TEAMS:
            return _teams(notice)
        case server_settings.ChatKind.DISCORD:
            return _discord(notice)
        case server_settings.ChatKind.ROCKET:
            return _rocket(notice)
        case server_settings.ChatKind.GOOGLE:
            return _google(notice)


def _teams(notice: notices.Notice) -> json.JsonObject:
    facts = [{"title": name, "value": _plain(value)} for name, value in _fields(notice)]
    title = {
        "type": "TextBlock",
        "text": _plain(messages.title(notice)),
        "weight": "Bolder",
        "color": _CARD_COLOURS[_colour(notice)],
        "wrap": True,
    }
    parts: list[json.JsonObject] = [title]
    parts += [{"type": "TextBlock", "text": _plain(line), "wrap": True} for line in _lines(notice)]
    parts.append({"type": "FactSet", "facts": facts})
    card = {"$schema": _CARD_SCHEMA, "type": "AdaptiveCard", "version": "1.4", "body": parts}
    return {"type": "message", "attachments": [{"contentType": _CARD, "content": card}]}


def _discord(notice: notices.Notice) -> json.JsonObject:
    embed = {
        "title": _cut(messages.title(notice), 250),
        "description": _cut("\n".join(_lines(notice)), _LONGEST),
        "color": int(_colour(notice)[1:], 16),
        "fields": [
            {"name": name, "value": _cut(value, _LONGEST_FIELD), "inline": True}
            for name, value in _fields(notice)
        ],
        "timestamp": notice.at.isoformat(),
    }
    return {"embeds": [embed], "allowed_mentions": _NO_MENTIONS}


def _rocket(notice: notices.Notice) -> json.JsonObject:
    attachment = {
        "color": _colour(notice),
        "text": _silent(_cut("\n".join(_lines(notice)), _LONGEST)),
        "fields": [
            {"title": name, "value": _silent(_cut(value, _LONGEST_FIELD)), "short": True}
            for name, value in _fields(notice)
        ],
    }
    return {"text": _silent(_cut(messages.title(notice), _LONGEST)), "attachments": [attachment]}


def _google(notice: notices.Notice) -> json.JsonObject:
    lines = [messages.title(notice), *_lines(notice)]
    lines += [f"{name}: {value}" for name, value in _fields(notice)]
    text = "\n".join(_cut(line, _LONGEST_FIELD) for line in lines)
    return {"text": text.replace("<", "‹").replace(">", "›")}


def _lines(notice: notices.Notice) -> list[str]:
    """Return why, and all clusters in one line."""
    lines = (notice.reason or notice.progress.reason, notice.progress.line)
    return [_cut(line, _LONGEST_FIELD) for line in lines if line]


def _fields(notice: notices.Notice) -> Iterator[tuple[str, str]]:
    subject = notice.subject
    fields = {
        "Application": subject.application,
        "Commit": " ".join(filter(None, (subject.commit[:7], subject.title))),
        "Stage": notice.stage or notice.progress.stage,
        "Run": subject.run,
        "Asked for by": subject.by,
    }
    yield from ((name, value) for name, value in fields.items() if value)


def _colour(notice: notices.Notice) -> str:
    if notice.event in notices.ALARMING:
        return _RED
    return _COLOURS.get(notice.progress.status, _BLUE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} …"


def _plain(text: str) -> str:
    """Return text without the marks of Teams' Markdown that make links and people of it."""
    cut = _cut(text, _LONGEST_FIELD)
    return cut.replace("[", "(").replace("]", ")").replace("<", "‹").replace(">", "›")


def _silent(text: str) -> str:
    """Return text that calls nobody: an invisible space parts the sign from the name."""
    return text.replace("@", "@\u200b")
