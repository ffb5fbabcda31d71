"""A tree with other content in some of its files."""

from collections.abc import Mapping
from dataclasses import replace

from volary.sources.trees import trees


class OverlaidTree:
    """A `trees.Tree` that reads some files differently, each by its real path.

    Its identity is that of the tree below: the same commit with the same keys is the same.
    """

    def __init__(self, below: trees.Tree, contents: Mapping[str, bytes]) -> None:
        self._below = below
        self._contents = contents

    def entry(self, path: str) -> trees.Entry | None:
        """Return what is at `path`; None when there is nothing."""
        entry = self._below.entry(path)
        return entry and self._sized(entry)

    def list(self, path: str) -> tuple[trees.Entry, ...]:
        """Return what is directly in the directory at `path`, in lexical order."""
        return tuple(map(self._sized, self._below.list(path)))

    def read(self, path: str) -> bytes:
        """Return the content of the file at `path`; of a symbolic link, where it points."""
        content = self._contents.get(path)
        return self._below.read(path) if content is None else content

    def identity(self, path: str) -> str:
        """Return a hash that changes whenever something at or below `path` does."""
        return self._below.identity(path)

    def _sized(self, entry: trees.Entry) -> trees.Entry:
        content = self._contents.get(entry.path)
        return entry if content is None else replace(entry, size=len(content))
