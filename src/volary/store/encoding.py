"""Text and JSON in the form that every store can keep, and how long a log line may get."""

import msgspec

from volary.model import json


def clean(text: str) -> str:
    """Return `text` with what no database takes (NUL, half a surrogate pair) replaced.

    Commit messages and answers of clusters may hold anything.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def encode(document: object) -> str:
    """Return `document` as JSON text; half surrogate pairs inside are replaced."""
    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_every_text(msgspec.to_builtins(document))).decode()


def is_readable(document: object) -> bool:
    """Say whether what is kept of `document` could be read again; a number may be too long."""
    try:
        json.decode(encode(document))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return False
    return True


def _every_text(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): _every_text(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_every_text(element) for element in value]
        case _:
            return value


def shorten(text: str, most: int) -> str:
    """Return a log line of at most about `most` characters; a cut one says how much is gone."""
    text = clean(text)
    if len(text) <= most:
        return text
    return f"{text[:most]} … ({len(text) - most} characters more)"
