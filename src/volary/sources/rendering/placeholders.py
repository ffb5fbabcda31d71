"""Refuses what nobody filled in or decrypted: placeholders of PipeCD's, and values of SOPS.

An object would get the placeholder's text in place of the value, over a Secret that works.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from volary.model import applications, errors
from volary.model.objects import manifest
from volary.sources.decryption import sops_files

_SECRET = re.compile(r"\{\{[^{}]*(?<![\w.])\$?\.encryptedSecrets\b")
#: Other templates may well have an attachment of their own.
_IN_PIPECD = re.compile(r"\{\{[^{}]*(?<![\w.])\$?\.(?:encryptedSecrets|attachment)\b")
_HINT = (
    "list the file under encryption.decryptionTargets, or attachment.targets: only these are"
    " filled in"
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


def refuse_ciphertexts(manifests: Iterable[manifest.Manifest]) -> None:
    """Raise for objects with values of SOPS that nobody decrypted, encoded ones included.

    Raises:
        UserError: Some have; each is named.
    """
    problems = [
        errors.Problem(
            f"{item.key.title} has an encrypted value of SOPS",
            item.origin,
            "a value is decrypted in its own file, with the section `sops:` that belongs to it;"
            " it cannot be copied elsewhere",
        )
        for item in manifests
        if item.group != sops_files.OPENED_IN_CLUSTER
        if any(
            sops_files.LITERAL.search(text)
            for written in _texts(item.body)
            for text in (written, _decoded(written))
        )
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
