"""Who owns a name, and which repository an application belongs to. Pure.

No two application files share a name: who had it keeps it while its file is there. An
application whose repository is not in the settings any more is *orphaned*: what runs stays, and
nothing is started for it. What has the same file on the same branch at the same address is the
same application, under whatever name the settings have for the repository by now. Where that is
not evident a person says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from volary.config.text import git_addresses
from volary.controller.status import application_statuses, run_origins
from volary.gitops import application_names, repository_state
from volary.store import records

#: Addresses of the repositories of the settings, without what is secret in them, by name. Empty:
#: nobody knows which there are, so none is missing.
Addresses = Mapping[str, str]


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
        and (discovered.application is None or discovered.name == known.name)
    )


def with_current_repository(
    origin: run_origins.Origin, known: records.ApplicationRecord, addresses: Addresses
) -> run_origins.Origin:
    """Return a run's origin with the repository where its commits are to be found now."""
    if not why_orphaned(addresses, origin.repository):
        return origin
    return replace(origin, repository=known.repository)


#: In names of those that stand in for a file whose name another one has; in no other name.
_PLACEHOLDER_MARK = "@"


def is_placeholder(name: str) -> bool:
    """Say whether an application is only there to say that its name is taken."""
    return _PLACEHOLDER_MARK in name


def names_of_seen(
    names: application_names.ApplicationNames,
    seen: repository_state.RepositoryState,
    continued: Callable[[repository_state.DiscoveredApplication], str] = lambda _: "",
) -> Mapping[str, repository_state.DiscoveredApplication]:
    """Return what was found by what it is called here; who has which name is kept in `names`.

    Who had a name keeps it while its file is there; whole files come before broken ones, and one
    that cannot be read is called as it was before.

    Args:
        names: Who has which name.
        seen: A repository and its files.
        continued: Says which application that lost its repository a file goes on with; empty:
            with none.
    """
    applications: dict[str, repository_state.DiscoveredApplication] = {}
    here = {application.path for application in seen.applications}
    for discovered in sorted(
        seen.applications, key=lambda candidate: candidate.application is None
    ):
        mine = application_names.ApplicationLocation(seen.name, discovered.path)
        if name := continued(discovered):
            names.owners[name] = mine
        name = discovered.name
        if discovered.application is None:
            name = names.of(mine) or name
        owner = names.owners.get(name, mine)
        gone = owner.repository == seen.name and owner.path not in here
        if owner == mine or gone:
            names.owners[name] = mine
            applications[name] = discovered
        else:
            placeholder = f"{discovered.name}{_PLACEHOLDER_MARK}{seen.name}/{discovered.path}"
            applications[placeholder] = discovered
    return applications
