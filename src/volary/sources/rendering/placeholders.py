"""Refuses what PipeCD fills in before it applies: secrets and attached files.

Nobody fills them in here, so an object would get the placeholder's text in place of the value,
over a Secret that works.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from volary.model import applications, errors
from volary.model.objects import manifest

_SECRET = re.compile(r"\{\{[^{}]*(?<![\w.])\$?\.encryptedSecrets\b")
#: Other templates may well have an attachment of their own.
_IN_PIPECD = re.compile(r"\{\{[^{}]*(?<![\w.])\$?\.(?:encryptedSecrets|attachment)\b")
_HINT = (
    "encryption and attachment of PipeCD are not carried out: bring a Secret to the clusters"
    " another way (External Secrets, Sealed Secrets), and write attached text into the manifest"
)


def refuse_in_text(text: str, file: str, dialect: applications.Dialect) -> None:
    """Raise for a file that has placeholders, before it is read: they need not be YAML.

    Raises:
        UserError: It has some.
    """
    match = _pattern(dialect).search(text)
    if match is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise errors.user_error(
            f"has a placeholder of PipeCD: {_shown(text, match)}",
            hint=_HINT,
            where=errors.Location(file, line),
        )


def refuse_in_objects(
    manifests: Iterable[manifest.Manifest], dialect: applications.Dialect
) -> None:
    """Raise for objects that have placeholders, encoded values of Secrets included.

    Raises:
        UserError: Some have; each is named.
    """
    pattern = _pattern(dialect)
    problems = [
        errors.Problem(
            f"{item.key.title} has a placeholder of PipeCD: {_shown(text, match)}",
            item.origin,
            _HINT,
        )
        for item in manifests
        for written in _texts(item.body)
        for text in (written, _decoded(written))
        if (match := pattern.search(text))
    ]
    if problems:
        raise errors.UserError(*dict.fromkeys(problems))


def _pattern(dialect: applications.Dialect) -> re.Pattern[str]:
    return _IN_PIPECD if dialect is applications.Dialect.PIPECD else _SECRET


def _shown(text: str, match: re.Match[str]) -> str:
    end = text.find("}}", match.end())
    return text[match.start() : end + 2 if 0 <= end - match.end() <= 80 else match.end()]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _decoded(text: str) -> str:
    """Return what a text stands for in base64; empty when it is none."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
