"""Writes parts of a tree to a private directory, for programs that need files.

Only what is below the tree's root can get there: symbolic links are replaced by what
they point to, those that leave the tree are refused, and size and number are bounded.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from volary.concurrency import work_threads
from volary.model import errors
from volary.sources.trees import paths, trees


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a rendering may take from the repository."""

    files: int = 20_000
    bytes: int = 256 * 1024 * 1024


@dataclass(slots=True)
class _Writer:
    files: trees.Tree
    root: Path
    limits: Limits
    count: int = 0
    size: int = 0
    done: set[str] = field(default_factory=set)

    def has(self, path: str) -> bool:
        """Say whether `path` was written, by itself or with a directory around it."""
        return any(paths.is_below(path, done) for done in self.done)

    def write(self, path: str, within: tuple[str, ...] = ()) -> None:
        """Write what is at `path`; `within` are the real directories around it."""
        self.done.add(path)
        entry = trees.follow(self.files, path)
        if entry is None:
            raise errors.user_error(f"{path} does not exist in the repository")
        if entry.kind is trees.Kind.FILE:
            self._write_file(path, entry)
        elif entry.path in within:
            raise errors.user_error(f"{path} is a symbolic link to a directory around it")
        else:
            self._write_directory(path, entry, (*within, entry.path))

    def _write_directory(
        self, path: str, directory_entry: trees.Entry, within: tuple[str, ...]
    ) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)
        for entry in self.files.list(directory_entry.path):
            below = f"{path}/{entry.name}" if path else entry.name
            # A submodule is empty here, as in a clone that did not fetch it; a link that
            # points to nothing concerns only who reads it.
            dangling = entry.kind is trees.Kind.SYMLINK and not trees.follow(self.files, entry.path)
            if entry.kind is not trees.Kind.SUBMODULE and not dangling:
                self.write(below, within)

    def _write_file(self, path: str, entry: trees.Entry) -> None:
        self.count += 1
        self.size += entry.size
        if self.count > self.limits.files or self.size > self.limits.bytes:
            raise errors.user_error(
                f"more than {self.limits.files} files or {self.limits.bytes >> 20} MiB "
                "would have to be read to render the application",
                hint="keep charts and kustomize bases apart from large data",
            )
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(trees.read_file(self.files, entry.path))


def write(files: trees.Tree, wanted: Iterable[str], root: Path, limits: Limits) -> None:
    """Write the files and directories at `wanted`, at the same paths below `root`.

    Raises:
        UserError: Something is missing, leaves the repository, or is too much.
    """
    writer = _Writer(files, root, limits)
    # Outer directories first: what is inside of them is then already there.
    for path in sorted(set(wanted), key=lambda wanted_path: (wanted_path.count("/"), wanted_path)):
        if not writer.has(path):
            writer.write(path)


@asynccontextmanager
async def private_directory(
    files: trees.Tree, wanted: Iterable[str], limits: Limits
) -> AsyncIterator[tuple[Path, Path]]:
    """Yield a new directory only we can enter, as (home, root); both go away after.

    `root` holds the wanted parts of the tree, `home` is for the program's own files.

    Raises:
        UserError: As `write`.
    """
    name = tempfile.mkdtemp(prefix="volary-")
    try:
        home, root = Path(name) / "home", Path(name) / "tree"
        home.mkdir()
        root.mkdir()
        await work_threads.run("copying files", write, files, tuple(wanted), root, limits)
        yield home, root
    finally:
        # Also when it is broken off: nobody else knows about it, and it may be many files.
        removing = asyncio.get_running_loop().run_in_executor(None, _remove, name)
        await asyncio.shield(removing)


def _remove(directory: str) -> None:
    """Remove a directory with all that is in it; what cannot be removed stays."""
    shutil.rmtree(directory, ignore_errors=True)
