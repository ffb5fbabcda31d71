"""The commits of an application that its repository must not lose.

They are kept before anything relies on them: those of the run under way (what it brings, and what
each of its clusters goes back to), of what is requested, of what the clusters run, and of the
newest runs, which a person may roll back or go back to.
"""

import logging
from collections.abc import Iterable

from volary.controller import inputs
from volary.controller.persistence import retry
from volary.controller.status import application_statuses
from volary.engine.runs import state
from volary.model import errors
from volary.store import records, stores

_LOG = logging.getLogger(__name__)

#: Runs whose commits are kept.
_NEWEST = 20


def of_run(run: state.Run) -> frozenset[str]:
    """Return what a run renders: what it brings, and what its clusters ran before."""
    before = (cluster.running_commit for cluster in run.clusters)
    return _without_empty((run.commit, run.running_commit, *before))


def of_status(status: application_statuses.ApplicationStatus) -> frozenset[str]:
    """Return what is requested, and what the clusters run as far as is known."""
    releases = status.releases
    requests = (status.run_request, status.move, status.backfill, status.repair)
    return _without_empty(
        (
            releases.running,
            releases.completed,
            *(release.commit for release in releases.clusters.values()),
            *(request.commit for request in requests if request is not None),
            status.unproven.commit if status.unproven is not None else "",
            status.wanted,
        )
    )


def _without_empty(commits: Iterable[str]) -> frozenset[str]:
    return frozenset(commit for commit in commits if commit)


class CommitKeeper:
    """Keeps the commits of one application.

    A repository that cannot be written is said and stops nothing: the commits are still there,
    and the next step tries again.
    """

    def __init__(self, name: str, repositories: inputs.Repositories, store: stores.Store) -> None:
        self._name = name
        self._repositories = repositories
        self._store = store

    async def add(self, repository: str, commits: frozenset[str]) -> None:
        """Keep some commits besides those that are kept."""
        await self._keep(repository, commits, exclusively=False)

    async def settle(self, repository: str, status: application_statuses.ApplicationStatus) -> None:
        """Keep what an application needs once no run is under way, and nothing besides."""
        run_filter = records.RunFilter(applications=frozenset({self._name}))
        newest = await retry.until_available(
            lambda: self._store.runs.list(run_filter, limit=_NEWEST), f"application {self._name}"
        )
        commits = _without_empty(item.head.commit for item in newest.items)
        await self._keep(repository, commits | of_status(status), exclusively=True)

    async def forget(self, repository: str) -> None:
        """Keep nothing any more."""
        await self._keep(repository, frozenset(), exclusively=True)

    async def _keep(self, repository: str, commits: frozenset[str], *, exclusively: bool) -> None:
        if not repository:
            return
        try:
            await self._repositories.keep(repository, self._name, commits, exclusively=exclusively)
        except errors.TemporaryError as error:
            _LOG.warning("application %s: %s", self._name, error)
        except errors.UserError:
            return  # the settings do not have its repository any more
