"""What applications are called here, and which repository an application belongs to. Pure.

An application is called as its file says. Where another file had that name before, it is told
apart by its repository and directory, and is an application like any other: whoever has a name
keeps it while its file is there. In clusters they are told apart by their ids anyway. An
application whose repository is not in the settings any more is *orphaned*: what runs stays, and
nothing is started for it. What has the same file on the same branch at the same address is the
same application, under whatever name the settings have for the repository by now. Where that is
not evident a person says so.
"""

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from volary.config.text import git_addresses
from volary.controller.status import application_statuses, run_origins
from volary.gitops import repository_state
from volary.store import records

#: Addresses of the repositories of the settings, without what is secret in them, by name. Empty:
#: nobody knows which there are, so none is missing.
Addresses = Mapping[str, str]
#: The longest part of a name that tells it from others.
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class ApplicationLocation:
    """Where an application's file is."""

    #: In the settings.
    repository: str
    #: Relative to the root.
    path: str


#: Who has which name.
Names = dict[str, ApplicationLocation]


def why_orphaned(addresses: Addresses, repository: str) -> str:
    """Return why nothing is started for applications of a missing repository; empty: it is
    there."""
    if not repository or not addresses or repository in addresses:
        return ""
    return f"its repository {repository} is no longer in the settings"


def is_same_application(
    known: records.ApplicationRecord,
    discovered: repository_state.DiscoveredApplication,
    seen: repository_state.RepositoryState,
    addresses: Addresses,
) -> bool:
    """Say whether a file that was found is evidently that of an orphaned application.

    Names do not count for a file that cannot be read: what it calls itself is not known.
    """
    before, now = (
        application_statuses.from_document(known.document).address,
        addresses.get(seen.name, ""),
    )
    return (
        bool(before)
        and git_addresses.is_same(before, now)
        and (known.path, known.branch) == (discovered.path, seen.branch)
        and (
            discovered.application is None
            or is_called(known.name, discovered.name, known.repository, known.path)
        )
    )


def is_called(name: str, declared: str, repository: str, path: str) -> bool:
    """Say whether an application of this name is one that its file calls `declared`."""
    return name in (declared, qualified_name(declared, ApplicationLocation(repository, path)))


def qualified_name(declared: str, location: ApplicationLocation) -> str:
    """Return what an application is called whose name another file has: ``shop.infra-eu``."""
    directory = location.path.rpartition("/")[0]
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{location.repository}/{directory}").strip("-")
    if len(words) > _LONGEST:
        digest = hashlib.sha256(str(location).encode()).hexdigest()[:8]
        words = f"{words[:_LONGEST]}-{digest}"
    return f"{declared}.{words}"


def with_current_repository(
    origin: run_origins.Origin, known: records.ApplicationRecord, addresses: Addresses
) -> run_origins.Origin:
    """Return a run's origin with the repository where its commits are to be found now."""
    if not why_orphaned(addresses, origin.repository):
        return origin
    return replace(origin, repository=known.repository)


#: In names of those that stand in for a file whose name an orphaned application has; in no other.
_PLACEHOLDER_MARK = "@"


def is_placeholder(name: str) -> bool:
    """Say whether an application is only there to say that a person has to decide."""
    return _PLACEHOLDER_MARK in name


def names_of_seen(
    names: Names,
    seen: repository_state.RepositoryState,
    continued: Callable[[repository_state.DiscoveredApplication], str] = lambda _: "",
    is_orphaned: Callable[[str], bool] = lambda _: False,
    is_of_others: Callable[[str, repository_state.DiscoveredApplication], bool] = (
        lambda _, __: False
    ),
) -> Mapping[str, repository_state.DiscoveredApplication]:
    """Return what was found by what it is called here; who has which name is kept in `names`.

    Who had a name keeps it while its file is there; whole files come before broken ones, and one
    that cannot be read is called as it was before.

    Args:
        names: Who has which name.
        seen: A repository and its files.
        continued: Says which application that lost its repository a file goes on with; empty:
            with none.
        is_orphaned: Says whether an application has lost its repository. What is called like it
            may be the same, which a person has to say.
        is_of_others: Says whether a file may not go on with what is known under a name, free or
            not.
    """
    applications: dict[str, repository_state.DiscoveredApplication] = {}
    here = {application.path for application in seen.applications}
    owned = _OwnedNames(names)
    for discovered in sorted(
        seen.applications, key=lambda candidate: candidate.application is None
    ):
        mine = ApplicationLocation(seen.name, discovered.path)
        if name := continued(discovered):
            owned.give(name, mine)
        candidates = _candidates(owned.of(mine), discovered, mine)
        free = (
            name
            for name in candidates
            if _is_free(names, name, mine, here)
            and (names.get(name) == mine or not is_of_others(name, discovered))
        )
        if is_orphaned(discovered.name) and names.get(discovered.name, mine) != mine:
            name = f"{discovered.name}{_PLACEHOLDER_MARK}{seen.name}/{discovered.path}"
        else:
            name = next(free)
            owned.give(name, mine)
        applications[name] = discovered
    return applications


class _OwnedNames:
    """Who has which name, and which names somebody has: a repository may have thousands.

    Args:
        names: By name; kept up to date.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._owned: defaultdict[ApplicationLocation, set[str]] = defaultdict(set)
        #: Where each name stands among all of them.
        self._places = {name: place for place, name in enumerate(names)}
        for name, owner in names.items():
            self._owned[owner].add(name)

    def of(self, owner: ApplicationLocation) -> tuple[str, ...]:
        """Return the names of an owner, as they stand among all of them."""
        return tuple(sorted(self._owned.get(owner, ()), key=self._places.__getitem__))

    def give(self, name: str, owner: ApplicationLocation) -> None:
        """Have a name belong to an owner, whoever had it before."""
        if (before := self._names.get(name)) is not None:
            self._owned[before].discard(name)
        self._names[name] = owner
        self._owned[owner].add(name)
        self._places.setdefault(name, len(self._places))


def _is_free(names: Names, name: str, mine: ApplicationLocation, here: Collection[str]) -> bool:
    """Say whether a file may have a name: nobody has it, or who had it is gone."""
    owner = names.get(name, mine)
    return owner == mine or (owner.repository == mine.repository and owner.path not in here)


def _candidates(
    before: Sequence[str],
    discovered: repository_state.DiscoveredApplication,
    mine: ApplicationLocation,
) -> Iterable[str]:
    """Return what a file may be called here: as `before`, as it says, or told apart.

    There is always one more: whoever takes all names that somebody could have stops nobody.
    """
    qualified = qualified_name(discovered.name, mine)
    if discovered.application is None and before:
        return before[:1]
    if told_apart := [name for name in before if name.startswith(qualified)]:
        return told_apart[:1]
    digest = hashlib.sha256(str(mine).encode()).hexdigest()[:8]
    others = (f"{qualified}-{digest}-{number}" for number in itertools.count(2))
    return itertools.chain((discovered.name, qualified, f"{qualified}-{digest}"), others)
