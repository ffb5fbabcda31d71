"""What is written down about one application: it is kept before it counts.

The writer does not decide what is written (the kinds of runs do), what happens next, or which of
two writers is first: the application's reconciler does.
"""

import functools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

from volary.controller import notifications
from volary.controller.applications import commit_keeper, stuck_runs
from volary.controller.leadership import context
from volary.controller.persistence import journal, retry
from volary.controller.runs import ready_runs, run_clusters, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    run_origins,
    run_requests,
)
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import transitions
from volary.engine.runs import run_builder
from volary.engine.runs import state as run_state
from volary.manifests import redaction as manifest_redaction
from volary.model.runs import run_records
from volary.store import fencing, records

Value = TypeVar("Value")

#: To requests, kept in the transaction of what is done for them.
Answers = tuple[run_records.RequestAnswer, ...]

#: Commits of an application that are not read again.
_MOST_COMMITS = 4
#: The least difference of two moments.
_MOMENT = timedelta(microseconds=1)


class ApplicationStateWriter:
    """One application's record and commits.

    Args:
        leader: What is shared while this process is the leader.
        known: The application's record as it was kept last.
    """

    def __init__(self, leader: context.LeaderContext, known: records.ApplicationRecord) -> None:
        self._leader = leader
        #: As it was kept last.
        self.record = known
        self.status = application_statuses.from_document(known.document)
        #: As they were kept, by hash: those of the run, of what is requested, and the last ones.
        self._commits: dict[str, records.CommitRecord] = {}
        self._keeper = commit_keeper.CommitKeeper(
            known.name, leader.dependencies.repositories, leader.store
        )
        #: Nothing is written down about it any more, whoever has not heard of it yet.
        self._is_forgotten = False

    @property
    def state(self) -> application_state.ApplicationState:
        """All that is known of the application."""
        return application_state.ApplicationState(self.record, self.status)

    @property
    def name(self) -> str:
        """The application's name."""
        return self.record.name

    async def until_available(self, action: Callable[[], Awaitable[Value]]) -> Value:
        """Do something with the store until it works."""
        return await retry.until_available(action, f"application {self.name}")

    async def check_unanswered(self, answers: Answers) -> None:
        """See that something is to be done for requests, before what is kept ahead of it is.

        Raises:
            fencing.RequestAnswered: It was done, or refused.
        """
        requests = self._leader.store.requests
        for answer in answers:
            look = functools.partial(requests.get, answer.request)
            known = await self.until_available(look)
            if known is None or known.answered is not None:
                raise fencing.RequestAnswered(f"request {answer.request} was answered before")

    async def keep(
        self,
        application_status: application_statuses.ApplicationStatus,
        answers: Answers = (),
        commits: Sequence[application_state.CommitChange] = (),
        /,
        **columns: Any,
    ) -> None:
        """Keep how the application stands, what became of commits, and what this answers.

        `columns` are those of its record. All of it is kept in one transaction.

        Raises:
            fencing.RequestAnswered: A request was answered before, so nothing is kept.
        """
        if self._is_forgotten:
            return
        document = application_statuses.to_document(application_status)
        running = application_status.releases.running
        changed = replace(self.record, document=document, running_commit=running, **columns)
        known = [await self._changed_commit(commit) for commit in commits]
        new = [commit for commit in known if commit != self._commits.get(commit.commit)]
        if changed != self.record or not self.record.version or answers or new:
            needed = commit_keeper.of_status(application_status)
            await self._keeper.add(changed.repository, needed)
            changed = replace(changed, updated=self._leader.dependencies.clock.now())
            version = await self._until_known(
                lambda: self._leader.store.applications.keep(
                    changed, fence=self._leader.fence, commits=new, answers=answers
                ),
                answers,
            )
            self.record = replace(changed, version=version)
            self._remember(new)
            self._leader.change_signal.notify_all()
        self.status = application_status

    async def _until_known(self, action: Callable[[], Awaitable[Value]], answers: Answers) -> Value:
        """Do something with the store until it works; what has answers may be repeated."""
        if not answers:
            return await self.until_available(action)
        # Else what is kept, and answered, would not be known here.
        return await retry.until_known(action, f"application {self.name}")

    async def _changed_commit(self, change: application_state.CommitChange) -> records.CommitRecord:
        commit, request = change.commit, change.run_request
        base = self._commits.get(commit) or await self._known_commit(commit)
        return replace(
            base,
            status=change.status,
            reason=change.reason,
            run_id=change.run or base.run_id,
            subject=change.subject or base.subject,
            author=(request.author if request else "") or base.author,
        )

    def _remember(self, commits: Sequence[records.CommitRecord]) -> None:
        self._commits |= {commit.commit: commit for commit in commits}
        while len(self._commits) > _MOST_COMMITS:
            del self._commits[next(iter(self._commits))]

    async def _known_commit(self, commit: str) -> records.CommitRecord:
        store = self._leader.store
        known = await self.until_available(lambda: store.commits.get(self.name, commit))
        return known or records.CommitRecord(
            self.name, commit, self._leader.dependencies.clock.now()
        )

    async def begin(self, ready: ready_runs.ReadyRun) -> tuple[ready_runs.ReadyRun, int]:
        """Keep a new run, then that it is under way; returns it as it was kept, and its version."""
        ready = replace(ready, run=await self._after_the_last(ready.run))
        document = run_origins.to_document(ready.origin)
        now = self._leader.dependencies.clock.now()
        await self._keeper.add(self.record.repository, commit_keeper.of_run(ready.run))
        clusters = run_clusters.to_document(ready.clusters)
        manifests = await ready.pack_manifests()
        made = transitions.first_transition(
            ready.run, document, now, clusters=clusters, manifests=manifests
        )
        version = await self._keep_transition(made, ready.masker)
        clean, origin = ready.masker.clean, ready.origin
        shown = replace(
            origin,
            reason=clean(origin.reason),
            subject=clean(origin.subject),
            warnings=tuple(map(clean, origin.warnings)),
        )
        await self.take_up(ready.run, shown)
        return ready, version

    async def _after_the_last(self, run: run_state.Run) -> run_state.Run:
        """Return a new run as the newest of its application, also where the clock was set back.

        What a rollback takes back is the change of the newest.
        """
        runs, mine = self._leader.store.runs, records.RunFilter(frozenset({run.application}))
        page = await self.until_available(lambda: runs.list(mine, limit=1))
        newest = next((item.head for item in page.items if item.head.id != run.id), None)
        if run.created is None or newest is None or newest.created < run.created:
            return run
        return replace(run, created=newest.created + _MOMENT)

    async def take_up(self, run: run_state.Run, origin: run_origins.Origin) -> None:
        """Keep that a run which is kept already is under way; `origin` is clean."""
        await self._keeper.add(self.record.repository, commit_keeper.of_run(run))
        kind = self._leader.kinds[origin.kind]
        # It is planned, so nothing is left of the attempts to.
        planned = application_state.ApplicationState(
            self.record, replace(self.status, attempt=None)
        )
        await self.write(kind.begun(run_kinds.KeptRun(planned, run, origin)))

    async def refuse(self, run_request: run_requests.RunRequest, reason: str) -> None:
        """Keep that a request is refused until somebody mends something.

        A release that is refused is a run that has failed, so that whoever waits for one sees it.
        """
        kind = self._leader.kinds[run_request.kind]
        if run_request.kind.is_release:
            await self._keep_refused_run(run_request, reason)
        await self.write(kind.refused(run_kinds.RequestedRun(self.state, run_request), reason))

    async def delay(self, run_request: run_requests.RunRequest, trouble: str, retry: str) -> None:
        """Keep why a request cannot become a run yet, and when it is tried again."""
        kind = self._leader.kinds[run_request.kind]
        requested = run_kinds.RequestedRun(self.state, run_request)
        await self.write(kind.delayed(requested, trouble, retry))

    async def conclude(
        self, run: run_state.Run, origin: run_origins.Origin
    ) -> application_state.StateChange:
        """Keep what the end of a run means, and return it."""
        leader = self._leader
        now = leader.dependencies.clock.now()
        ended = run_kinds.EndedRun(self.state, run, origin, leader.register.identity, now)
        change = leader.kinds[origin.kind].concluded(ended)
        await self.write(change)
        await self._keeper.settle(self.record.repository, self.status)
        return change

    async def refusal_of(self, run_request: run_requests.RunRequest) -> str:
        """Return why a request was refused by a process that died before it was done with it."""
        runs = self._leader.store.runs
        kept = await self.until_available(lambda: runs.summary(run_request.id))
        return kept.head.reason if kept is not None and kept.head.finished else ""

    async def _keep_refused_run(self, run_request: run_requests.RunRequest, reason: str) -> None:
        if await self.refusal_of(run_request):
            return
        now = self._leader.dependencies.clock.now()
        run = run_builder.refused_run(
            run_request.id,
            self.name,
            run_request.commit,
            self.status.releases.running,
            reason,
            now,
        )
        origin = ready_runs.origin_of_refused(ready_runs.source_of(self.state), run_request)
        run = await self._after_the_last(run)
        made = transitions.first_transition(run, run_origins.to_document(origin), now)
        await self._keep_transition(made, self._masker())

    def _masker(self) -> manifest_redaction.Masker:
        return ready_runs.masker(self._leader.dependencies, application=self.name)

    async def _keep_transition(
        self, made: run_records.Transition, masker: manifest_redaction.Masker
    ) -> int:
        store, fence = self._leader.store, self._leader.fence
        clean = event_redaction.clean_transition(masker, made)
        kept = await self.until_available(lambda: store.keep_transition(clean, fence=fence))
        return kept.version

    async def write(self, change: application_state.StateChange, *, answers: Answers = ()) -> None:
        """Keep what a request, or a run's beginning or end, changes, in one transaction."""
        await self.keep(change.status, answers, change.commits, **change.columns)

    async def keep_step(self, step: stuck_runs.StoredStep) -> None:
        """Keep a step of a run that nobody carries out, and notify of it.

        Raises:
            runners.AlreadyAnswered: The request that it carries out was answered before.
        """
        leader, masker = self._leader, self._masker()
        keeper = journal.StoreJournal(
            leader.store,
            step.before,
            step.version,
            fence=leader.fence,
            masker=masker,
            kept=leader.change_signal.notify_all,
            notifier=notifications.of_stored_run(
                leader.notifier, step.before, step.origin, self.record, masker
            ),
        )
        await keeper.keep(step.record)

    async def abandon(
        self, stored: run_records.StoredRun, by: str, reason: str, *, answers: str = ""
    ) -> run_state.Run | None:
        """End a run that nobody carries out, as it is, and return it; None: it is unreadable.

        `answers` is the id of the request that is answered by that; empty: of none.
        """
        now = self._leader.dependencies.clock.now()
        step = stuck_runs.abandoned(stored, by, reason, now, answers)
        if step is None:
            made = stuck_runs.without_state(stored, by, reason, now, answers)
            await self._keep_transition(made, self._masker())
            return None
        await self.keep_step(step)
        return step.record.run

    async def close(self, reason: str) -> None:
        """Keep that no run is under way, when what the end of one means cannot be told."""
        status = replace(self.status, under_way=False)
        word = application_statuses.StatusWord.FAILED
        await self.keep(
            status, **application_state.columns_of_end(self.record, status, word, reason)
        )

    async def forget(self, *, answers: Answers = ()) -> None:
        """Delete the application; its runs, requests and the audit stay, as history.

        Raises:
            fencing.RequestAnswered: A request was answered before, so nothing is deleted.
        """
        store, name, fence = self._leader.store, self.name, self._leader.fence
        self._is_forgotten = True
        try:
            await self._until_known(
                lambda: store.applications.forget(name, fence=fence, answers=answers), answers
            )
        except fencing.RequestAnswered:
            self._is_forgotten = False
            raise
        await self._keeper.forget(self.record.repository)
        self.record, self.status = (
            records.ApplicationRecord(name),
            application_statuses.ApplicationStatus(),
        )
        self._leader.change_signal.notify_all()
