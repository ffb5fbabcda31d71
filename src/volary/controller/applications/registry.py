"""The reconcilers of all applications while this process is the leader, and whose file is whose.

What was left behind is taken up first; what is seen of the repositories then goes to the
reconciler of the application that it is about. No error about one application harms another.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from volary.controller.applications import reconcilers, repository_events
from volary.controller.leadership import context
from volary.controller.persistence import retry
from volary.controller.status import application_identity, application_statuses, run_origins
from volary.engine.persistence import codec
from volary.gitops import repository_state
from volary.model import errors
from volary.model.runs import run_records
from volary.store import pagination, records

_LOG = logging.getLogger(__name__)
_NOT_RECONCILED = "was not reconciled"

_PAGE = 500


class ApplicationRegistry:
    """All reconcilers of one leader.

    Args:
        leader: What is shared while this process is the leader.
        repository_errors: Why a repository could not be read last, by name; kept up to date here.
    """

    def __init__(self, leader: context.LeaderContext, repository_errors: dict[str, str]) -> None:
        self._leader = leader
        self._repository_errors = repository_errors
        self._reconcilers: dict[str, reconcilers.ApplicationReconciler] = {}
        self._names: application_identity.Names = {}
        #: What was seen last, by the name of the reconciler.
        self._newest: dict[str, repository_state.DiscoveredApplication] = {}
        #: What was seen last, by the name of the repository.
        self._seen: dict[str, repository_state.RepositoryState] = {}
        #: One thing at a time about each repository.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def load(self) -> None:
        """Take up what was left behind."""
        store = self._leader.store
        for known in await self._records():
            await self._enter(known)
        unfinished = await retry.until_available(store.runs.unfinished, "taking up")
        left = [await self._load_run(run_id) for run_id in unfinished]
        for stored in left:
            if stored is not None:
                reconciler = self.reconciler_of(stored.head.application)
                reconciler.take_up(stored)
        for reconciler in self._reconcilers.values():
            await self._conclude_ended_run(reconciler, unfinished)
            reconciler.work()

    async def _enter(self, known: records.ApplicationRecord) -> None:
        """Take an application as it was kept; one that has lost its repository is orphaned."""
        reconciler = self._reconcilers[known.name] = reconcilers.ApplicationReconciler(
            self._leader, known
        )
        if application_identity.is_placeholder(known.name) and (
            known.removed or reconciler.why_orphaned
        ):
            await self._drop(reconciler)
        elif known.removed is None and known.repository:
            self._names[known.name] = application_identity.ApplicationLocation(
                known.repository, known.path
            )
            if (
                reconciler.why_orphaned
                and known.status != application_statuses.StatusWord.ORPHANED.value
            ):
                await _mark_orphaned(reconciler)

    async def see(self, seen: repository_state.RepositoryState) -> None:
        """Take what was seen of a repository."""
        if seen.problem:
            self._repository_errors[seen.name] = seen.problem
        else:
            self._repository_errors.pop(seen.name, None)
        async with self._locks[seen.name]:
            self._seen[seen.name] = seen
            await self._take(seen)

    async def _take(self, seen: repository_state.RepositoryState) -> None:
        orphans = self._orphans_by_path()
        found_names = application_identity.names_of_seen(
            self._names,
            seen,
            lambda candidate: self._continued(candidate, seen, orphans.get(candidate.path, ())),
            self._is_orphaned,
        )
        async with asyncio.TaskGroup() as group:
            for name, discovered in found_names.items():
                self._newest[name] = discovered
                work = self._apply_one(name, discovered, seen)
                group.create_task(context.isolate_errors(work, name, _NOT_RECONCILED))
        if seen.problem:
            return  # what is missing may only not have been read
        for name, reconciler in tuple(self._reconcilers.items()):
            known = reconciler.record
            if known.repository != seen.name or name in found_names or known.removed is not None:
                continue
            self._names.pop(name, None)
            gone = (
                self._drop(reconciler)
                if application_identity.is_placeholder(name)
                else _mark_removed(reconciler, self._leader.dependencies.clock.now())
            )
            await context.isolate_errors(gone, name, _NOT_RECONCILED)

    # What has lost its repository.

    async def adopt(
        self, reconciler: reconcilers.ApplicationReconciler, repository: str, by: str
    ) -> str:
        """Have an orphaned application go on with what a repository has of its name.

        Returns:
            Why not, one sentence, or nothing.
        """
        dependencies = self._leader.dependencies
        if not reconciler.why_orphaned:
            return f"its repository {reconciler.record.repository} is in the settings"
        if application_identity.why_orphaned(dependencies.addresses, repository):
            return f"there is no repository {repository} in the settings"
        async with self._locks[repository]:
            seen = self._seen.get(repository)
            name, applications = reconciler.name, seen.applications if seen else ()
            lost = reconciler.record
            paths = [
                discovered.path
                for discovered in applications
                if application_identity.is_called(name, discovered.name, lost.repository, lost.path)
            ]
            if seen is None or not paths:
                return f"{repository} has no application called {name}, as it was seen last"
            location = application_identity.ApplicationLocation(repository, paths[0])
            self._names[name] = location
            _LOG.warning("application %s goes on with %s: %s says so", name, repository, by)
            await self._take(seen)
        return ""

    async def forget(
        self, reconciler: reconcilers.ApplicationReconciler, by: str, reason: str
    ) -> str:
        """Delete an application that is gone; whoever was refused its name gets it.

        Returns:
            Why not, one sentence, or nothing.
        """
        known = reconciler.record
        if known.removed is None and not reconciler.why_orphaned:
            return f"its file is there, {known.path} of {known.repository}: delete it first"
        refusal = await reconciler.forget(by, reason)
        if refusal:
            return refusal
        self._leave(reconciler.name)
        for repository, seen in tuple(self._seen.items()):
            if any(application.name == reconciler.name for application in seen.applications):
                async with self._locks[repository]:
                    await self._take(self._seen[repository])
        return ""

    def _orphans_by_path(self) -> Mapping[str, Sequence[records.ApplicationRecord]]:
        orphans_by_path: defaultdict[str, list[records.ApplicationRecord]] = defaultdict(list)
        for reconciler in self._reconcilers.values():
            if reconciler.why_orphaned and reconciler.record.removed is None:
                orphans_by_path[reconciler.record.path].append(reconciler.record)
        return orphans_by_path

    def _continued(
        self,
        discovered: repository_state.DiscoveredApplication,
        seen: repository_state.RepositoryState,
        orphans: Iterable[records.ApplicationRecord],
    ) -> str:
        """Return which of some orphaned applications a file is evidently of; empty: of none."""
        addresses = self._leader.dependencies.addresses
        same = (
            orphan.name
            for orphan in orphans
            if application_identity.is_same_application(orphan, discovered, seen, addresses)
        )
        return next(same, "")

    async def _drop(self, reconciler: reconcilers.ApplicationReconciler) -> None:
        """Drop a placeholder."""
        await reconciler.forget("volary", "")
        self._leave(reconciler.name)

    def _leave(self, name: str) -> None:
        self._reconcilers.pop(name, None)
        self._names.pop(name, None)
        self._newest.pop(name, None)

    # All of them.

    def all(self) -> tuple[reconcilers.ApplicationReconciler, ...]:
        """Return all reconcilers."""
        return tuple(self._reconcilers.values())

    def reconciler(self, name: str) -> reconcilers.ApplicationReconciler | None:
        """Return an application's reconciler; None when it is not known."""
        return self._reconcilers.get(name)

    def reconciler_of(self, name: str) -> reconcilers.ApplicationReconciler:
        """Return an application's reconciler, a new one if there is none."""
        if name not in self._reconcilers:
            self._reconcilers[name] = reconcilers.ApplicationReconciler(
                self._leader, records.ApplicationRecord(name)
            )
        return self._reconcilers[name]

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Have every run go on that waits for one of some clusters, which answer."""
        for reconciler in self._reconcilers.values():
            reconciler.report_reachable(clusters)

    async def _apply_one(
        self,
        name: str,
        discovered: repository_state.DiscoveredApplication,
        seen: repository_state.RepositoryState,
    ) -> None:
        reconciler = self.reconciler_of(name)
        described = discovered.application
        if described is not None and application_identity.is_placeholder(name):
            taken = errors.Problem(self._why_taken(discovered.name))
            discovered = replace(discovered, application=None, problems=(taken,))
        elif described is not None and name != discovered.name:
            described = replace(described, name=name, declared=discovered.name)
            discovered = replace(discovered, application=described)
        self._newest[name] = discovered
        lost, why = reconciler.record.repository, reconciler.why_orphaned
        try:
            await repository_events.apply(self._leader, reconciler, discovered, seen)
            if why:
                await self._tell_found_again(reconciler, lost)
        except errors.TemporaryError as error:
            _LOG.warning("application %s is tried again soon: %s", name, error)
            work = self._apply_again(reconciler, discovered, seen)
            again = context.isolate_errors(work, name, _NOT_RECONCILED)
            self._leader.group.create_task(again, name=f"look at {name} again")

    def _is_orphaned(self, name: str) -> bool:
        known = self._reconcilers.get(name)
        return known is not None and bool(known.why_orphaned)

    def _why_taken(self, name: str) -> str:
        return (
            f"{name} is the name of another application, and"
            f" {self.reconciler_of(name).why_orphaned}: somebody has to say whether this is the"
            " same one (`volary application adopt`) or the other one is over (`volary application"
            " forget`)"
        )

    async def _tell_found_again(
        self, reconciler: reconcilers.ApplicationReconciler, lost: str
    ) -> None:
        """Report that an application has its repository again, and resume what waited for it."""
        home = reconciler.record.repository
        _LOG.warning("application %s of %s belongs to %s now", reconciler.name, lost, home)
        document = {"from": lost, "repository": home, "path": reconciler.record.path}
        await self._leader.note(
            "volary", "application.adopted", document, application=reconciler.name
        )
        reconciler.work()

    async def _apply_again(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        discovered: repository_state.DiscoveredApplication,
        seen: repository_state.RepositoryState,
    ) -> None:
        """Take what was seen once it can be taken, unless there is something newer."""
        failures = 0
        while True:
            failures += 1
            await asyncio.sleep(self._leader.rules.backoff.after(failures).total_seconds())
            if self._newest.get(reconciler.name) is not discovered:
                return None
            try:
                return await repository_events.apply(self._leader, reconciler, discovered, seen)
            except errors.TemporaryError:
                continue

    async def _records(self) -> list[records.ApplicationRecord]:
        store, wanted = self._leader.store, records.ApplicationFilter(with_removed=True)
        pages = pagination.every(
            lambda cursor: retry.until_available(
                lambda: store.applications.list(wanted, cursor=cursor, limit=_PAGE), "taking up"
            )
        )
        return [known async for known in pages]

    async def _load_run(self, run_id: str) -> run_records.StoredRun | None:
        store = self._leader.store
        return await retry.until_available(lambda: store.runs.load(run_id), "taking up")

    async def _conclude_ended_run(
        self, reconciler: reconcilers.ApplicationReconciler, unfinished: tuple[str, ...]
    ) -> None:
        """Conclude a run whose end was kept, but not yet what it means for the application."""
        run_id = reconciler.status.run
        if not reconciler.status.under_way or run_id in unfinished:
            return
        stored = await self._load_run(run_id)
        if stored is not None:
            origin = run_origins.from_document(stored.origin)
            await reconciler.conclude(codec.read_run(stored), origin)


async def _mark_removed(reconciler: reconcilers.ApplicationReconciler, now: datetime) -> None:
    reason = "its file went away; what runs stays as it is"
    await reconciler.change(
        status=application_statuses.StatusWord.REMOVED.value, reason=reason, removed=now
    )


async def _mark_orphaned(reconciler: reconcilers.ApplicationReconciler) -> None:
    _LOG.warning("application %s: %s", reconciler.name, reconciler.why_orphaned)
    known = reconciler.record
    before = application_statuses.StatusBeforeOrphaned(known.status, known.reason)
    reason = f"{reconciler.why_orphaned}; what runs stays as it is, and nothing is started for it"
    await reconciler.change(
        {"before_orphaned": before},
        status=application_statuses.StatusWord.ORPHANED.value,
        reason=reason,
    )
