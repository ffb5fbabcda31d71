"""Polls the repositories, and reports what changed."""

import asyncio
import dataclasses
import logging
import random as randomness
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from volary.concurrency import work_threads
from volary.gitops import discovery, project_discovery, repository_state
from volary.model import backoffs, errors, server_settings, work_limits
from volary.sources.git import mirrors, repositories


class WatchedRepositories:
    """Opens what the watcher fetched, and asks hosts now when somebody cannot wait for it.

    `on_fetch` is told the name of a repository whose host was asked besides the watcher.
    """

    def __init__(
        self,
        settings: server_settings.Settings,
        all_mirrors: mirrors.Mirrors,
        on_fetch: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._specs = {repository.name: repository for repository in settings.repositories}
        self._mirrors = all_mirrors
        self._on_fetch = on_fetch

    async def repository(self, name: str) -> repositories.Repository:
        """Return a repository; commits it does not hold yet are fetched when they are read.

        Raises:
            UserError: There is none of that name.
        """
        return self._mirrors.mirror(self._spec(name)).repository

    async def fetch_head(self, name: str) -> str:
        """Ask the host of a repository, and return the commit its branch is at now.

        Raises:
            UserError: There is none of that name, it has no such branch, or the host refuses us.
            TemporaryError: The host cannot be asked now.
        """
        spec = self._spec(name)
        fetched = await self._mirrors.mirror(spec).fetch(spec.branch)
        self._on_fetch(name)
        if not fetched.head:
            raise errors.user_error(f"repository {name} has no branch {fetched.branch or 'yet'}")
        return fetched.head

    async def find(self, name: str, revision: str) -> str:
        """Return the commit that a reference of the host is at now, see `mirrors.Mirror.find`."""
        return await self._mirrors.mirror(self._spec(name)).find(revision)

    async def keep(
        self, name: str, holder: str, commits: Collection[str], *, exclusively: bool
    ) -> None:
        """Keep commits in the mirror for a holder, see `mirrors.Mirror.keep`.

        Raises:
            UserError: There is no repository of that name.
            TemporaryError: The mirror cannot be written.
        """
        mirror = self._mirrors.mirror(self._spec(name))
        await mirror.keep(holder, commits, exclusively=exclusively)

    def _spec(self, name: str) -> server_settings.Repository:
        spec = self._specs.get(name)
        if spec is None:
            raise errors.user_error(
                f"there is no repository {name}", hint="list it in the controller's settings"
            )
        return spec


OnRepositoryChange = Callable[[repository_state.RepositoryState], Awaitable[None]]

_LOGGER = logging.getLogger(__name__)
_JITTER = 0.1
#: Looks that took too long at the same commit, after which there is no other.
_MOST_SLOW_LOOKS = 2


@dataclass(frozen=True, slots=True)
class PollIntervals:
    """How often hosts are asked at most and at least."""

    #: Between two looks, however many webhooks come.
    gap: timedelta = timedelta(seconds=5)
    #: Between two looks at a host that is down; longer when the interval is.
    longest: timedelta = timedelta(minutes=10)


class Mirror(Protocol):
    """What the watcher needs of `mirrors.Mirror`."""

    async def fetch(self, branch: str = "") -> mirrors.Fetched:
        """See `mirrors.Mirror.fetch`."""
        ...

    @property
    def repository(self) -> repositories.Repository:
        """See `mirrors.Mirror.repository`."""
        ...


class Mirrors(Protocol):
    """What the watcher needs of `mirrors.Mirrors`."""

    def mirror(self, spec: server_settings.Repository) -> Mirror:
        """See `mirrors.Mirrors.mirror`."""
        ...


@dataclass(slots=True)
class _RepositoryPoller:
    """One repository: what was reported about it, and what is going on."""

    spec: server_settings.Repository
    finder: discovery.Discovery
    #: Where its project files are; None: it has none.
    projects: str | None = None
    hint: asyncio.Event = field(default_factory=asyncio.Event)
    #: Last reported.
    last: repository_state.RepositoryState | None = None
    #: Nobody processed what was reported.
    again: bool = False
    #: What happened to the branch and was not taken in yet.
    update: mirrors.RefUpdate | None = None
    problem: str = ""
    failures: int = 0
    #: The commit at which looking took too long, how often in a row, and what was said of it.
    slow: tuple[str, int, work_limits.TookTooLongError | None] = ("", 0, None)


class Watcher:
    """Watches all repositories of the settings; `random` is for the jitter."""

    def __init__(
        self,
        settings: server_settings.Settings,
        all_mirrors: Mirrors,
        *,
        random: randomness.Random | None = None,
        pace: PollIntervals | None = None,
    ) -> None:
        self._mirrors = all_mirrors
        self._random = random or randomness.Random()
        self._pace = pace or PollIntervals()
        listed: dict[str, list[server_settings.ListedApplication]] = {}
        for application in settings.applications:
            listed.setdefault(application.repository, []).append(application)
        self._followers = {
            repository.name: _RepositoryPoller(
                repository,
                discovery.Discovery(repository, listed.get(repository.name, ())),
                settings.projects.path if repository.name == settings.projects.repository else None,
            )
            for repository in settings.repositories
        }

    async def watch(self, on_change: OnRepositoryChange) -> None:
        """Watch until cancelled.

        `on_change` is called for every repository first, then after every change, one thing at
        a time about each. A `TemporaryError` from it means "call me again".
        """
        async with asyncio.TaskGroup() as group:
            for follower in self._followers.values():
                # Who watches anew may not have dealt with what was reported before.
                follower.again = True
                group.create_task(
                    self._follow(follower, on_change), name=f"watch {follower.spec.name}"
                )

    def request_refresh(self, name: str) -> bool:
        """Look at a repository soon; False when there is none of this name.

        Many wishes are one look, and looks keep their distance.
        """
        follower = self._followers.get(name)
        if follower is not None:
            follower.hint.set()
        return follower is not None

    async def _follow(self, follower: _RepositoryPoller, on_change: OnRepositoryChange) -> None:
        work_threads.claim(follower.spec.name)
        while True:
            follower.hint.clear()
            await self._look(follower, on_change)
            await self._pause(follower)

    async def _pause(self, follower: _RepositoryPoller) -> None:
        """Wait for the next look: its time, or a hint, but never less than the gap."""
        gap = self._pace.gap.total_seconds()
        usual = follower.spec.interval
        backoff = backoffs.Backoff(usual, max(usual, self._pace.longest))
        delay = backoff.after(follower.failures + 1).total_seconds()
        delay *= self._random.uniform(1 - _JITTER, 1 + _JITTER)
        await asyncio.sleep(min(gap, delay))
        try:
            async with asyncio.timeout(max(delay - gap, 0)):
                await follower.hint.wait()
        except TimeoutError:
            pass

    async def _look(self, follower: _RepositoryPoller, on_change: OnRepositoryChange) -> None:
        try:
            now = await self._read_state(follower)
        except (errors.TemporaryError, errors.PermanentError, errors.UserError) as error:
            follower.failures += 1
            now = self._unavailable_state(follower, _sentence(error))
        except Exception as error:
            _LOGGER.exception("%s cannot be looked at", follower.spec.name)
            follower.failures += 1
            sentence = f"internal error ({type(error).__name__}), see the log"
            now = self._unavailable_state(follower, sentence)
        else:
            follower.failures = 0
        if now is None:
            return
        self._log(follower, now)
        follower.problem = now.problem
        try:
            await on_change(now)
        except errors.TemporaryError as error:
            # Whoever listens could not take it in, such as a store that is away.
            _LOGGER.warning("%s: retried later: %s", follower.spec.name, error)
            follower.again = True
            follower.failures += 1
            return
        follower.last, follower.again = now, False
        if now.update is not None:
            follower.update = None

    async def _read_state(
        self, follower: _RepositoryPoller
    ) -> repository_state.RepositoryState | None:
        """Return the repository as it is; None when nothing has to be reported."""
        mirror = self._mirrors.mirror(follower.spec)
        fetched = await mirror.fetch(follower.spec.branch)
        follower.update = _joined(follower.update, fetched.update)
        if not fetched.head:
            return self._state_without_head(follower, fetched)
        last = follower.last
        is_same = last is not None and last.head is not None and last.head.id == fetched.head
        if is_same and not follower.again and not follower.problem:
            return None
        head = await mirror.repository.resolve(fetched.head)
        commit_tree = await mirror.repository.tree(fetched.head)
        discovered = await self._discover(follower, commit_tree, fetched.head)
        applications = self._named(follower, discovered.readings, fetched.head)
        return repository_state.RepositoryState(
            name=follower.spec.name,
            branch=fetched.branch,
            head=head,
            applications=applications,
            update=follower.update,
            warnings=discovered.warnings,
            project_files=await self._project_files(follower, commit_tree, fetched.head),
        )

    async def _project_files(
        self, follower: _RepositoryPoller, commit_tree: repositories.GitTree, head: str
    ) -> project_discovery.FoundFiles | None:
        if follower.projects is None:
            return None
        return await work_threads.run(
            "reading project files", project_discovery.look, commit_tree, head, follower.projects
        )

    async def _discover(
        self, follower: _RepositoryPoller, commit_tree: repositories.GitTree, head: str
    ) -> discovery.Discovered:
        """Look for applications, unless that took too long at this commit again and again.

        Raises:
            work_limits.TookTooLongError: It did.
        """
        commit, times, last = follower.slow
        times = times if commit == head else 0
        if last is not None and times >= _MOST_SLOW_LOOKS:
            raise last
        try:
            return await work_threads.run(
                "looking for applications", follower.finder.look, commit_tree
            )
        except work_limits.TookTooLongError as error:
            follower.slow = (head, times + 1, error)
            raise

    def _state_without_head(
        self, follower: _RepositoryPoller, fetched: mirrors.Fetched
    ) -> repository_state.RepositoryState | None:
        """Nothing is given up because a branch is gone: it may be a mistake, or a lie."""
        last = follower.last
        sentence = f"the host has no branch {fetched.branch}"
        if not fetched.branch:
            sentence = "the repository is empty"
        elif last is not None and last.head is not None:
            sentence = f"the branch {fetched.branch} was deleted"
        if last is not None and last.head is None and last.problem and not follower.again:
            follower.problem = sentence
            return None
        kept = last.applications if last else ()
        return repository_state.RepositoryState(
            follower.spec.name,
            fetched.branch,
            None,
            kept,
            update=follower.update,
            problem=sentence,
        )

    def _unavailable_state(
        self, follower: _RepositoryPoller, sentence: str
    ) -> repository_state.RepositoryState | None:
        """Return what is reported when a host is lost; None when that was reported before."""
        if follower.problem and not follower.again:
            follower.problem = sentence
            return None
        last = follower.last or repository_state.RepositoryState(
            follower.spec.name, follower.spec.branch, None
        )
        return dataclasses.replace(last, update=None, problem=sentence, project_files=None)

    def _named(
        self, follower: _RepositoryPoller, readings: tuple[discovery.ParsedFile, ...], commit: str
    ) -> tuple[repository_state.DiscoveredApplication, ...]:
        """Return what the files describe; one that cannot be read is called as it was before."""
        last = follower.last.applications if follower.last else ()
        before = {application.path: application.name for application in last}
        return tuple(
            repository_state.DiscoveredApplication(
                reading.name if reading.application else before.get(reading.path, reading.name),
                follower.spec.name,
                reading.path,
                commit,
                reading.application,
                reading.problems,
            )
            for reading in readings
        )

    def _log(self, follower: _RepositoryPoller, now: repository_state.RepositoryState) -> None:
        if now.problem and not follower.problem:
            _LOGGER.warning("%s: %s", follower.spec.name, now.problem)
        elif follower.problem and not now.problem:
            _LOGGER.warning("%s: is back", follower.spec.name)
        if now.update is not None and now.update.forced:
            _LOGGER.warning("%s: %s", follower.spec.name, now.update)


def _joined(
    first: mirrors.RefUpdate | None, second: mirrors.RefUpdate | None
) -> mirrors.RefUpdate | None:
    """Return two updates as one: the first was not taken in by anybody."""
    if first is None or second is None:
        return second or first
    forced = first.forced or second.forced
    return mirrors.RefUpdate(second.branch, first.old, second.new, forced)


def _sentence(error: errors.VolaryError) -> str:
    if isinstance(error, errors.UserError):
        return "; ".join(
            f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            for problem in error.problems
        )
    return str(error)
