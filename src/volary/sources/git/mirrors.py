"""Bare mirrors of the repositories that are watched: one per address, private, shared.

A mirror holds the branches that are watched, and the commits that somebody keeps
(`kept_commits`). It starts with the newest
commit only where the host allows that; `Mirror.ensure` brings older ones when somebody
needs them. Addresses and credentials are never written into it.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import shutil
from collections.abc import AsyncIterator, Collection
from concurrent import futures
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pygit2

from volary.config.text import git_addresses
from volary.model import errors, server_settings
from volary.sources.git import (
    git_hosts,
    kept_commits,
    libgit2_remote,
    missing_commits,
    packs,
    repositories,
    ssh_remote,
)

_WANTED = "refs/volary/wanted"
_REFS, _TAGS = "refs/", "refs/tags/"
_LOG = logging.getLogger(__name__)

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """What happened to a branch between two fetches."""

    branch: str
    #: Empty: the branch is new.
    old: str
    #: Empty: the branch was deleted.
    new: str
    #: The old commit is not among the new one's ancestors.
    forced: bool = False

    def __str__(self) -> str:
        if not self.old:
            return f"{self.branch} is new, at {self.new[:7]}"
        if not self.new:
            return f"{self.branch} was deleted, it was at {self.old[:7]}"
        how = " by a force-push" if self.forced else ""
        return f"{self.branch} moved from {self.old[:7]} to {self.new[:7]}{how}"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A branch after a fetch."""

    branch: str
    #: Its commit; empty: the host has no such branch.
    head: str
    #: None: nothing changed since the last fetch.
    update: RefUpdate | None = None


