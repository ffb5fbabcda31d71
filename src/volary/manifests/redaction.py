"""Secrets never leave: the one place where their values are taken out of text.

A `Masker` learns the values from Secrets, and from then on cleans whatever is to be
shown: diffs, logs, events, errors. It masks by value, so it does not matter how the
value got into the text. As everything passes here, characters that steer terminals end here
too.
"""

import base64
import binascii
import json as json_text
import re
from collections.abc import Iterable, Iterator

from volary.manifests import objects
from volary.manifests.ownership import tracking
from volary.manifests.workloads import config_references
from volary.model import json, safe_text
from volary.model.objects import manifest

MASK = "*****"
#: Shorter values are words like "on" and "1" that would blot out half of every text.
SHORTEST = 4
#: Lines of a longer text, such as a private key, are masked singly from this length on.
_SHORTEST_LINE = 12


class Masker:
    """Collects secret values and takes them out of texts."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.add(*values)

    def add(self, *values: str) -> None:
        """Learn values as they are; each is masked in its plain, base64 and JSON form."""
        for value in values:
            self._values.update(_forms(value))
        self._pattern = None

    def learn(self, manifests: Iterable[manifest.Manifest]) -> None:
        """Learn the values of every Secret among the manifests or live objects."""
        for item in manifests:
            if config_references.is_secret(item):
                self.add(*secret_values(item))

    def clean(self, text: str) -> str:
        """Return the text with every known value replaced by ``*****``, safe to show."""
        if not self._values:
            return safe_text.printable(text)
        if self._pattern is None:
            # Longest first: one value may be the beginning of another.
            ordered = sorted(self._values, key=lambda value: (-len(value), value))
            self._pattern = re.compile("|".join(map(re.escape, ordered)))
        return safe_text.printable(self._pattern.sub(MASK, text))

    def occurs_in(self, text: str) -> bool:
        """Say whether a known value is in the text."""
        # Copied: others may learn more meanwhile.
        return any(value in text for value in tuple(self._values))


def secret_values(item: manifest.Manifest) -> list[str]:
    """Return the values of a Secret, decoded where they are text."""
    values = [value for value in objects.mapping(item.body, "stringData").values()]
    values += [_decoded(value) for value in objects.mapping(item.body, "data").values()]
    return [value for value in values if isinstance(value, str) and value]


def is_redacted(body: json.JsonObject, path: tuple[str | int, ...]) -> bool:
    """Say whether what is at `path` of an object must not be shown.

    PipeCD forgets ``stringData``, and what kubectl keeps of it in an annotation.
    """
    if not path or body.get("kind") != config_references.SECRET:
        return False
    return path[0] in ("data", "stringData") or tracking.LAST_APPLIED in path


def _forms(value: str) -> Iterator[str]:
    pieces = [value, value.strip()]
    pieces += [line for line in map(str.strip, value.splitlines()) if len(line) >= _SHORTEST_LINE]
    for piece in pieces:
        if len(piece) < SHORTEST:
            continue
        yield piece
        yield base64.b64encode(piece.encode("utf-8", "replace")).decode()
        yield json_text.dumps(piece)[1:-1]
        yield json_text.dumps(piece, ensure_ascii=False)[1:-1]


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        # Binary, or not base64 at all: then the text itself is what may appear.
        return value
