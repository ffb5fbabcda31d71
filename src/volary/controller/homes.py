"""Which repository of the settings an application is at home in, and what it means to have none.

An application whose repository is not in the settings any more is *orphaned*: that nobody says
where it comes from is no reason to take it away, so what runs stays, and nothing is started for
it. What has the same file on the same branch at the same address is the same application, under
whatever name the settings have for the repository by now: it goes on as if nothing had happened.
Where that is not evident a person says so (`roads`). Pure.
"""

from collections.abc import Mapping
from dataclasses import replace

from volary.config import remotes
from volary.controller import origins, standings
from volary.gitops import seen as sights
from volary.store import records

#: Addresses of the repositories of the settings, without what is secret in them, by name. Empty:
#: nobody knows which there are, so none is missing.
Addresses = Mapping[str, str]


def why_gone(addresses: Addresses, repository: str) -> str:
    """Return why nothing is started for what is at home in a repository; empty: it is there."""
    if not repository or not addresses or repository in addresses:
        return ""
    return f"its repository {repository} is no longer in the settings"


def is_same(
    known: records.ApplicationRecord,
    found: sights.FoundApplication,
    seen: sights.RepositorySeen,
    addresses: Addresses,
) -> bool:
    """Say whether a file that was found is evidently that of an orphaned application.

    Names do not count for a file that cannot be read: what it calls itself is not known.
    """
    before, now = standings.from_document(known.document).address, addresses.get(seen.name, "")
    return (
        bool(before)
        and remotes.is_same(before, now)
        and (known.path, known.branch) == (found.path, seen.branch)
        and (found.application is None or found.name == known.name)
    )


def at_home(
    origin: origins.Origin, known: records.ApplicationRecord, addresses: Addresses
) -> origins.Origin:
    """Return a run's origin with the repository where its commits are to be found now."""
    if not why_gone(addresses, origin.repository):
        return origin
    return replace(origin, repository=known.repository)
