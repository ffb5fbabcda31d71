"""One application: one run at a time, at most one run request behind it.

Commits and people's requests come in from one side, in any order; `_work` carries out what is
requested from the other. Everything that has to outlive the process is in the application's
record before it counts. What a newer commit does to a run under way:

- it brings back what ran before: the run is rolled back at once, and that was it;
- the rule says *cancel* and nothing has touched what serves users yet: the run is cancelled
  and rolled back, then the newer one begins;
- else it waits. An older request is superseded, and its commit says by which.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from volary.controller import notifications, refusals
from volary.controller.applications import run_session, state_writer
from volary.controller.leadership import context
from volary.controller.runs import ready_runs, release_plans, run_kinds
from volary.controller.status import (
    application_identity,
    application_state,
    application_statuses,
    run_admission,
    run_origins,
    run_requests,
)
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.model import errors
from volary.model.runs import run_records
from volary.notifying import notices
from volary.store import records

_LOG = logging.getLogger(__name__)

#: Seconds a request waits for a run that is being taken up.
_TAKE_UP_SECONDS = 15.0
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_BEING_RECOVERED = "the run is being taken up again; try in a moment"


class ApplicationReconciler:
    """Reconciles one application.

    Args:
        leader: What is shared while this process is the leader.
        known: The application's record as it was kept last.
    """

    def __init__(self, leader: context.LeaderContext, known: records.ApplicationRecord) -> None:
        self._leader = leader
        self._state_writer = state_writer.ApplicationStateWriter(leader, known)
        self._lock = asyncio.Lock()
        self._session: run_session.RunSession | None = None
        self._left_behind: run_records.StoredRun | None = None
        self._working = False
        self._changed = asyncio.Event()
        self._taken_up = asyncio.Event()

    @property
    def name(self) -> str:
        """The application's name."""
        return self._state_writer.name

    @property
    def record(self) -> records.ApplicationRecord:
        """The application as it was kept last."""
        return self._state_writer.record

    @property
    def status(self) -> application_statuses.ApplicationStatus:
        """How it stands."""
        return self._state_writer.status

    @property
    def place(self) -> ready_runs.ApplicationSource:
        """Where the application lives."""
        return ready_runs.source_of(self._state_writer.state)

    @property
    def why_orphaned(self) -> str:
        """Why nothing is started for it: its repository is not in the settings; empty: it is."""
        return application_identity.why_orphaned(
            self._leader.dependencies.addresses, self.record.repository
        )

    # What comes in.

    def take_up(self, stored: run_records.StoredRun) -> None:
        """Go on with a run that an earlier process left behind."""
        self._left_behind = stored
        self.work()

    def work(self) -> None:
        """Begin what is requested, unless that is under way."""
        self._changed.set()
        if not self._working and (self._left_behind or self.status.next_request):
            self._working = True
            self._leader.group.create_task(self._guarded(), name=f"application {self.name}")

    async def submit(self, run_request: run_requests.RunRequest, **noted: Any) -> None:
        """Take a run request; it replaces one that has not begun.

        `noted` are fields of the status that are kept in the same step.
        """
        async with self._lock:
            session = self._session
            if session and run_request.is_from_commit and not session.runner.run.is_final:
                run = session.runner.run
                if await release_plans.reverts(
                    self._leader.dependencies, self.place, run_request.commit, run
                ):
                    run_request = replace(run_request, reverts=run.id)
            why = self._why_waiting(run_request)
            status = replace(self.status, **noted, run_request=run_request, waiting_reason=why)
            is_busy = session is not None or self._left_behind is not None
            change = application_state.requested(
                self._state_writer.state, status, run_request, is_busy=is_busy
            )
            # Before it is kept: whoever is killed in between does both again.
            event = notices.Event.DEPLOYMENT_TRIGGERED
            await self._announce(event, run_request, run_request.reason)
            await self._state_writer.write(change)
            await self._announce_settled(change)
            await self._react()
        self.work()

    async def change(self, noted: Mapping[str, Any] = _NOTHING, **columns: Any) -> None:
        """Keep something new about the application: fields of its status, and columns."""
        async with self._lock:
            await self._state_writer.keep(replace(self.status, **noted), **columns)

    async def amend(
        self,
        change: Callable[
            [application_statuses.ApplicationStatus], application_statuses.ApplicationStatus
        ],
    ) -> None:
        """Keep what `change` makes of how the application stands in the moment it is kept."""
        async with self._lock:
            await self._state_writer.keep(change(self.status))
        self.work()

    async def request(self, run_id: str, event: events.Event) -> str:
        """Ask the run under way for something; returns why not, or nothing.

        A run that is still being taken up is waited for.
        """
        if self._left_behind is not None and self.why_orphaned:
            return f"{self.why_orphaned}, so nobody can carry it out"
        if self._left_behind is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKE_UP_SECONDS):
                    await self._taken_up.wait()
        session = self._session
        if session is None or session.runner.run.id != run_id:
            return _BEING_RECOVERED
        return await session.ask(event)

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Have the run under way go on where it waits for one of some clusters, which answer."""
        if self._session is not None:
            self._session.runner.report_reachable(clusters)

    async def conclude(self, run: state.Run, origin: run_origins.Origin) -> None:
        """Write down what the end of a run means for the application and its commit."""
        async with self._lock:
            self._session = None
            await self._announce_settled(await self._state_writer.conclude(run, origin))

    async def forget(self, by: str, reason: str) -> str:
        """Delete the application, nothing in any cluster; returns why not, or nothing.

        A run that nobody can carry out any more ends with it, as it is.
        """
        stored = self._left_behind
        if self._session is not None or (stored is not None and not self.why_orphaned):
            return f"run {self.status.run} has to end first; cancel it"
        async with self._lock:
            if stored is not None:
                await self._state_writer.abandon(stored, by, reason)
                self._left_behind = None
            await self._state_writer.forget()
        self._changed.set()
        return ""

    @property
    def run_under_way(self) -> state.Run | None:
        """The run that is being carried out."""
        return self._session.runner.run if self._session else None

    @property
    def kind_under_way(self) -> run_requests.KindName | None:
        """The kind of the run under way, or of one left behind; None: there is none.

        One that has ended counts until its end is written down.
        """
        if self._session is not None:
            return self._session.origin.kind
        if self._left_behind is not None:
            return run_origins.from_document(self._left_behind.origin).kind
        return None

    @property
    def is_moving(self) -> bool:
        """Whether a run that moves the application between clusters is under way."""
        return self.kind_under_way is run_requests.KindName.MOVE

    # How a request is taken.

    async def _announce_settled(self, change: application_state.StateChange) -> None:
        """Notify those who know of a request when no run of its own comes of it."""
        if change.settled is not None:
            event = notices.Event.DEPLOYMENT_CANCELLED
            await self._announce(event, change.settled, change.settled_reason)

    async def _announce(
        self, event: notices.Event, run_request: run_requests.RunRequest, reason: str
    ) -> None:
        leader = self._leader
        await notifications.requested(
            leader.notifier, leader.dependencies, run_request, self.record, event, reason
        )

    def _why_waiting(self, run_request: run_requests.RunRequest) -> str:
        if self._left_behind is not None:
            return f"run {self._left_behind.head.id} has to end first"
        if self._session is None:
            return ""
        run, rule = self._session.runner.run, self._leader.rules.supersede
        return run_admission.waiting_reason(rule, self.status, run_request, run)

    async def _react(self) -> None:
        """Supersede the run under way, when the request is a reason to."""
        run_request, session = self.status.run_request, self._session
        if run_request is None or session is None:
            return
        run, rule = session.runner.run, self._leader.rules.supersede
        if reason := run_admission.why_cancel(rule, self.status, run_request, run):
            now = self._leader.dependencies.clock.now()
            event = events.Cancel(now, "Git", rollback=True, reason=reason)
            refusal = await session.ask(event)
            if refusal:
                _LOG.info("run %s goes on: %s", run.id, refusal)

    # How it is carried out.

    async def _guarded(self) -> None:
        """Work; a bug in one application must not harm the others."""
        try:
            await self._work()
        except Exception as error:
            if context.is_overtaken(error):
                raise
            _LOG.exception("application %s stopped by an internal error", self.name)
            self._session = None
            what = f"internal error ({type(error).__name__}), see the log"
            await self.change(status=application_statuses.StatusWord.FAILED.value, reason=what)
        finally:
            self._working = False

    async def _work(self) -> None:
        failures = 0
        while self._left_behind or self.status.next_request:
            self._changed.clear()
            if await self._is_pinned():
                continue
            next_request = self.status.next_request
            if self._left_behind is not None:
                trouble = await self._take_up()
            elif next_request is not None:
                trouble = await self._begin(next_request)
            else:
                continue
            if not trouble:
                failures = 0
                continue
            delay = self._leader.rules.backoff.after(failures + 1).total_seconds()
            await self._delay(next_request, trouble, f"tried again within {delay:g} s")
            try:
                async with asyncio.timeout(delay):
                    await self._changed.wait()
            except TimeoutError:
                failures += 1

    async def _is_pinned(self) -> bool:
        """Wait for a change while the application is paused or orphaned; say whether it was."""
        paused = "" if self._left_behind else run_admission.why_next_blocked(self.status)
        pinned = self.why_orphaned or paused
        if pinned:
            async with self._lock:
                await self._state_writer.keep(replace(self.status, waiting_reason=pinned))
            await self._changed.wait()
        return bool(pinned)

    async def _delay(
        self, run_request: run_requests.RunRequest | None, trouble: str, retry: str
    ) -> None:
        """Write down why nothing goes on, and when it is tried again."""
        async with self._lock:
            if self._left_behind is not None:
                what = f"run {self._left_behind.head.id} cannot go on: {trouble}; {retry}"
                await self._state_writer.keep(self.status, reason=what)
            elif run_request is not None:
                await self._state_writer.delay(run_request, trouble, retry)

    async def _begin(self, run_request: run_requests.RunRequest) -> str:
        """Make a request a run and carry it out; returns what keeps it from beginning."""
        leader, masker = self._leader, ready_runs.masker(self._leader.dependencies)
        told = functools.partial(self._tell_waiting, run_request)
        if refusal := await self._state_writer.refusal_of(run_request):
            await self.refuse(run_request, refusal)
            return ""
        try:
            async with leader.planners:
                application = self._state_writer.state
                planning = run_kinds.Planning(
                    application, run_request, leader.dependencies, leader.store, masker, told
                )
                ready = await leader.kinds[run_request.kind].prepare(planning)
        except errors.UserError as error:
            await self.refuse(run_request, masker.clean(refusals.sentence(error)))
            return ""
        except errors.TemporaryError as error:
            return masker.clean(str(error))
        session = await self._start(run_request, ready)
        if session is not None:
            await self._carry_out(session)
        return ""

    def _tell_waiting(self, run_request: run_requests.RunRequest, sentence: str) -> None:
        self._leader.group.create_task(self._note_waiting(run_request, sentence))

    async def _note_waiting(self, run_request: run_requests.RunRequest, sentence: str) -> None:
        """Write down whom the preparation of a request waits for, while it still does."""
        async with self._lock:
            status, next_request = self.status, self.status.next_request
            is_same = next_request is not None and next_request.id == run_request.id
            if is_same and self._session is None:
                await self._state_writer.keep(replace(status, waiting_reason=sentence))

    async def _start(
        self, run_request: run_requests.RunRequest, ready: ready_runs.ReadyRun
    ) -> run_session.RunSession | None:
        """Keep the new run and return it; None when something newer is requested by now."""
        async with self._lock:
            next_request = self.status.next_request
            is_other = next_request is None or next_request.id != run_request.id
            if is_other or run_admission.why_next_blocked(self.status):
                return None
            leader = self._leader
            await notifications.planned(leader.notifier, leader.dependencies, ready, self.record)
            version = await self._state_writer.begin(ready)
            self._session = run_session.open_session(self._leader, self.record, ready, version)
            return self._session

    async def _take_up(self) -> str:
        """Go on with the run left behind; returns what keeps it from going on."""
        stored = self._left_behind
        if stored is None:
            return ""
        try:
            ready = await run_session.take_up(self._leader, self.record, stored)
        except errors.VolaryError as error:
            return str(error)
        async with self._lock:
            self._left_behind = None
            self._session = session = run_session.open_session(
                self._leader, self.record, ready, stored.version
            )
            self._taken_up.set()
            await self._state_writer.take_up(ready.run, ready.origin)
        await self._carry_out(session)
        return ""

    async def _carry_out(self, session: run_session.RunSession) -> None:
        async with asyncio.TaskGroup() as group:
            # What came in while the run was being prepared, or before a restart.
            group.create_task(self._react_later())
            ended = await session.carry_out()
        await self.conclude(ended, session.origin)

    async def _react_later(self) -> None:
        async with self._lock:
            await self._react()

    async def refuse(self, run_request: run_requests.RunRequest, reason: str) -> None:
        """Say that a request cannot be carried out until somebody mends something."""
        if self._leader.kinds[run_request.kind].announces_refusals:
            await self._announce(notices.Event.DEPLOYMENT_TRIGGER_FAILED, run_request, reason)
        async with self._lock:
            await self._state_writer.refuse(run_request, reason)
