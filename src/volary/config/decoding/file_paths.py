"""Paths and globs in the files users write."""

import dataclasses
import posixpath
from collections.abc import Sequence
from typing import Any, TypeVar

from volary.config.decoding import base_sections, readings
from volary.config.text import globs, yaml

V = TypeVar("V")


def resolve(path: str, directory: str) -> str:
    """Return a path seen from the file's directory; ``~`` and absolute ones as is."""
    if not directory or path.startswith("~"):
        return path
    return posixpath.normpath(posixpath.join(directory, path))


def resolved(value: V, directory: str) -> V:
    """Return what was read by a definition with all of its files seen from the directory."""
    return _resolved(value, directory)  # type: ignore[no-any-return]


def _resolved(value: Any, directory: str) -> Any:
    if isinstance(value, tuple):
        return tuple(_resolved(entry, directory) for entry in value)
    definition: Any = type(value)
    if not base_sections.is_definition(definition):
        return value
    files = base_sections.files_of(definition)
    changed = {}
    for field in dataclasses.fields(value):
        old = getattr(value, field.name)
        if not (field.name in files and old):
            changed[field.name] = _resolved(old, directory)
        elif isinstance(old, tuple):
            changed[field.name] = tuple(resolve(path, directory) if path else path for path in old)
        else:
            changed[field.name] = resolve(old, directory)
    return dataclasses.replace(value, **changed)


def check_patterns(reading: readings.Reading, patterns: Sequence[str], path: yaml.Path) -> None:
    """Note globs that cannot be read."""
    for i, pattern in enumerate(patterns):
        wrong = globs.check(pattern)
        if wrong:
            reading.error((*path, i), wrong)
