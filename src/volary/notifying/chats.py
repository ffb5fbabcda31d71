"""Notices in the words of chats that take plain posts at an incoming webhook, pure.

Each has the form its documents describe: Teams takes a message with an Adaptive Card, Discord
embeds, Rocket.Chat attachments in Slack's form, Google Chat a text. Nobody is mentioned: names
and texts of commits are shown as they are, and cannot call people.
"""

from volary.model import json, server_settings
from volary.notifying import messages, notices

#: Longest texts by what the services take; what is longer would be refused.
_LONGEST_FIELD, _LONGEST = 1000, 3000
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
    facts = [
        {"title": name, "value": _plain(value)} for name, value in messages.fields(notice).items()
    ]
    title = {
        "type": "TextBlock",
        "text": _plain(messages.title(notice)),
        "weight": "Bolder",
        "color": messages.tone(notice).card,
        "wrap": True,
    }
    parts: list[json.JsonObject] = [title]
    parts += [{"type": "TextBlock", "text": _plain(line), "wrap": True} for line in _lines(notice)]
    parts.append({"type": "FactSet", "facts": facts})
    card = {"$schema": _CARD_SCHEMA, "type": "AdaptiveCard", "version": "1.4", "body": parts}
    return {"type": "message", "attachments": [{"contentType": _CARD, "content": card}]}


def _discord(notice: notices.Notice) -> json.JsonObject:
    embed = {
        "title": messages.cut(messages.title(notice), 250),
        "description": messages.cut("\n".join(_lines(notice)), _LONGEST),
        "color": int(messages.tone(notice).colour[1:], 16),
        "fields": [
            {"name": name, "value": messages.cut(value, _LONGEST_FIELD), "inline": True}
            for name, value in messages.fields(notice).items()
        ],
        "timestamp": notice.at.isoformat(),
    }
    return {"embeds": [embed], "allowed_mentions": _NO_MENTIONS}


def _rocket(notice: notices.Notice) -> json.JsonObject:
    attachment = {
        "color": messages.tone(notice).colour,
        "text": _silent(messages.cut("\n".join(_lines(notice)), _LONGEST)),
        "fields": [
            {"title": name, "value": _silent(messages.cut(value, _LONGEST_FIELD)), "short": True}
            for name, value in messages.fields(notice).items()
        ],
    }
    return {
        "text": _silent(messages.cut(messages.title(notice), _LONGEST)),
        "attachments": [attachment],
    }


def _google(notice: notices.Notice) -> json.JsonObject:
    lines = [messages.title(notice), *_lines(notice)]
    lines += [f"{name}: {value}" for name, value in messages.fields(notice).items()]
    text = "\n".join(messages.cut(line, _LONGEST_FIELD) for line in lines)
    return {"text": text.replace("<", "‹").replace(">", "›")}


def _lines(notice: notices.Notice) -> list[str]:
    return [messages.cut(line, _LONGEST_FIELD) for line in messages.lines(notice)]


def _plain(text: str) -> str:
    """Return text without the marks of Teams' Markdown that make links and people of it."""
    shown = messages.cut(text, _LONGEST_FIELD)
    return shown.replace("[", "(").replace("]", ")").replace("<", "‹").replace(">", "›")


def _silent(text: str) -> str:
    """Return text that calls nobody: an invisible space parts the sign from the name."""
    return text.replace("@", "@\u200b")
