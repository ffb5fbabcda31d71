"""Paths and globs in the files users write."""

import posixpath
from collections.abc import Sequence

from volary.config.decoding import readings
from volary.config.text import globs, yaml


def resolve(path: str, directory: str) -> str:
    """Return a path seen from the file's directory; ``~`` and absolute ones as is."""
    if not directory or path.startswith("~"):
        return path
    return posixpath.normpath(posixpath.join(directory, path))


def check_patterns(reading: readings.Reading, patterns: Sequence[str], path: yaml.Path) -> None:
    """Note globs that cannot be read."""
    for i, pattern in enumerate(patterns):
        wrong = globs.check(pattern)
        if wrong:
            reading.error((*path, i), wrong)