class Mirror:
    """The mirror of one address; one fetch at a time."""

    def __init__(
        self, path: Path, location: str, host: git_hosts.Remote, limits: git_hosts.Limits
    ) -> None:
        self._path = path
        self._location = location
        self._host = host
        self._limits = limits
        self._busy = asyncio.Lock()
        self._opened = pygit2.Repository(str(path))
        # A handle of its own: those of libgit2 are not made for two threads.
        reading = pygit2.Repository(str(path))
        self._missing = missing_commits.MissingCommits()
        #: What is kept, by holder, as far as this process has written it.
        self._kept: dict[str, frozenset[str]] = {}
        #: The commits; those the mirror does not hold are fetched when somebody asks.
        self.repository = repositories.Repository(
            location, reading, self.ensure, self._missing, self.complete
        )

    async def fetch(self, branch: str = "") -> Fetched:
        """Bring a branch up to date; without a name the host's default branch.

        Raises:
            TemporaryError: The host cannot be reached, is slow, or does not keep its word.
            UserError: The host refuses us, we do not believe it, or it has no default branch.
        """
        async with self._busy:
            heads = await self._host.heads()
            name = branch or heads.default
            if not name:
                if not heads.branches:
                    return Fetched("", "")
                raise errors.user_error(
                    f"{self._location} names no default branch", hint="write branch"
                )
            fetched = await self._update(name, heads.branches.get(name, ""))
            if fetched.update is not None:
                self._missing.forget()
                await asyncio.to_thread(self._merge_packs)
            return fetched

    async def find(self, name: str) -> str:
        """Return the commit that a branch, a tag or another reference of the host is at now.

        It is brought here to be looked at, and what is followed stays as it is. Names are read as
        Git reads them: ``main``, ``v1.2``, ``pull/7/head``, ``refs/merge-requests/7/head``.

        Raises:
            TemporaryError: The host cannot be reached, or is slow.
            UserError: The host has nothing of this name, or refuses us.
        """
        async with self._busy:
            for reference in _references(name):
                await asyncio.to_thread(self._drop_wanted)
                with contextlib.suppress(git_hosts.NoSuchReferenceError):
                    await self._host.fetch([f"+{reference}:{_WANTED}"], depth=0)
                if commit := await asyncio.to_thread(self._wanted):
                    await asyncio.to_thread(self._merge_packs)
                    return commit
        raise errors.user_error(
            f"{self._location} has no branch or tag {name}",
            hint="name a commit, a branch or a tag; a pull request by its reference, such as"
            " pull/7/head (GitHub) or merge-requests/7/head (GitLab)",
        )

    def _drop_wanted(self) -> None:
        if self._opened.references.get(_WANTED) is not None:
            self._opened.references.delete(_WANTED)

    def _wanted(self) -> str:
        """Return the commit that was fetched last for somebody; empty: none was."""
        reference = self._opened.references.get(_WANTED)
        try:
            return str(reference.peel(pygit2.Commit).id) if reference is not None else ""
        except (pygit2.GitError, KeyError):
            return ""

    async def ensure(self, commit: str) -> None:
        """Make sure that a commit can be read; one that is missing is asked for once.

        Raises:
            TemporaryError: The host cannot be reached, or is slow.
            UserError: The host does not have it, or does not give it away.
        """
        async with self._busy:
            self._missing.check([commit])
            if await asyncio.to_thread(self._has, commit):
                return
            await self._fetch_history()
            if await asyncio.to_thread(self._has, commit):
                return
            with contextlib.suppress(errors.UserError):
                await self._host.fetch([f"+{commit}:{_WANTED}"], depth=0)
                await asyncio.to_thread(self._merge_packs)
            if not await asyncio.to_thread(self._has, commit):
                gone = errors.user_error(
                    f"{self._location} does not have the commit {commit}",
                    hint="it was never pushed there, or a force-push left it behind, or its branch"
                    " was deleted",
                )
                self._missing.add(commit, gone)
                raise gone

    async def complete(self) -> bool:
        """Bring the whole history of the branches; says whether some of it was missing.

        Raises:
            TemporaryError: The host cannot be reached, or is slow.
            UserError: The host refuses us.
        """
        async with self._busy:
            return await self._fetch_history()

    async def _fetch_history(self) -> bool:
        names = await asyncio.to_thread(self._branches)
        if not names or not self._opened.is_shallow:
            return False
        await self._host.fetch([_refspec(name) for name in names], depth=git_hosts.WHOLE)
        return True

    async def keep(
        self, holder: str, commits: Collection[str], *, exclusively: bool = False
    ) -> None:
        """Keep these commits for a holder: no force-push and no garbage collection takes them.

        `exclusively`: what was kept for the holder besides is not kept any more. A commit that
        is not here is passed over.

        Raises:
            TemporaryError: The mirror cannot be written.
        """
        wanted = frozenset(commits)
        kept = self._kept.get(holder)
        if kept is not None and (kept == wanted if exclusively else kept >= wanted):
            return
        async with self._busy:
            try:
                self._kept[holder] = await asyncio.to_thread(
                    kept_commits.keep, self._opened, holder, wanted, exclusively=exclusively
                )
            except (pygit2.GitError, OSError) as error:
                raise errors.TemporaryError(
                    f"{self._path}: commits cannot be kept: {error}"
                ) from error

    async def _update(self, branch: str, announced: str) -> Fetched:
        old = await asyncio.to_thread(self._target, branch)
        if old == announced:
            return Fetched(branch, announced)
        if not announced:
            await asyncio.to_thread(self._opened.references.delete, f"{git_hosts.HEADS}{branch}")
            return Fetched(branch, "", RefUpdate(branch, old, ""))
        is_first = not await asyncio.to_thread(self._branches)
        await self._host.fetch([_refspec(branch)], depth=1 if is_first else 0)
        new = await asyncio.to_thread(self._target, branch)
        if new == old or not await asyncio.to_thread(self._has, new):
            raise errors.TemporaryError(
                f"{self._location} announces {announced[:7]} as {branch} and does not hand it out"
            )
        forced = bool(old) and not await asyncio.to_thread(self._descends, new, old)
        return Fetched(branch, new, RefUpdate(branch, old, new, forced))

    def _target(self, branch: str) -> str:
        reference = self._opened.references.get(f"{git_hosts.HEADS}{branch}")
        return str(reference.target) if reference is not None else ""

    def _branches(self) -> list[str]:
        names = self._opened.references
        return [
            name.removeprefix(git_hosts.HEADS) for name in names if name.startswith(git_hosts.HEADS)
        ]

    def _has(self, commit: str) -> bool:
        try:
            return isinstance(self._opened.get(commit), pygit2.Commit)
        except ValueError:
            return False

    def _descends(self, new: str, old: str) -> bool:
        # Opened anew, to see where the history ends now.
        opened = pygit2.Repository(str(self._path))
        try:
            return opened.descendant_of(new, old)
        except (pygit2.GitError, KeyError):
            # The history in between ends before the old commit.
            return False
        finally:
            opened.free()

    def _merge_packs(self) -> None:
        """Keep the number of packs down, and let go of those that went."""
        try:
            merged = packs.merge(self._path, self._limits.merged_packs)
        except (pygit2.GitError, OSError) as error:
            # They are only more than there should be.
            _LOG.warning("%s: its packs cannot be merged: %s", self._path, error)
            return
        if merged:
            self._opened.free()
            self.repository.release_files()


