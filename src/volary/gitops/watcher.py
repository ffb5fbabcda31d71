"""Looks at the repositories again and again, and tells what changed.

One task per repository. A look is one question to the host, and one fetch when the branch
has moved, however many applications live there. Webhooks only hasten the next look. A host
that is down is asked less and less often, and said to be down once, and back once.
"""

import asyncio
import dataclasses
import logging
import random as randomness
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from volary.gitops import discovery, names, seen
from volary.model import controller, errors, problem
from volary.sources import mirrors
from volary.sources import repository as source_repository

OnSeen = Callable[[seen.RepositorySeen], Awaitable[None]]

_LOGGER = logging.getLogger(__name__)
_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Pace:
    """How often hosts are asked at most and at least."""

    #: Between two looks, however many webhooks come.
    gap: timedelta = timedelta(seconds=5)
    #: Between two looks at a host that is down; longer when the interval is.
    longest: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    """How a repository is doing."""

    name: str
    branch: str
    #: Empty: nothing was fetched yet.
    head: str
    applications: int
    #: Empty: the last look went well.
    problem: str
    #: Looks in a row that did not go well.
    failures: int


class Mirror(Protocol):
    """What the watcher needs of `mirrors.Mirror`."""

    async def fetch(self, branch: str = "") -> mirrors.Fetched:
        """See `mirrors.Mirror.fetch`."""
        ...

    @property
    def repository(self) -> source_repository.Repository:
        """See `mirrors.Mirror.repository`."""
        ...


class Mirrors(Protocol):
    """What the watcher needs of `mirrors.Mirrors`."""

    def mirror(self, spec: controller.Repository) -> Mirror:
        """See `mirrors.Mirrors.mirror`."""
        ...


@dataclass(slots=True)
class _Follower:
    """One repository: what was told about it, and what is going on."""

    spec: controller.Repository
    finder: discovery.Discovery
    hint: asyncio.Event = field(default_factory=asyncio.Event)
    #: Last told.
    last: seen.RepositorySeen | None = None
    #: A name got free that this repository wants, or nobody took in what was told.
    again: bool = False
    #: What happened to the branch and was not taken in yet.
    update: mirrors.RefUpdate | None = None
    problem: str = ""
    failures: int = 0


