"""A plain directory as it is, confined: nothing outside its root is ever opened.

The root is opened by its real path. Every part of a path below it is looked at without
following symbolic links, so a link swapped in between is not followed either.
"""

import hashlib
import os
import stat
from pathlib import Path

from volary.model import errors
from volary.sources.trees import trees

#: An application's directory with more files than this is a mistake.
MOST_ENTRIES = 100_000
#: Never part of a source, and often huge.
_IGNORED = frozenset({".git"})
#: Parts that no path of a tree has; `paths.join` takes them out.
_FOREIGN = _IGNORED | {".", ".."}


class DirectoryTree:
    """A `trees.Tree` over the files below `root`.

    Raises:
        UserError: `root` is not a directory.
    """

    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.realpath(root))
        if not self._root.is_dir():
            raise errors.user_error(f"{root} is not a directory")

    def entry(self, path: str) -> trees.Entry | None:
        """Return what is at `path`; None when there is nothing, or only through a link."""
        parts = path.split("/")
        foreign = path.startswith("/") or any(part in _FOREIGN for part in parts)
        if foreign or self._through_link(path):
            return None
        try:
            file_status = os.lstat(self._root / path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(path, file_status)

    def list(self, path: str) -> tuple[trees.Entry, ...]:
        """Return what is directly in the directory at `path`, in lexical order."""
        directory_entry = self.entry(path)
        if directory_entry is None or directory_entry.kind is not trees.Kind.DIRECTORY:
            return ()
        with os.scandir(self._root / path) as scanned:
            names = sorted(entry.name for entry in scanned if entry.name not in _IGNORED)
        paths = (f"{path}/{name}" if path else name for name in names)
        return tuple(entry for entry in map(self.entry, paths) if entry is not None)

    def read(self, path: str) -> bytes:
        """Return the file's content; of a symbolic link, where it points.

        Raises:
            UserError: It vanished or cannot be read.
        """
        full = self._root / path
        try:
            if full.is_symlink():
                return os.fsencode(os.readlink(full))
            # A link that took the file's place in between is refused here.
            handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as opened:
                return opened.read(trees.LARGEST_FILE + 1)
        except OSError as error:
            raise errors.user_error(f"{path} cannot be read: {error.strerror}") from error

    def identity(self, path: str) -> str:
        """Return a hash over names, sizes and times of change at and below `path`.

        Raises:
            UserError: There are too many files.
        """
        digest = hashlib.sha256(str(self._root).encode())
        waiting, seen = [path], 0
        while waiting:
            for entry in self.list(waiting.pop()):
                seen += 1
                if seen > MOST_ENTRIES:
                    raise errors.user_error(
                        f"more than {MOST_ENTRIES} files below {self._root}",
                        hint="name the application's directory, not one far above it",
                    )
                changed = os.lstat(self._root / entry.path).st_mtime_ns
                digest.update(f"{entry.path}\0{entry.kind}\0{entry.size}\0{changed}\n".encode())
                if entry.kind is trees.Kind.DIRECTORY:
                    waiting.append(entry.path)
        return digest.hexdigest()

    def _through_link(self, path: str) -> bool:
        parts = path.split("/")[:-1]
        return any(
            (self._root / "/".join(parts[: count + 1])).is_symlink() for count in range(len(parts))
        )


def _entry(path: str, file_status: os.stat_result) -> trees.Entry | None:
    mode = file_status.st_mode
    if stat.S_ISDIR(mode):
        return trees.Entry(path, trees.Kind.DIRECTORY)
    if stat.S_ISLNK(mode):
        return trees.Entry(path, trees.Kind.SYMLINK, file_status.st_size)
    if stat.S_ISREG(mode):
        return trees.Entry(path, trees.Kind.FILE, file_status.st_size, bool(mode & stat.S_IXUSR))
    # Sockets, pipes and devices are nothing to read manifests from.
    return None
