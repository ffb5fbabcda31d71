"""One application's lane: one run at a time, at most one want behind it.

Commits and people's wishes come in from one side, in any order; `_work` carries out what is
wanted from the other. Everything that has to outlive the process is in the application's
record before it counts. What a newer commit does to a run under way:

- it brings back what ran before: the run is rolled back at once, and that was it;
- the rule says *cancel* and nothing has touched what serves users yet: the run is cancelled
  and rolled back, then the newer one begins;
- else it waits. An older want is superseded, and its commit says by which.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from volary.controller import notifications, refusals
from volary.controller.applications import run_session, state_writer
from volary.controller.leadership import context
from volary.controller.runs import backfills, moves, releases, rollbacks
from volary.controller.status import (
    application_identity,
    application_statuses,
    run_admission,
    run_origins,
    run_requests,
)
from volary.engine.execution import runners
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.model import errors
from volary.model.runs import run_records
from volary.store import records

_LOG = logging.getLogger(__name__)

#: Seconds a run may take to answer a request before it counts as stuck.
_ANSWER_SECONDS = 30.0
#: Seconds a request waits for a run that is being taken up.
_TAKE_UP_SECONDS = 15.0
_NOTHING: Mapping[str, object] = MappingProxyType({})
_BEING_RECOVERED = "the run is being taken up again; try in a moment"


class ApplicationReconciler:
    """Drives one application.

    Args:
        tenure: What everything that drives shares.
        known: The application's record as it was kept last.
    """

    def __init__(self, tenure: context.LeaderContext, known: records.ApplicationRecord) -> None:
        self._tenure = tenure
        self._ledger = state_writer.ApplicationStateWriter(tenure, known)
        self._lock = asyncio.Lock()
        self._carried: run_session.RunSession | None = None
        self._left_behind: run_records.StoredRun | None = None
        self._working = False
        self._changed = asyncio.Event()
        self._taken_up = asyncio.Event()

    @property
    def name(self) -> str:
        """The application's name."""
        return self._ledger.name

    @property
    def record(self) -> records.ApplicationRecord:
        """The application as it was kept last."""
        return self._ledger.record

    @property
    def standing(self) -> application_statuses.ApplicationStatus:
        """How it stands."""
        return self._ledger.standing

    @property
    def place(self) -> releases.ApplicationSource:
        """Where the application lives."""
        known = self.record
        return releases.ApplicationSource(
            known.name, known.repository, known.path, known.branch, self.standing.targets
        )

    @property
    def why_gone(self) -> str:
        """Why nothing is started for it: its repository is not in the settings; empty: it is."""
        return application_identity.why_orphaned(
            self._tenure.desk.addresses, self.record.repository
        )

    # What comes in.

    def take_up(self, stored: run_records.StoredRun) -> None:
        """Go on with a run that an earlier process left behind."""
        self._left_behind = stored
        self.work()

    def work(self) -> None:
        """Begin what is wanted, unless that is under way."""
        self._changed.set()
        if not self._working and (self._left_behind or self.standing.next_want):
            self._working = True
            self._tenure.group.create_task(self._guarded(), name=f"application {self.name}")

    async def offer(self, want: run_requests.RunRequest, **noted: object) -> None:
        """Take a want; it replaces one that has not begun.

        `noted` are fields of the standing that are kept in the same step.
        """
        async with self._lock:
            await self._offer(want, noted)
        self.work()

    async def change(self, noted: Mapping[str, object] = _NOTHING, **columns: object) -> None:
        """Keep something new about the application: fields of its standing, and columns."""
        async with self._lock:
            await self._ledger.keep(self._noting(noted), **columns)

    async def amend(
        self,
        change: Callable[
            [application_statuses.ApplicationStatus], application_statuses.ApplicationStatus
        ],
    ) -> None:
        """Keep what `change` makes of how the application stands in the moment it is kept."""
        async with self._lock:
            await self._ledger.keep(change(self.standing))
        self.work()

    def _noting(self, noted: Mapping[str, object]) -> application_statuses.ApplicationStatus:
        return replace(self.standing, **noted)  # type: ignore[arg-type]

    async def request(self, run_id: str, event: events.Event) -> str:
        """Ask the run under way for something; returns why not, or nothing.

        A run that is still being taken up is waited for.
        """
        if self._left_behind is not None and self.why_gone:
            return f"{self.why_gone}, so nobody can carry it out"
        if self._left_behind is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKE_UP_SECONDS):
                    await self._taken_up.wait()
        carried = self._carried
        if carried is None or carried.runner.run.id != run_id:
            return _BEING_RECOVERED
        return await self._ask(carried.runner, event)

    async def conclude(self, run: state.Run) -> None:
        """Write down how a run ended, for the application and its commit."""
        async with self._lock:
            self._carried, want = None, self.standing.want
            await self._ledger.conclude(run)
            if want is not None and self.standing.want is None:
                self._settle(want, self.record.reason)

    async def forget(self, by: str, reason: str) -> str:
        """Forget the application, nothing in any cluster; returns why not, or nothing.

        A run that nobody can carry out any more ends with it, as it is.
        """
        stored = self._left_behind
        if self._carried is not None or (stored is not None and not self.why_gone):
            return f"run {self.standing.run} has to end first; cancel it"
        async with self._lock:
            if stored is not None:
                await self._ledger.abandon(stored, by, reason)
                self._left_behind = None
            await self._ledger.forget()
        self._changed.set()
        return ""

    @property
    def run_under_way(self) -> state.Run | None:
        """The run that is being carried out."""
        return self._carried.runner.run if self._carried else None

    # How a want is taken.

    async def _offer(self, want: run_requests.RunRequest, noted: Mapping[str, object]) -> None:
        carried, old = self._carried, self.standing.want
        if carried and want.kind is run_requests.RunKind.COMMIT and not carried.runner.run.is_final:
            run = carried.runner.run
            if await releases.reverts(self._tenure.desk, self.place, want.commit, run):
                want = replace(want, undoes=run.id)
        why = self._why_waiting(want)
        await self._ledger.keep_commit(want.commit, "queued", why or want.reason, want=want)
        status = (
            self.record.status if self._is_busy else application_statuses.StatusWord.WAITING.value
        )
        reason = self.record.reason if self._is_busy else want.reason
        await self._ledger.keep(
            replace(self._noting(noted), want=want, why_waiting=why), status=status, reason=reason
        )
        if old is not None and old.commit != want.commit:
            reason = f"superseded by {want.commit[:7]} before it began"
            await self._ledger.keep_commit(old.commit, "superseded", reason, want=old)
            self._settle(old, reason)
        desk = self._tenure.desk
        masker = releases.masker(desk)
        notifications.triggered(self._tenure.notifier, want, self.record, desk.clock.now(), masker)
        await self._react()

    def _settle(self, want: run_requests.RunRequest, reason: str) -> None:
        """Tell those who were told of a want that no run of its own comes of it."""
        desk, to = self._tenure.desk, self._tenure.notifier
        notifications.settled(
            to, want, self.record, desk.clock.now(), releases.masker(desk), reason
        )

    @property
    def _is_busy(self) -> bool:
        return self._carried is not None or self._left_behind is not None

    def _why_waiting(self, want: run_requests.RunRequest) -> str:
        if self._left_behind is not None:
            return f"run {self._left_behind.head.id} has to end first"
        if self._carried is None:
            return ""
        run, rule = self._carried.runner.run, self._tenure.rules.supersede
        return run_admission.why_waiting(rule, self.standing, want, run)

    async def _react(self) -> None:
        """Have the run under way make room, when the want is a reason to."""
        want, carried = self.standing.want, self._carried
        if want is None or carried is None:
            return
        run, rule = carried.runner.run, self._tenure.rules.supersede
        if reason := run_admission.why_cancel(rule, self.standing, want, run):
            now = self._tenure.desk.clock.now()
            event = events.Cancel(now, "Git", rollback=True, reason=reason)
            refusal = await self._ask(carried.runner, event)
            if refusal:
                _LOG.info("run %s goes on: %s", run.id, refusal)

    async def _ask(self, runner: runners.Runner, event: events.Event) -> str:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await runner.request(event)
        except TimeoutError:
            return "the run does not answer; it waits for the database, or has stopped"

    # How it is carried out.

    async def _guarded(self) -> None:
        """Work; a bug in one application must not harm the others."""
        try:
            await self._work()
        # A bug in one application must not stop the others; it is logged with its trace.
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("application %s stands still by a bug", self.name)
            self._carried = None
            what = f"internal error ({type(error).__name__}), see the log"
            await self.change(status=application_statuses.StatusWord.FAILED.value, reason=what)
        finally:
            self._working = False

    async def _work(self) -> None:
        delay = self._tenure.rules.first_delay
        while self._left_behind or self.standing.next_want:
            self._changed.clear()
            if await self._is_pinned():
                continue
            trouble = await self._take_up() if self._left_behind else await self._begin()
            if not trouble:
                delay = self._tenure.rules.first_delay
                continue
            await self._say(trouble, delay)
            try:
                async with asyncio.timeout(delay):
                    await self._changed.wait()
            except TimeoutError:
                delay = min(delay * 2, self._tenure.rules.longest_delay)

    async def _is_pinned(self) -> bool:
        """Wait for a change while the application is paused or orphaned; say whether it was."""
        paused = "" if self._left_behind else run_admission.why_next_blocked(self.standing)
        pinned = self.why_gone or paused
        if pinned:
            async with self._lock:
                await self._ledger.keep(replace(self.standing, why_waiting=pinned))
            await self._changed.wait()
        return bool(pinned)

    async def _say(self, trouble: str, delay: float) -> None:
        """Tell why nothing goes on."""
        again = f"{trouble}; tried again within {delay:g} s"
        async with self._lock:
            if self._left_behind is not None:
                what = f"run {self._left_behind.head.id} cannot go on: {again}"
                await self._ledger.keep(self.standing, reason=what)
            elif self.standing.move is not None:
                await self._ledger.keep(moves.delayed(self.standing, again))
            elif self.standing.want is not None:
                await self._ledger.keep(replace(self.standing, why_waiting=again), reason=again)
            elif self.standing.catch_up is not None:
                # Whoever wanted it looks again, with the patience of its own.
                await self._ledger.note_refused(self.standing.catch_up, trouble)

    async def _begin(self) -> str:
        """Make the want a run and carry it out; returns what keeps it from beginning."""
        want = self.standing.next_want
        if want is None:
            return ""
        desk, place, standing = self._tenure.desk, self.place, self.standing
        masker, running = releases.masker(desk), self.record.running_commit
        try:
            async with self._tenure.planners:
                if want.kind is run_requests.RunKind.PLACEMENT:
                    release = await moves.prepare(desk, place, want, running, standing)
                elif want.kind is run_requests.RunKind.CATCH_UP:
                    release = await backfills.prepare(desk, place, want, running, standing)
                elif want.takes_back:
                    store, known = self._tenure.store, self.record
                    release = await rollbacks.prepare(desk, store, known, want, standing)
                else:
                    prepared = await releases.prepare(desk, place, want, running, standing)
                    masker = releases.masker(desk, prepared.manifests, prepared.old_manifests)
                    release = await releases.release(desk, place, want, prepared)
        except errors.UserError as error:
            await self._refuse(want, masker.clean(refusals.sentence(error)))
            return ""
        except errors.TemporaryError as error:
            return masker.clean(str(error))
        carried = await self._start(want, release)
        if carried is not None:
            await self._carry_out(carried)
        return ""

    async def _start(
        self, want: run_requests.RunRequest, release: releases.Release
    ) -> run_session.RunSession | None:
        """Keep the new run and return it; None when something newer is wanted by now."""
        async with self._lock:
            next_want = self.standing.next_want
            is_other = next_want is None or next_want.id != want.id
            if is_other or run_admission.why_next_blocked(self.standing):
                return None
            version = await self._ledger.begin(release)
            notifications.planned(
                self._tenure.notifier, release, self.record, self._tenure.desk.clock.now()
            )
            self._carried = run_session.open_session(self._tenure, self.record, release, version)
            return self._carried

    async def _take_up(self) -> str:
        """Go on with the run left behind; returns what keeps it from going on."""
        stored = self._left_behind
        if stored is None:
            return ""
        try:
            run = codec.read_run(stored)
            origin = run_origins.from_document(stored.origin)
            origin = application_identity.with_current_repository(
                origin, self.record, self._tenure.desk.addresses
            )
            async with self._tenure.planners:
                release = await releases.take_up(self._tenure.desk, self.name, run, origin)
        except errors.VolaryError as error:
            return str(error)
        async with self._lock:
            self._left_behind = None
            self._carried = carried = run_session.open_session(
                self._tenure, self.record, release, stored.version
            )
            self._taken_up.set()
            await self._ledger.note_running(run, origin.reason, origin)
        await self._carry_out(carried)
        return ""

    async def _carry_out(self, carried: run_session.RunSession) -> None:
        log, cases = carried.log, carried.cases
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(log.keep_writing())
            keeping = group.create_task(cases.keep_writing())
            # What came in while the run was being prepared, or before a restart.
            reacting = group.create_task(self._react_later())
            ended = await carried.runner.carry_out()
            await reacting
            writing.cancel()
            keeping.cancel()
        await log.flush()
        await cases.flush()
        await self.conclude(ended)

    async def _react_later(self) -> None:
        async with self._lock:
            await self._react()

    async def _refuse(self, want: run_requests.RunRequest, reason: str) -> None:
        """Say that a want cannot become a run until somebody mends something."""
        async with self._lock:
            await self._ledger.note_refused(want, reason)
        if want.kind is run_requests.RunKind.CATCH_UP:
            return
        desk, to = self._tenure.desk, self._tenure.notifier
        now, masker = desk.clock.now(), releases.masker(desk)
        notifications.refused(to, want, self.record, now, masker, masker.clean(reason))
