"""Reading the files of one commit or directory, without ever leaving it.

Paths are relative to the root, with ``/`` between parts and no ``.`` or ``..``; the root
itself is empty. `paths.join` makes them. A tree answers what is *at* a path and does not
follow symbolic links by itself; `follow` does, and refuses those that leave the tree.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from volary.model import errors
from volary.sources.trees import paths

#: A file above this is a mistake, not a manifest or chart.
LARGEST_FILE = 16 * 1024 * 1024
_MOST_LINKS = 40


class Kind(StrEnum):
    """What is at a path."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    #: Another repository mounted here; its files are not part of this one.
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or directory of a tree."""

    path: str
    kind: Kind
    #: In bytes; 0 for directories.
    size: int = 0
    executable: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


class Tree(Protocol):
    """The files of one commit or directory. Blocks: call it in a thread."""

    def entry(self, path: str) -> Entry | None:
        """Return what is at `path`; None when there is nothing."""
        ...

    def list(self, path: str) -> tuple[Entry, ...]:
        """Return what is directly in the directory at `path`, in lexical order."""
        ...

    def read(self, path: str) -> bytes:
        """Return the content of the file at `path`; of a symbolic link, where it points."""
        ...

    def identity(self, path: str) -> str:
        """Return a hash that changes whenever something at or below `path` does."""
        ...


def join(
    directory: str, path: str, refusal: str, *, hint: str = "", where: errors.Location | None = None
) -> str:
    """Return `path`, as written in `directory`, relative to the root.

    Raises:
        UserError: It leaves the tree; `refusal` says so.
    """
    try:
        return paths.join(directory, path)
    except paths.OutsideError as error:
        raise errors.user_error(refusal, hint=hint, where=where) from error


def follow(tree: Tree, path: str) -> Entry | None:
    """Return the file or directory at `path`, through symbolic links that stay inside.

    Raises:
        UserError: A link leaves the tree, is absolute, goes in circles, or the path
            leads into a submodule.
    """
    resolved: list[str] = []
    rest = path.split("/") if path else []
    links = 0
    while rest:
        part = rest.pop(0)
        here = "/".join([*resolved, part])
        entry = tree.entry(here)
        if entry is None:
            return None
        if entry.kind is Kind.SUBMODULE:
            raise errors.user_error(
                f"{here} is a submodule, its files are not part of this repository",
                hint="copy what is needed into the repository",
                where=errors.Location(path),
            )
        if entry.kind is Kind.SYMLINK:
            links += 1
            if links > _MOST_LINKS:
                raise errors.user_error(
                    "the symbolic links go in circles", where=errors.Location(path)
                )
            target = _target(tree, here, "/".join(resolved))
            resolved, rest = [], [*(target.split("/") if target else []), *rest]
        else:
            resolved.append(part)
    return tree.entry("/".join(resolved))


def _target(tree: Tree, link: str, directory: str) -> str:
    points_to = tree.read(link).decode("utf-8", "replace")
    return join(
        directory,
        points_to,
        f"the symbolic link points to {points_to}, outside the repository",
        hint="only what is in the repository is read",
        where=errors.Location(link),
    )


def read_file(tree: Tree, path: str) -> bytes:
    """Return the content of the file at `path`, through links that stay inside.

    Raises:
        UserError: There is no such file, it is a directory, or it is too large.
    """
    entry = follow(tree, path)
    where = errors.Location(path)
    if entry is None:
        raise errors.user_error("the file does not exist", where=where)
    if entry.kind is not Kind.FILE:
        raise errors.user_error(f"a file is expected, this is a {entry.kind.value}", where=where)
    if entry.size > LARGEST_FILE:
        limit = LARGEST_FILE // (1024 * 1024)
        raise errors.user_error(
            f"the file is too large: {entry.size} bytes, at most {limit} MiB are read", where=where
        )
    return tree.read(entry.path)


def read_text(tree: Tree, path: str) -> str:
    """Return the text of the file at `path`.

    Raises:
        UserError: As `read_file`, or it is not UTF-8.
    """
    try:
        return read_file(tree, path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.user_error(
            f"the file is not UTF-8 text: byte {error.start} cannot be read",
            where=errors.Location(path),
        ) from error
