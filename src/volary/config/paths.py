"""Paths in settings files."""

import posixpath


def resolve(path: str, directory: str) -> str:
    """Return a path seen from the file's directory; ``~`` and absolute ones as is."""
    if not directory or path.startswith("~"):
        return path
    return posixpath.normpath(posixpath.join(directory, path))
