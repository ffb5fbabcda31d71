"""Events of a stream back to what `run` shows live: the inverse of `feed.to_json`. Pure."""

import msgspec

from volary.engine.observers import feed
from volary.model import json, safe_text


def read(document: json.JsonObject) -> feed.RunEvent | None:
    """Return the event of a document; None for one that this version does not know."""
    try:
        event: feed.RunEvent = msgspec.convert(_shown(document), feed.AnyEvent)
    except msgspec.ValidationError:
        return None
    return event


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
