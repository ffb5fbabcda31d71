"""The reconcilers of all applications while this process is the leader, and whose file is whose.

What was left behind is taken up first; what is seen of the repositories then goes to the
reconciler of the application that it is about. No error about one application harms another.
"""

import asyncio
import functools
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from volary.concurrency import work_threads
from volary.controller import refusals
from volary.controller.applications import (
    reconcilers,
    repository_events,
    state_writer,
    work_queues,
)
from volary.controller.leadership import context
from volary.controller.persistence import retry
from volary.controller.status import (
    application_identity,
    application_requests,
    application_statuses,
)
from volary.gitops import repository_state
from volary.model import errors
from volary.model.runs import run_records
from volary.store import pagination, records
from volary.tenancy import membership

_LOG = logging.getLogger(__name__)
_NOT_TAKEN_UP = "was not taken up"

_PAGE = 500
#: Applications that are handed over in a row; then others have their turn.
_IN_A_ROW = 50


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
        #: What was seen last, by the name of the repository.
        self._seen: dict[str, repository_state.RepositoryState] = {}
        #: Applications whose records cannot be read, and why.
        self._unreadable: dict[str, str] = {}
        self._queues = work_queues.WorkQueues(leader)
        #: Whoever decides whose files are whose: others have turns in between, and one such
        #: decision must not be made of half of another.
        self._deciding = asyncio.Lock()

    async def load(self) -> None:
        """Take up what was left behind."""
        store = self._leader.store
        for known in await self._records():
            try:
                await self._enter(known)
            # What is kept of one that cannot be read is left alone, and it harms no other.
            except Exception as error:
                if context.is_overtaken(error):
                    raise
                _LOG.exception("application %s cannot be taken up; it is left as it is", known.name)
                if known.name not in self._reconcilers:
                    self._unreadable[known.name] = f"internal error ({type(error).__name__})"
        # Before anything of them goes on.
        for reconciler in tuple(self._reconcilers.values()):
            review = self._review_one(reconciler)
            await context.isolate_errors(review, reconciler.name, "has no project now")
        unfinished = await retry.until_available(store.runs.unfinished, "taking up")
        for run_id in unfinished:
            await context.isolate_errors(self._take_up(run_id), f"of run {run_id}", _NOT_TAKEN_UP)
        for reconciler in tuple(self._reconcilers.values()):
            self._conclude_ended_run(reconciler, unfinished)
            reconciler.work()
            again = reconciler.reconsider()
            await context.isolate_errors(again, reconciler.name, "is not decided anew")

    async def review(self) -> None:
        """Look anew whose every application is: other projects count from now on."""
        for reconciler in tuple(self._reconcilers.values()):
            work = functools.partial(self._review_and_go_on, reconciler)
            self._queues.hand_over(reconciler.name, work)
        async with self._deciding:
            for seen in tuple(self._seen.values()):
                await self._take(seen)

    async def _review_and_go_on(self, reconciler: reconcilers.ApplicationReconciler) -> None:
        was_unowned = bool(reconciler.status.unowned)
        await self._review_one(reconciler)
        reconciler.follow_project()
        await reconciler.reconsider()
        if was_unowned:
            reconciler.work()

    async def _review_one(self, reconciler: reconcilers.ApplicationReconciler) -> None:
        """Write down whose an application is by where its file was when it was seen last."""
        known, status = reconciler.record, reconciler.status
        if known.removed is not None or not known.repository or reconciler.why_orphaned:
            return
        place = membership.Place(known.repository, known.path, known.branch)
        mine = self._projects.membership(place, status.wanted_project)
        noted = {"unowned": mine.reason}
        if mine.project:
            await reconciler.change(noted, project=mine.project)
        elif self._projects.unknown:
            # It stands as it did: what is not known is no evidence.
            await reconciler.change(noted)
        else:
            word = application_statuses.StatusWord.BROKEN.value
            await reconciler.change(noted, project="", status=word, reason=mine.reason)

    @property
    def _projects(self) -> membership.Projects:
        """The projects as they are now."""
        return self._leader.dependencies.projects()

    def _membership(
        self,
        discovered: repository_state.DiscoveredApplication,
        seen: repository_state.RepositoryState,
        wanted_before: str = "",
    ) -> membership.Membership:
        """Return whose an application is that was found.

        A file that cannot be read wants what it wanted before.
        """
        described = discovered.application
        wanted = described.project if described is not None else wanted_before
        place = membership.Place(seen.name, discovered.path, seen.branch)
        return self._projects.membership(place, wanted)

    async def _take_up(self, run_id: str) -> None:
        summary = await retry.until_available(
            lambda: self._leader.store.runs.summary(run_id), "taking up"
        )
        if summary is None:
            return
        reconciler = self.reconciler_of(summary.head.application)
        if summary.unreadable:
            _LOG.error("run %s cannot be read: %s", run_id, summary.unreadable)
        stored = await self._load_run(run_id)
        if stored is not None:
            reconciler.take_up(stored)

    async def _enter(self, known: records.ApplicationRecord) -> None:
        """Take an application as it was kept; one that has lost its repository is orphaned.

        One that cannot be read is set aside: nothing is done, or written down, about it.
        """
        if why := application_statuses.why_unreadable(known):
            _LOG.error("application %s is left as it is: %s", known.name, why)
            self._unreadable[known.name] = why
            return
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

    async def notice(self, seen: repository_state.RepositoryState) -> None:
        """Take what was seen of a repository; what it means for each application follows.

        Raises:
            errors.TemporaryError: Nothing could be made of it now.
        """
        if seen.problem:
            self._repository_errors[seen.name] = seen.problem
        else:
            self._repository_errors.pop(seen.name, None)
        try:
            async with self._deciding:
                self._seen[seen.name] = seen
                await self._take(seen)
        except Exception as error:
            _LOG.exception("what was seen of %s cannot be taken", seen.name)
            raise errors.TemporaryError(f"internal error ({type(error).__name__})") from error

    async def _take(self, seen: repository_state.RepositoryState) -> None:
        """Hand over what was seen; `_deciding` is held."""
        if self._projects.unknown:
            return  # whose the files are is not known: they are taken once it is
        orphans = self._orphans_by_path()
        found_names = application_identity.names_of_seen(
            self._names,
            seen,
            lambda candidate: self._continued(candidate, seen, orphans.get(candidate.path, ())),
            self._is_orphaned,
            lambda name, discovered: self._is_of_others(name, discovered, seen),
        )
        for place, (name, discovered) in enumerate(found_names.items(), 1):
            if place % _IN_A_ROW == 0:
                await asyncio.sleep(0)
            if name in self._unreadable:
                continue
            self.reconciler_of(name)  # known from now on, should its file go away at once
            work = functools.partial(self._apply_one, name, discovered, seen)
            self._queues.hand_over(name, work)
        if seen.problem:
            return  # what is missing may only not have been read
        for name, reconciler in tuple(self._reconcilers.items()):
            if name not in found_names and self._is_of(name, reconciler, seen.name):
                self._names.pop(name, None)
                self._queues.hand_over(name, functools.partial(self._take_away, reconciler))

    def _is_of(
        self, name: str, reconciler: reconcilers.ApplicationReconciler, repository: str
    ) -> bool:
        """Say whether an application is of a repository, or will be once that is written down."""
        location, known = self._names.get(name), reconciler.record
        if location is not None and self._queues.is_busy(name):
            return location.repository == repository
        return known.repository == repository and known.removed is None

    async def _take_away(self, reconciler: reconcilers.ApplicationReconciler) -> None:
        """Write down that an application's file is gone."""
        if application_identity.is_placeholder(reconciler.name):
            await self._drop(reconciler)
        else:
            await _mark_removed(reconciler, self._leader.dependencies.clock.now())

    # What has lost its repository.

    async def adopt(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        repository: str,
        by: str,
        *,
        answers: state_writer.Answers = (),
    ) -> str:
        """Have an orphaned application go on with what a repository has of its name.

        Whose it is from now on is kept, with the `answers`; what follows from that is seen anew.

        Returns:
            Why not, one sentence, or nothing.

        Raises:
            fencing.RequestAnswered: It was done, or refused, before.
        """
        dependencies = self._leader.dependencies
        if not reconciler.why_orphaned:
            return f"its repository {reconciler.record.repository} is in the settings"
        if application_identity.why_orphaned(dependencies.addresses, repository):
            return f"there is no repository {repository} in the settings"
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
        async with self._deciding:
            await reconciler.change(
                {"address": dependencies.addresses.get(repository, "")},
                answers,
                repository=repository,
                path=paths[0],
                branch=seen.branch,
            )
            self._names[name] = application_identity.ApplicationLocation(repository, paths[0])
            _LOG.warning("application %s goes on with %s: %s says so", name, repository, by)
            # What was seen meanwhile counts.
            await self._take(self._seen.get(repository, seen))
        await self._queues.wait(name)
        await self._tell_found_again(reconciler, lost.repository)
        return ""

    async def forget(
        self,
        reconciler: reconcilers.ApplicationReconciler,
        by: str,
        reason: str,
        *,
        answers: state_writer.Answers = (),
    ) -> str:
        """Delete an application that is gone, with the `answers` to who asked for that.

        Whoever was refused its name gets it.

        Returns:
            Why not, one sentence, or nothing.

        Raises:
            fencing.RequestAnswered: It was done, or refused, before; nothing is deleted.
        """
        refusal = application_requests.why_not_forgotten(
            reconciler.record, reconciler.why_orphaned
        ) or await reconciler.forget(by, reason, answers=answers)
        if refusal:
            return refusal
        async with self._deciding:
            self._leave(reconciler.name)
            await self._find_anew(reconciler.name)
        await self._queues.wait(reconciler.name)
        return ""

    def why_unknown(self, name: str) -> str:
        """Return why there is no reconciler of an application."""
        why = self._unreadable.get(name)
        if why is None:
            return f"there is no application {name}"
        return refusals.with_hint(
            f"application {name} is left as it is: {why}",
            f"`volary application forget {name}` deletes what is stored of it, nothing in any"
            " cluster; it is then found anew in its repository",
        )

    async def forget_unreadable(
        self, name: str, by: str, *, answers: state_writer.Answers = ()
    ) -> str:
        """Delete what is stored of an application and cannot be read, with the `answers`.

        It is found anew in its repository, as if it had never been known.

        Returns:
            Why not, one sentence, or nothing.

        Raises:
            fencing.RequestAnswered: It was done, or refused, before; nothing is deleted.
        """
        if name not in self._unreadable:
            return self.why_unknown(name)
        store, fence = self._leader.store, self._leader.fence
        await retry.until_known(
            lambda: store.applications.forget(name, fence=fence, answers=answers),
            f"application {name}",
        )
        _LOG.warning("what was stored of application %s is deleted: %s says so", name, by)
        async with self._deciding:
            self._unreadable.pop(name, None)
            self._leader.change_signal.notify_all()
            await self._find_anew(name)
        await self._queues.wait(name)
        return ""

    async def _find_anew(self, name: str) -> None:
        """Take again what was seen last of repositories that have an application of a name."""
        for seen in tuple(self._seen.values()):
            if any(application.name == name for application in seen.applications):
                await self._take(seen)

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
        self._queues.forget(name)

    # All of them.

    def all(self) -> tuple[reconcilers.ApplicationReconciler, ...]:
        """Return all reconcilers."""
        return tuple(self._reconcilers.values())

    def reconciler(self, name: str) -> reconcilers.ApplicationReconciler | None:
        """Return an application's reconciler; None when it is not known."""
        return self._reconcilers.get(name)

    def reconciler_of(self, name: str) -> reconcilers.ApplicationReconciler:
        """Return an application's reconciler, a new one if there is none.

        Raises:
            errors.UserError: What is stored of the application cannot be read.
        """
        if name in self._unreadable:
            raise errors.user_error(self.why_unknown(name))
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
        work_threads.claim(seen.name)
        reconciler = self.reconciler_of(name)
        described = discovered.application
        if described is not None and application_identity.is_placeholder(name):
            why = self._why_taken(discovered.name, self._membership(discovered, seen))
            taken = errors.Problem(why)
            discovered = replace(discovered, application=None, problems=(taken,))
        elif described is not None and name != discovered.name:
            described = replace(described, name=name, declared=discovered.name)
            discovered = replace(discovered, application=described)
        lost, why = reconciler.record.repository, reconciler.why_orphaned
        mine = self._membership(discovered, seen, reconciler.status.wanted_project)
        await repository_events.apply(self._leader, reconciler, discovered, seen, mine)
        if why:
            await self._tell_found_again(reconciler, lost)

    def _is_orphaned(self, name: str) -> bool:
        known = self._reconcilers.get(name)
        return known is not None and bool(known.why_orphaned)

    def _is_of_others(
        self,
        name: str,
        discovered: repository_state.DiscoveredApplication,
        seen: repository_state.RepositoryState,
    ) -> bool:
        """Say whether what is known under a name is, or was, another project's application.

        Its history, and what it has in clusters, pass to no file elsewhere that is not of the
        same project, also after its own file went away.
        """
        known = self._reconcilers.get(name)
        if known is None or not self._projects.are_in_use:
            return False
        record = known.record
        if not record.repository or (record.repository, record.path) == (
            seen.name,
            discovered.path,
        ):
            return False
        return not record.project or record.project != self._membership(discovered, seen).project

    def _why_taken(self, name: str, mine: membership.Membership) -> str:
        other = self.reconciler_of(name)
        if mine.project != other.record.project:
            return (
                f"{name} is the name of another application; give this one another name, or have"
                " whoever runs the server say whether it goes on with that one"
            )
        return (
            f"{name} is the name of another application, and"
            f" {other.why_orphaned}: somebody has to say whether this is the"
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

    def _conclude_ended_run(
        self, reconciler: reconcilers.ApplicationReconciler, unfinished: tuple[str, ...]
    ) -> None:
        """Conclude a run whose end was kept, but not yet what it means for the application."""
        run_id = reconciler.status.run
        if reconciler.status.under_way and run_id not in unfinished:
            reconciler.read_again(run_id)


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
