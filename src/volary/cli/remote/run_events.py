"""Events of a stream back to what `run` shows live: the inverse of `feed.to_json`. Pure."""

import dataclasses
import re
from collections.abc import Iterator
from typing import get_type_hints

import msgspec

from volary.engine.observers import feed
from volary.model import json, safe_text


def _kinds(base: type[feed.RunEvent]) -> Iterator[type[feed.RunEvent]]:
    for kind in base.__subclasses__():
        if "event" in vars(kind):
            yield kind
        yield from _kinds(kind)


_KINDS = {kind.event: kind for kind in _kinds(feed.RunEvent)}
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def read(document: json.JsonObject) -> feed.RunEvent | None:
    """Return the event of a document; None for one that this version does not know."""
    kind = _KINDS.get(str(document.get("event", "")))
    if kind is None:
        return None
    hints = get_type_hints(kind)
    given = {_CAPITAL.sub("_", key).lower(): _shown(value) for key, value in document.items()}
    try:
        values = {
            event_field.name: msgspec.convert(given[event_field.name], hints[event_field.name])
            for event_field in dataclasses.fields(kind)
            if event_field.name in given
        }
        return kind(**values)
    except (msgspec.ValidationError, TypeError):
        return None


def _shown(value: object) -> object:
    """Return a field without what steers terminals: a server may be of any version."""
    match value:
        case str():
            return safe_text.printable(value)
        case list():
            return [_shown(element) for element in value]
        case dict():
            return {str(_shown(key)): _shown(inner) for key, inner in value.items()}
        case _:
            return value
