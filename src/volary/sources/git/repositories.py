"""Reading a Git repository at a commit, without a checkout.

libgit2 reads objects straight from the repository: local or bare. All its calls block,
so they run in threads; one lock per repository, because its handle is not thread-safe.
Hooks, filters and attributes of the repository are never run.
"""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib import parse

import pygit2
from pygit2.enums import FileMode, FileStatus, ObjectType

from volary.concurrency import work_threads
from volary.model import errors, safe_text
from volary.sources.git import missing_commits
from volary.sources.trees import trees

T = TypeVar("T")

_HASH = re.compile(r"[0-9a-f]{40}")
_KINDS = {
    FileMode.TREE: trees.Kind.DIRECTORY,
    FileMode.LINK: trees.Kind.SYMLINK,
    FileMode.COMMIT: trees.Kind.SUBMODULE,
}


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as people speak of it."""

    #: Full hash.
    id: str
    message: str
    author: str
    #: When it was committed, in UTC.
    at: datetime

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.strip().partition("\n")[0]

    @property
    def short(self) -> str:
        """The first seven digits of its hash."""
        return self.id[:7]


class GitTree:
    """A `trees.Tree` over the files of one commit."""

    def __init__(self, repository: pygit2.Repository, root: pygit2.Tree, lock: threading.Lock):
        self._repository = repository
        self._root = root
        self._lock = lock

    def entry(self, path: str) -> trees.Entry | None:
        """Return what is at `path`; None when there is nothing."""
        if not path:
            return trees.Entry("", trees.Kind.DIRECTORY)
        with self._lock:
            git_object = self._find(path)
            return None if git_object is None else self._entry(path, git_object)

    def list(self, path: str) -> tuple[trees.Entry, ...]:
        """Return what is directly in the directory at `path`, in lexical order."""
        with self._lock:
            git_object = self._find(path) if path else self._root
            if not isinstance(git_object, pygit2.Tree):
                return ()
            entries = [
                self._entry(f"{path}/{child.name}" if path else str(child.name), child)
                for child in git_object
            ]
        return tuple(sorted(entries, key=lambda entry: entry.path))

    def read(self, path: str) -> bytes:
        """Return the file's content; of a symbolic link, where it points.

        Raises:
            UserError: There is no file at `path`.
        """
        with self._lock:
            git_object = self._find(path)
            if not isinstance(git_object, pygit2.Blob):
                raise errors.user_error(f"{path} is not a file of the commit")
            return bytes(git_object.data)

    def identity(self, path: str) -> str:
        """Return the hash Git itself gives to what is at `path`; empty for nothing."""
        with self._lock:
            git_object = self._find(path) if path else self._root
            return str(git_object.id) if git_object is not None else ""

    def _find(self, path: str) -> pygit2.Object | None:
        try:
            return self._root[path]
        except KeyError:
            return None

    def _entry(self, path: str, git_object: pygit2.Object) -> trees.Entry:
        mode = git_object.filemode
        kind = _KINDS.get(FileMode(mode), trees.Kind.FILE)
        size = git_object.size if isinstance(git_object, pygit2.Blob) else 0
        return trees.Entry(path, kind, size, mode == FileMode.BLOB_EXECUTABLE)


class Repository:
    """An opened repository; make it with `open_repository`."""

    def __init__(
        self,
        location: str,
        opened: pygit2.Repository,
        ensure: Callable[[str], Awaitable[None]] | None = None,
        missing: missing_commits.MissingCommits | None = None,
        complete: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        #: As the user names it.
        self.location = location
        #: The address that the repository was cloned from; empty: from none.
        self.remote = _remote(opened)
        self._opened = opened
        #: Brings a commit that is not there; None: what is there is all.
        self._ensure = ensure
        self._missing = missing or missing_commits.MissingCommits()
        #: Brings the history that is not there, and says whether there was any to bring.
        self._complete = complete
        self._lock = threading.Lock()

    @property
    def root(self) -> Path | None:
        """The directory that is checked out; None for a bare repository."""
        workdir = self._opened.workdir
        return Path(workdir) if workdir else None

    def release_files(self) -> None:
        """Close what is open; it is opened again when something is read. Blocks."""
        with self._lock:
            self._opened.free()

    async def resolve(self, revision: str = "HEAD") -> Commit:
        """Return the commit a hash, branch or tag stands for.

        Raises:
            UserError: There is no such commit, or the short hash is ambiguous.
        """
        return await self._read(self._resolve, revision)

    async def tree(self, commit: str) -> GitTree:
        """Return the files of a commit.

        Raises:
            UserError: There is no such commit.
        """
        return await self._read(self._tree, commit)

    async def changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        """Return the paths that differ between two commits, renamed ones under both names.

        Raises:
            UserError: One of the commits does not exist.
        """
        return await self._read(self._changed_paths, old, new)

    async def has_in_history(self, head: str, commit: str) -> bool:
        """Say whether a commit is another one, or among its ancestors; both as whole hashes."""
        if await work_threads.run("reading Git", self._has_in_history, head, commit):
            return True
        if self._complete is None or not await self._complete():
            return False
        return await work_threads.run("reading Git", self._has_in_history, head, commit)

    async def uncommitted(self, directory: str = "") -> tuple[str, ...]:
        """Return files below `directory` whose checked-out state is not the commit's.

        Untracked files count, ignored ones do not; a bare repository has none.
        """
        return await work_threads.run("comparing with Git", self._uncommitted, directory)

    async def _read(self, read: Callable[..., T], *commits: str) -> T:
        self._missing.check(commits)
        try:
            return await work_threads.run("reading Git", read, *commits)
        except errors.UserError:
            if self._ensure is None or not all(_HASH.fullmatch(commit) for commit in commits):
                raise
        for missing_commit in commits:
            await self._ensure(missing_commit)
        return await work_threads.run("reading Git", read, *commits)

    def _resolve(self, revision: str) -> Commit:
        with self._lock:
            commit = self._commit(revision)
            author = commit.author
            return Commit(
                id=str(commit.id),
                # Anybody may write anything there; it goes to terminals, logs and pages.
                message=safe_text.printable(commit.message),
                author=safe_text.one_line(f"{author.name} <{author.email}>"),
                at=datetime.fromtimestamp(commit.commit_time, UTC),
            )

    def _tree(self, revision: str) -> GitTree:
        with self._lock:
            return GitTree(self._opened, self._commit(revision).tree, self._lock)

    def _changed_paths(self, old: str, new: str) -> tuple[str, ...]:
        with self._lock:
            difference = self._opened.diff(self._commit(old), self._commit(new))
            pairs = [(delta.old_file.path, delta.new_file.path) for delta in difference.deltas]
        return tuple(sorted({path for pair in pairs for path in pair if path}))

    def _has_in_history(self, head: str, commit: str) -> bool:
        if head == commit:
            return True
        # Opened anew, to see where the history ends now, and to keep no reader waiting.
        opened = pygit2.Repository(self._opened.path)
        try:
            return opened.descendant_of(head, commit)
        except (pygit2.GitError, KeyError, ValueError):
            return False  # what is here ends before it
        finally:
            opened.free()

    def _uncommitted(self, directory: str) -> tuple[str, ...]:
        if self._opened.is_bare:
            return ()
        with self._lock:
            states = self._opened.status(untracked_files="all")
        prefix = f"{directory}/" if directory else ""
        clean = (FileStatus.CURRENT, FileStatus.IGNORED)
        return tuple(
            sorted(
                path
                for path, what in states.items()
                if what not in clean and path.startswith(prefix)
            )
        )

    def _commit(self, revision: str) -> pygit2.Commit:
        try:
            git_object = self._opened.revparse_single(revision)
            commit = git_object.peel(ObjectType.COMMIT)
        except (KeyError, ValueError, pygit2.GitError) as error:
            raise errors.user_error(
                f"{self.location} has no commit {revision}",
                hint="name a commit hash, a branch or a tag that was fetched",
            ) from error
        assert isinstance(commit, pygit2.Commit)
        return commit


def _remote(opened: pygit2.Repository) -> str:
    key = "remote.origin.url"
    return str(opened.config[key]) if key in opened.config else ""


async def open_repository(location: str) -> Repository:
    """Open a repository at a path (checked out, bare, or a directory in it) or file:// URL.

    Raises:
        UserError: There is no repository, it belongs to somebody else, or the URL is
            not one of a local repository.
    """
    return await asyncio.to_thread(_open, location)


def _open(location: str) -> Repository:
    path = _path(location)
    try:
        git_directory = pygit2.discover_repository(str(path))
        if git_directory is None:
            raise errors.user_error(f"{location} is not a Git repository")
        return Repository(location, pygit2.Repository(git_directory))
    except (pygit2.GitError, KeyError) as error:
        hint = ""
        if "not owned by" in str(error):
            hint = "it belongs to another user; trust it with `git config --global safe.directory`"
        raise errors.user_error(f"{location} cannot be opened: {error}", hint=hint) from error


def _path(location: str) -> Path:
    if "://" not in location:
        return Path(location)
    url = parse.urlsplit(location)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        raise errors.user_error(
            f"{url.scheme}:// repositories are not read yet",
            hint="clone it and name the path, or use a file:// URL",
        )
    return Path(parse.unquote(url.path))


def find_root(path: Path) -> Path | None:
    """Return the root of the checked-out repository around `path`; None outside of one."""
    git_directory = pygit2.discover_repository(str(path))
    if git_directory is None:
        return None
    workdir = pygit2.Repository(git_directory).workdir
    return Path(workdir) if workdir else None