@dataclass(frozen=True, slots=True)
class Mirrors:
    """All mirrors of a data directory; make it with `open_mirrors`."""

    directory: Path
    limits: git_hosts.Limits
    workers: futures.Executor
    session: aiohttp.ClientSession
    #: No other process works in the directory.
    alone: bool
    #: By address.
    _mirrors: dict[str, Mirror] = field(default_factory=dict)

    def mirror(self, spec: server_settings.Repository) -> Mirror:
        """Return the mirror of a repository's address, made when it is not there.

        Raises:
            UserError: It is reached over ssh and a program is missing, or the directory
                cannot be written.
        """
        mirror = self._mirrors.get(spec.url)
        if mirror is None:
            path = self.directory / f"{hashlib.sha256(spec.url.encode()).hexdigest()[:40]}.git"
            try:
                _prepare(path, self.limits, alone=self.alone)
            except OSError as error:
                raise errors.user_error(f"{path} cannot be written: {error.strerror}") from error
            host = self._host(path, spec)
            location = git_addresses.mask(spec.url)
            mirror = self._mirrors[spec.url] = Mirror(path, location, host, self.limits)
        return mirror

    def _host(self, path: Path, spec: server_settings.Repository) -> git_hosts.Remote:
        if git_addresses.transport(spec.url) is git_addresses.Transport.SSH:
            return ssh_remote.SshRemote(path, spec, self.limits, ssh_remote.find())
        return libgit2_remote.Libgit2Remote(path, spec, self.limits, self.workers, self.session)


@asynccontextmanager
async def open_mirrors(
    directory: Path, *, limits: git_hosts.Limits | None = None
) -> AsyncIterator[Mirrors]:
    """Open the mirrors in a directory, made private when it is not there.

    Leftovers of a process that was killed are removed, unless another process works
    in the same directory; then both share it.

    Raises:
        UserError: The directory cannot be used.
    """
    limits = limits or git_hosts.Limits()
    libgit2_remote.prepare_for_hosts(limits)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.chmod(0o700)
        lock = (directory / "lock").open("a")
    except OSError as error:
        raise errors.user_error(f"{directory} cannot be used: {error.strerror}") from error
    workers = futures.ThreadPoolExecutor(limits.parallel, thread_name_prefix="git")
    with lock:
        try:
            # Proxies as the environment says; no cookies from anywhere.
            cookies = aiohttp.DummyCookieJar()
            async with aiohttp.ClientSession(trust_env=True, cookie_jar=cookies) as session:
                alone = _take(lock.fileno())
                yield Mirrors(directory, limits, workers, session, alone)
        finally:
            workers.shutdown(wait=False, cancel_futures=True)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _prepare(path: Path, limits: git_hosts.Limits, *, alone: bool) -> None:
    """Leave a usable bare repository at `path`."""
    fresh = path.with_name(f"{path.name}.new")
    if alone:
        kept_commits.recover(path, fresh)
    if path.exists() and alone:
        _clean(path)
        count = sum(1 for _ in (path / "objects/pack").glob("*.pack"))
        if not _is_usable(path):
            _LOG.warning("%s is damaged: it is fetched anew", path)
            shutil.rmtree(path)
        elif count > limits.packs:
            _create(fresh)
            kept_commits.make_anew(path, fresh)
            kept_commits.replace(path, fresh)
    if not path.exists():
        _create(path)
    path.chmod(0o700)


def _create(path: Path) -> None:
    created = pygit2.init_repository(str(path), bare=True)
    # Credentials would follow a redirect to another host.
    created.config["http.followRedirects"] = "false"
    created.config["core.logAllRefUpdates"] = "false"
    # Commits that runs need survive a power cut, as what is stored about them does.
    created.config["core.fsyncObjectFiles"] = "true"


def _is_usable(path: Path) -> bool:
    """Say whether what a mirror has can be read: a power cut may leave files empty."""
    try:
        opened = pygit2.Repository(str(path))
        refs = opened.references
        refs["HEAD"]  # it leads nowhere, and says that this is a repository
        # Those that are empty are not listed.
        files = (file for file in (path / "refs").rglob("*") if file.is_file())
        names = {*refs, *(file.relative_to(path).as_posix() for file in files)}
        commits = [opened.get(refs[name].target) for name in names]
        return opened.is_bare and all(isinstance(commit, pygit2.Commit) for commit in commits)
    except (pygit2.GitError, KeyError, ValueError):
        return False


def _clean(path: Path) -> None:
    for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/pack_*"):
        for leftover in path.glob(pattern):
            leftover.unlink(missing_ok=True)
    for unfinished in path.glob(f"{packs.MERGING}*"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _references(name: str) -> list[str]:
    """Return the references that a name may stand for, those of branches first."""
    possible = (
        (name,)
        if name.startswith("refs/")
        else (git_hosts.HEADS + name, _TAGS + name, _REFS + name)
    )
    return [each for each in possible if pygit2.reference_is_valid_name(each)]


def _refspec(branch: str) -> str:
    return f"+{git_hosts.HEADS}{branch}:{git_hosts.HEADS}{branch}"
