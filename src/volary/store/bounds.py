"""How long a log may get: pure rules that every store obeys."""

from volary.store import texts


def shorten(text: str, most: int) -> str:
    """Return a log line of at most about `most` characters; a cut one says how much is gone."""
    text = texts.clean(text)
    if len(text) <= most:
        return text
    return f"{text[:most]} … ({len(text) - most} characters more)"
