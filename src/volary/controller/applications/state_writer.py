"""What is written down about one application: it is kept before it counts.

A ledger does not decide what happens next, and does not guard against two writers at once:
its lane does both.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from volary.controller.leadership import context
from volary.controller.persistence import redaction, retry
from volary.controller.runs import backfills, moves, ready_runs, rollbacks
from volary.controller.status import (
    application_statuses,
    release_coverage,
    run_origins,
    run_requests,
)
from volary.engine.persistence import codec, transitions
from volary.engine.runs import state
from volary.engine.state_machine import machine
from volary.manifests import redaction as manifest_redaction
from volary.model import statuses
from volary.model.runs import run_records
from volary.store import records

Value = TypeVar("Value")

#: Commits of an application that are not read again.
_MOST_COMMITS = 4
#: Status words that the end of a run does not change.
_STATUSES_KEPT = (
    application_statuses.StatusWord.BROKEN.value,
    application_statuses.StatusWord.SUSPENDED.value,
    application_statuses.StatusWord.REMOVED.value,
    application_statuses.StatusWord.ORPHANED.value,
)


class ApplicationStateWriter:
    """One application's record and commits.

    Args:
        tenure: What everything that drives shares.
        known: The application's record as it was kept last.
    """

    def __init__(self, leader: context.LeaderContext, known: records.ApplicationRecord) -> None:
        self._leader = leader
        #: As it was kept last.
        self.record = known
        self.application_status = application_statuses.from_document(known.document)
        #: As they were kept, by hash: those of the run, of what is wanted, and the last ones.
        self._commits: dict[str, records.CommitRecord] = {}
        #: Nothing is written down about it any more, whoever has not heard of it yet.
        self._is_forgotten = False

    @property
    def name(self) -> str:
        """The application's name."""
        return self.record.name

    async def until_available(self, action: Callable[[], Awaitable[Value]]) -> Value:
        """Do something with the store until it works."""
        return await retry.until_available(action, f"application {self.name}")

    async def keep(
        self, application_status: application_statuses.ApplicationStatus, **columns: object
    ) -> None:
        """Keep how the application stands, and columns of its record."""
        if self._is_forgotten:
            return
        document = application_statuses.to_document(application_status)
        changed = replace(self.record, document=document, **columns)  # type: ignore[arg-type]
        if changed != self.record or not self.record.version:
            changed = replace(changed, updated=self._leader.dependencies.clock.now())
            version = await self.until_available(
                lambda: self._leader.store.applications.keep(changed, fence=self._leader.fence)
            )
            self.record = replace(changed, version=version)
            self._leader.change_signal.notify_all()
        self.application_status = application_status

    async def keep_commit(
        self,
        commit: str,
        status: str,
        reason: str,
        *,
        run_request: run_requests.RunRequest | None = None,
        run: str = "",
        subject: str = "",
    ) -> None:
        """Keep what became of a commit.

        `subject` has to be clean: before a commit is rendered nobody knows which of its
        words are secrets, so until then it has none.
        """
        if self._is_forgotten:
            return
        store = self._leader.store
        base = self._commits.get(commit) or await self._known_commit(commit)
        changed = replace(
            base,
            status=status,
            reason=reason,
            run_id=run or base.run_id,
            subject=subject or base.subject,
            author=(run_request.author if run_request else "") or base.author,
        )
        if changed == self._commits.get(commit):
            return
        await self.until_available(lambda: store.commits.keep(changed, fence=self._leader.fence))
        self._commits[commit] = changed
        while len(self._commits) > _MOST_COMMITS:
            del self._commits[next(iter(self._commits))]

    async def _known_commit(self, commit: str) -> records.CommitRecord:
        store = self._leader.store
        known = await self.until_available(lambda: store.commits.get(self.name, commit))
        return known or records.CommitRecord(
            self.name, commit, self._leader.dependencies.clock.now()
        )

    async def begin(self, release: ready_runs.ReadyRun) -> int:
        """Keep a new run, then that it is under way; returns its version."""
        leader, origin, clean = self._leader, release.origin, release.masker.clean
        document = run_origins.to_document(origin)
        made = transitions.first_transition(release.run, document, leader.dependencies.clock.now())
        version = await self._keep_transition(made, release.masker)
        await self.note_running(release.run, clean(origin.reason), origin, clean(origin.subject))
        return version

    async def _keep_transition(
        self, made: run_records.Transition, masker: manifest_redaction.Masker
    ) -> int:
        store, fence = self._leader.store, self._leader.fence
        clean = redaction.clean_transition(masker, made)
        kept = await self.until_available(lambda: store.keep_transition(clean, fence=fence))
        return kept.version

    async def note_running(
        self, run: state.Run, reason: str, origin: run_origins.Origin, subject: str = ""
    ) -> None:
        """Write down that a run is under way; the want it was made of is done."""
        if moves.is_move(run):
            begun = moves.begun(self.application_status, run.id)
            await self.keep(replace(begun, pinned=origin.assigned))
            return
        if origin.kind == run_requests.RunKind.BACKFILL.value:
            await self.keep(
                replace(backfills.begun(self.application_status, run), pinned=origin.assigned)
            )
            return
        run_request = self.application_status.run_request
        rest = None if run_request is not None and run_request.id == run.id else run_request
        why = "" if rest is None else self.application_status.waiting_reason
        now_pinned = origin.assigned_before if run.rollback_of else origin.assigned
        coming = self.application_status.placed.coming if run.rollback_of else origin.chosen
        await self.keep_commit(run.commit, "running", reason, run=run.id, subject=subject)
        await self.keep(
            replace(
                self.application_status,
                run_request=rest,
                waiting_reason=why,
                run=run.id,
                under_way=True,
                pinned=now_pinned,
                placed=replace(self.application_status.placed, coming=coming),
            ),
            status=application_statuses.StatusWord.RUNNING.value,
            reason=reason,
        )

    async def conclude(self, run: state.Run) -> None:
        """Write down how a run ended, for the application and its commit."""
        if moves.is_move(run):
            identity = self._leader.register.identity
            after = moves.concluded(self.application_status, run, moves.shift_of_run(run), identity)
            # How a release failed stays said; where one that succeeded is now is news.
            synced = self.record.status == application_statuses.StatusWord.SYNCED.value
            told = {"reason": moves.summary_of_end(self.application_status, run)} if synced else {}
            await self.keep(after, **told)
            return
        if backfills.is_backfill(self.application_status, run):
            await self._conclude_backfill(run)
            return
        if run.rollback_of:
            await self._conclude_rollback(run)
            return
        run_request = self.application_status.run_request
        application_status = replace(
            application_statuses.after_run(self.application_status, run), under_way=False
        )
        placed = moves.after_release(
            application_status.placed, run, self._leader.dependencies.clock.now()
        )
        application_status = replace(
            application_status,
            placed=placed,
            kept={
                **release_coverage.commits_of_absent(self.application_status.coverage, run),
                **application_status.kept,
            },
            coverage=release_coverage.after_release(
                self.application_status.coverage, run, self._leader.register.identity
            ),
            backfill=None,
        )
        status, reason = application_statuses.word_of_end(run.status), run.reason
        await self.keep_commit(run.commit, run.status.value, run.reason, run=run.id)
        if run_request is not None and run_requests.is_fulfilled_by(run_request, run):
            status, reason = (
                application_statuses.StatusWord.SYNCED,
                f"{run_request.commit[:7]} took run {run.id} back",
            )
            await self.keep_commit(run_request.commit, "reverted", reason, run_request=run_request)
            application_status = replace(application_status, run_request=None, waiting_reason="")
        elif run_request is not None:
            application_status = replace(
                application_status,
                run_request=replace(run_request, rollback_of=""),
                waiting_reason="",
            )
        columns: dict[str, object] = {"status": status.value, "reason": reason}
        if self.record.status in _STATUSES_KEPT:
            columns = {}
        elif application_status.run_request is not None:
            columns["status"] = application_statuses.StatusWord.WAITING.value
        if (
            status is application_statuses.StatusWord.SYNCED
            and application_statuses.word_of_end(run.status) is status
        ):
            columns["running_commit"] = run.commit
        await self.keep(application_status, **columns)

    async def _conclude_rollback(self, run: state.Run) -> None:
        """Write down what runs where after a run that had ended was taken back."""
        running, identity = self.record.running_commit, self._leader.register.identity
        application_status, commit = rollbacks.concluded(
            self.application_status, run, identity, running
        )
        ended = run.status
        if ended is statuses.RunStatus.SUCCEEDED:
            ended = statuses.RunStatus.ROLLED_BACK
        await self.keep_commit(run.commit, ended.value, run.reason, run=run.id)
        columns: dict[str, object] = {
            "status": application_statuses.word_of_end(run.status).value,
            "reason": run.reason,
            "running_commit": commit,
        }
        if self.record.status in _STATUSES_KEPT:
            columns = {"running_commit": commit}
        elif application_status.run_request is not None:
            columns["status"] = application_statuses.StatusWord.WAITING.value
        await self.keep(application_status, **columns)

    async def _conclude_backfill(self, run: state.Run) -> None:
        """Write down which clusters have the release now; how it stands changes with the last."""
        running, identity = self.record.running_commit, self._leader.register.identity
        application_status, everywhere = backfills.concluded(
            self.application_status, run, running, identity
        )
        application_status = moves.with_clusters(
            application_status, release_coverage.covered_by(run)
        )
        columns: dict[str, object] = {}
        if everywhere:
            columns["running_commit"] = run.commit
            await self.keep_commit(run.commit, statuses.RunStatus.SUCCEEDED.value, everywhere)
            if (
                self.record.status == application_statuses.StatusWord.FAILED.value
                and application_status.run_request is None
            ):
                columns |= {
                    "status": application_statuses.StatusWord.SYNCED.value,
                    "reason": everywhere,
                }
            elif self.record.status == application_statuses.StatusWord.SYNCED.value:
                columns["reason"] = everywhere
        await self.keep(application_status, **columns)

    async def note_refused(self, run_request: run_requests.RunRequest, reason: str) -> None:
        """Write down that a want cannot become a run until somebody mends something."""
        if run_request.kind is run_requests.RunKind.PLACEMENT:
            if (
                self.application_status.move is not None
                and self.application_status.move.id == run_request.id
            ):
                await self.keep(replace(moves.delayed(self.application_status, reason), move=None))
            return
        if run_request.kind is run_requests.RunKind.BACKFILL:
            await self.keep(backfills.refused(self.application_status, run_request, reason))
            return
        await self.keep_commit(run_request.commit, "failed", reason, run_request=run_request)
        if (
            self.application_status.run_request is not None
            and self.application_status.run_request.id == run_request.id
        ):
            application_status = replace(
                self.application_status, run_request=None, waiting_reason=""
            )
            await self.keep(
                application_status,
                status=application_statuses.StatusWord.FAILED.value,
                reason=reason,
            )

    async def abandon(self, stored: run_records.StoredRun, by: str, reason: str) -> None:
        """End a run that nobody can carry out any more, as it is."""
        leader, run = self._leader, codec.read_run(stored)
        happened, step = machine.abandon(run, by, reason, leader.dependencies.clock.now())
        if happened:
            made = transitions.step_transition(run, happened, step, stored.version)
            await self._keep_transition(made, ready_runs.masker(leader.dependencies))

    async def forget(self) -> None:
        """Forget the application; its runs and the audit stay, as history."""
        store, name = self._leader.store, self.name
        self._is_forgotten = True
        await self.until_available(
            lambda: store.applications.forget(name, fence=self._leader.fence)
        )
        self.record, self.application_status = (
            records.ApplicationRecord(name),
            application_statuses.ApplicationStatus(),
        )
        self._leader.change_signal.notify_all()