class Watcher:
    """Watches all repositories of the settings.

    Args:
        settings: Repositories and listed applications.
        all_mirrors: Where they are fetched to.
        owners: Names of applications known from before, with repository and path: nobody
            else gets them as long as their file is there.
        random: For the jitter.
        pace: Bounds of how often hosts are asked.
    """

    def __init__(
        self,
        settings: controller.Settings,
        all_mirrors: Mirrors,
        *,
        owners: Mapping[str, tuple[str, str]] | None = None,
        random: randomness.Random | None = None,
        pace: Pace | None = None,
    ) -> None:
        watched = {each.name for each in settings.repositories}
        self._mirrors = all_mirrors
        self._random = random or randomness.Random()
        self._pace = pace or Pace()
        self._names = names.Names(
            {
                name: names.Place(*place)
                for name, place in (owners or {}).items()
                if place[0] in watched
            }
        )
        self._followers = {
            each.name: _Follower(each, discovery.Discovery(each, _listed(settings, each)))
            for each in settings.repositories
        }

    async def watch(self, on_seen: OnSeen) -> None:
        """Watch until cancelled.

        `on_seen` is told about every repository first, then after every change, one thing at
        a time about each. A `TemporaryError` from it means "tell me again".
        """
        async with asyncio.TaskGroup() as group:
            for each in self._followers.values():
                group.create_task(self._follow(each, on_seen), name=f"watch {each.spec.name}")

    def hasten(self, name: str) -> bool:
        """Look at a repository soon; False when there is none of this name.

        Many wishes are one look, and looks keep their distance.
        """
        follower = self._followers.get(name)
        if follower is not None:
            follower.hint.set()
        return follower is not None

    def statuses(self) -> tuple[RepositoryStatus, ...]:
        """Return how every repository is doing, in the order of the settings."""
        return tuple(_status(each) for each in self._followers.values())

    async def _follow(self, follower: _Follower, on_seen: OnSeen) -> None:
        while True:
            follower.hint.clear()
            await self._look(follower, on_seen)
            await self._pause(follower)

    async def _pause(self, follower: _Follower) -> None:
        """Wait for the next look: its time, or a hint, but never less than the gap."""
        gap = self._pace.gap.total_seconds()
        usual = follower.spec.interval.total_seconds()
        longest = max(usual, self._pace.longest.total_seconds())
        delay = min(usual * 2 ** min(follower.failures, 16), longest)
        delay *= self._random.uniform(1 - _JITTER, 1 + _JITTER)
        await asyncio.sleep(min(gap, delay))
        try:
            async with asyncio.timeout(max(delay - gap, 0)):
                await follower.hint.wait()
        except TimeoutError:
            pass

    async def _look(self, follower: _Follower, on_seen: OnSeen) -> None:
        """Look once, and tell what changed."""
        try:
            now = await self._see(follower)
        except (errors.TemporaryError, errors.PermanentError, errors.UserError) as error:
            follower.failures += 1
            now = self._blind(follower, _sentence(error))
        else:
            follower.failures = 0
        if now is None:
            return
        self._log(follower, now)
        follower.problem = now.problem
        try:
            await on_seen(now)
        except errors.TemporaryError as error:
            # Whoever listens could not take it in, such as a store that is away.
            _LOGGER.warning("%s: told again later: %s", follower.spec.name, error)
            follower.again = True
            follower.failures += 1
            return
        follower.last, follower.again = now, False
        if now.update is not None:
            follower.update = None

    async def _see(self, follower: _Follower) -> seen.RepositorySeen | None:
        """Return the repository as it is; None when nothing has to be told."""
        mirror = self._mirrors.mirror(follower.spec)
        fetched = await mirror.fetch(follower.spec.branch)
        follower.update = _joined(follower.update, fetched.update)
        if not fetched.head:
            return self._headless(follower, fetched)
        last = follower.last
        is_same = last is not None and last.head is not None and last.head.id == fetched.head
        if is_same and not follower.again and not follower.problem:
            return None
        head = await mirror.repository.resolve(fetched.head)
        commit_tree = await mirror.repository.tree(fetched.head)
        found = await asyncio.to_thread(follower.finder.look, commit_tree)
        applications = self._named(follower, found.readings, fetched.head)
        before = {each.name for each in last.applications} if last else set()
        return seen.RepositorySeen(
            name=follower.spec.name,
            branch=fetched.branch,
            head=head,
            applications=applications,
            removed=tuple(sorted(before - {each.name for each in applications})),
            update=follower.update,
            warnings=found.warnings,
        )

    def _headless(
        self, follower: _Follower, fetched: mirrors.Fetched
    ) -> seen.RepositorySeen | None:
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
        return seen.RepositorySeen(
            follower.spec.name,
            fetched.branch,
            None,
            kept,
            update=follower.update,
            problem=sentence,
        )

    def _blind(self, follower: _Follower, sentence: str) -> seen.RepositorySeen | None:
        """Return what is told when a host is lost; None when that was told before."""
        if follower.problem and not follower.again:
            follower.problem = sentence
            return None
        last = follower.last or seen.RepositorySeen(follower.spec.name, follower.spec.branch, None)
        return dataclasses.replace(last, removed=(), update=None, problem=sentence)

    def _named(
        self, follower: _Follower, readings: tuple[discovery.Reading, ...], commit: str
    ) -> tuple[seen.FoundApplication, ...]:
        """Give every application its name; a name that is taken is a problem."""
        spec = follower.spec
        before = (
            {each.path: each.name for each in follower.last.applications} if follower.last else {}
        )
        wanted = {
            each.path: each.name
            if each.application
            else before.get(each.path)
            or self._names.of(names.Place(spec.name, each.path))
            or each.name
            for each in readings
        }
        freed = self._names.keep(spec.name, wanted)
        found = tuple(self._claimed(spec, each, wanted[each.path], commit) for each in readings)
        for name in freed - {spec.name}:
            self._followers[name].again = True
            self._followers[name].hint.set()
        return found

    def _claimed(
        self, spec: controller.Repository, reading: discovery.Reading, name: str, commit: str
    ) -> seen.FoundApplication:
        place = names.Place(spec.name, reading.path)
        owner = place
        if reading.application is not None:
            owner = self._names.claim(name, place)
        usable, problems = reading.application, reading.problems
        if owner != place:
            message = (
                f"{name} is the name of two applications: {owner} has it, so {place} is left out"
            )
            hint = "give one of them another name"
            usable = None
            problems = (*problems, problem.Problem(message, problem.Location(reading.path), hint))
        return seen.FoundApplication(name, spec.name, reading.path, commit, usable, problems)

    def _log(self, follower: _Follower, now: seen.RepositorySeen) -> None:
        if now.problem and not follower.problem:
            _LOGGER.warning("%s: %s", follower.spec.name, now.problem)
        elif follower.problem and not now.problem:
            _LOGGER.warning("%s: is back", follower.spec.name)
        if now.update is not None and now.update.forced:
            _LOGGER.warning("%s: %s", follower.spec.name, now.update)


def _listed(
    settings: controller.Settings, spec: controller.Repository
) -> tuple[controller.ListedApplication, ...]:
    return tuple(each for each in settings.applications if each.repository == spec.name)


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
            f"{each.message} ({each.hint})" if each.hint else each.message
            for each in error.problems
        )
    return str(error)


def _status(follower: _Follower) -> RepositoryStatus:
    last = follower.last
    return RepositoryStatus(
        name=follower.spec.name,
        branch=last.branch if last else follower.spec.branch,
        head=last.head.id if last and last.head else "",
        applications=len(last.applications) if last else 0,
        problem=follower.problem,
        failures=follower.failures,
    )
