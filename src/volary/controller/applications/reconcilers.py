"""One application: one run at a time, at most one run request behind it.

Commits and people's requests come in from one side, in any order; a loop carries out what is
requested from the other. Everything that has to outlive the process is in the application's
record before it counts. What a newer commit does to a run under way:

- it brings back what ran before: the run is rolled back at once, and that was it;
- the rule says *cancel* and nothing has touched what serves users yet: the run is cancelled
  and rolled back, then the newer one begins;
- else it waits. An older request is superseded, and its commit says by which.
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from volary.concurrency import work_threads
from volary.controller import notifications, refusals
from volary.controller.applications import (
    interrupted_runs,
    reconcile_loop,
    request_planner,
    run_session,
    state_writer,
)
from volary.controller.leadership import context, project_runs
from volary.controller.runs import ready_runs, release_plans
from volary.controller.status import (
    application_identity,
    application_requests,
    application_state,
    application_statuses,
    run_admission,
    run_origins,
    run_requests,
)
from volary.engine.execution import runners
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.model import errors
from volary.model.runs import run_records
from volary.notifying import notices
from volary.store import fencing, records
from volary.telemetry import spans
from volary.tenancy import restrictions

_LOG = logging.getLogger(__name__)

_NOTHING: Mapping[str, Any] = MappingProxyType({})
#: Kinds of runs that wait while their project has as many under way as it may.
_TAKING_TURNS = (
    run_requests.KindName.RELEASE,
    run_requests.KindName.BACKFILL,
    run_requests.KindName.REPAIR,
)
#: Seconds after which one that waits looks again whether it still has to.
_LOOK_AGAIN = 10.0
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
        self._interrupted = interrupted_runs.InterruptedRun(
            leader, self._state_writer, self._conclude
        )
        self._planner = request_planner.RequestPlanner(
            leader, self._state_writer, self._keep_attempt
        )
        self._loop = reconcile_loop.ReconcileLoop(
            leader,
            known.name,
            reconcile_loop.Steps(
                lambda: bool(self._interrupted.id or self.status.next_request),
                self._go_on,
                self._note_interruption,
                self._note_delay,
            ),
        )

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

    @property
    def _owner(self) -> str:
        """Whom its work counts for: its team, whose repository may be others' too, and one of
        several."""
        are_apart = self._leader.dependencies.projects().are_in_use
        project = self.record.project if are_apart else ""
        return f"project {project}" if project else self.record.repository

    # What comes in.

    def take_up(self, stored: run_records.StoredRun) -> None:
        """Go on with a run that an earlier process left behind."""
        self._interrupted.stored = stored
        self.work()

    def read_again(self, run_id: str) -> None:
        """Go on with a run, or with what its end means, as it is stored."""
        self._interrupted.unread = run_id
        self.work()

    def work(self) -> None:
        """Begin what is requested, unless that is under way."""
        self._loop.start()

    async def submit(
        self,
        run_request: run_requests.RunRequest,
        *,
        answers: state_writer.Answers = (),
        instead_of_stuck: str = "",
        **noted: Any,
    ) -> None:
        """Take a run request; it replaces one that has not begun.

        Args:
            run_request: What is requested.
            answers: Kept in the same step.
            instead_of_stuck: A run that cannot go on ends first, with this reason: nobody could
                wait for its end. Empty: it stays.
            noted: Fields of the status that are kept in the same step.

        Raises:
            fencing.RequestAnswered: It was done, or refused, before; it is not taken.
        """
        async with self._lock:
            await self._state_writer.check_unanswered(answers)
            if instead_of_stuck and (stuck := self.stuck_run):
                # What it waits for may be gone by now: then there is nothing to end.
                await self._interrupted.abandon(stuck, run_request.by, instead_of_stuck)
            session = self._session
            if session and run_request.is_from_commit and not session.runner.run.is_final:
                run = session.runner.run
                if await release_plans.reverts(
                    self._leader.dependencies, self.place, run_request.commit, run
                ):
                    run_request = replace(run_request, reverts=run.id)
            why = self._why_waiting(run_request)
            status = replace(self.status, **noted, run_request=run_request, waiting_reason=why)
            if run_request.is_from_commit:
                status = replace(status, not_permitted=None)
            is_busy = session is not None or bool(self._interrupted.id)
            change = application_state.requested(
                self._state_writer.state, status, run_request, is_busy=is_busy
            )
            # Before it is kept: whoever is killed in between does both again.
            event = notices.Event.DEPLOYMENT_TRIGGERED
            await self._announce(event, run_request, run_request.reason)
            await self._state_writer.write(change, answers=answers)
            await self._announce_settled(change)
            await self._react()
        self.work()

    async def change(
        self,
        noted: Mapping[str, Any] = _NOTHING,
        answers: state_writer.Answers = (),
        /,
        **columns: Any,
    ) -> None:
        """Keep something new about the application: fields of its status, columns, `answers`."""
        project = self.record.project
        async with self._lock:
            changed = replace(self.status, **noted)
            await self._state_writer.keep(changed, answers, **columns)
        if project != self.record.project:
            self.follow_project()

    def follow_project(self) -> None:
        """Have the run under way go on by what the application's project says now."""
        if self._session is None:
            return
        dependencies = self._leader.dependencies
        standing = dependencies.projects().standing(self.record.project)
        clusters = dependencies.clusters.fleet.clusters
        self._session.follow_project(standing, clusters, dependencies.clock.now())

    async def amend(
        self,
        change: Callable[
            [application_statuses.ApplicationStatus], application_statuses.ApplicationStatus
        ],
        *,
        answers: state_writer.Answers = (),
    ) -> None:
        """Keep what `change` makes of how the application stands in the moment it is kept.

        With the `answers`, unless nothing changes: then nothing is answered by it.
        """
        async with self._lock:
            changed = change(self.status)
            given = answers if changed != self.status else ()
            await self._state_writer.keep(changed, given)
        self.work()

    def _permitted_now(self) -> str:
        standing = self._leader.dependencies.projects().standing(self.record.project)
        return restrictions.fingerprint(standing.project)

    async def _note_not_permitted(self, run_request: run_requests.RunRequest, under: str) -> None:
        """Have a commit's request made again once its project is not what it was; not a person's,
        who sees the answer and decides."""
        if run_request.is_from_commit and under:
            refused = application_statuses.NotPermittedCommit(run_request, under)
            await self.change({"not_permitted": refused})

    async def reconsider(self) -> None:
        """Request a commit again that its project did not permit, if that is another by now."""
        refused, status = self.status.not_permitted, self.status
        if refused is None or status.unowned or status.run_request is not None:
            return
        if self._permitted_now() in ("", refused.under):
            return
        leader = self._leader
        again = replace(
            refused.run_request,
            id=leader.new_id(),
            at=leader.dependencies.clock.now(),
            reason=f"project {self.record.project} is another than when it refused this",
        )
        await self.submit(again)

    async def revise(
        self,
        change: Callable[[application_state.ApplicationState], application_state.StateChange],
    ) -> None:
        """Keep what `change` makes of the application in the moment it is kept, if anything."""
        async with self._lock:
            known = self._state_writer.state
            made = change(known)
            if made != application_state.StateChange(known.status):
                await self._state_writer.write(made)
        self.work()

    async def pause(self, pause: state.Pause, *, answers: state_writer.Answers = ()) -> None:
        """Have nothing begin to move, the run under way included, if it can be paused.

        The run is first: whoever is killed in between does both again.
        """
        event = events.PauseAsked(pause.at, pause.by, pause.reason)
        paused = ""
        while True:
            async with self._lock:
                await self._state_writer.check_unanswered(answers)
                run_id = self.status.run if self.status.under_way else ""
                if run_id in ("", paused):
                    changed = replace(self.status, pause=pause)
                    await self._state_writer.keep(changed, answers)
                    return
            # Where it refuses, it is ending, or paused already.
            await self.request(run_id, event)
            paused = run_id

    async def resume(self, event: events.Resume, *, answers: state_writer.Answers = ()) -> None:
        """Have everything go on after a pause, the run under way first, as for a pause."""
        async with self._lock:
            await self._state_writer.check_unanswered(answers)
        if self.status.under_way:
            await self.request(self.status.run, event)
        await self.change({"pause": None}, answers)
        self.work()

    async def request(self, run_id: str, event: events.Event) -> str:
        """Ask a run for something; returns why not, or nothing.

        One that is not being carried out is taken up first. Where that cannot be done, a cancel
        ends it as it is stored.
        """
        refusal = await self._ask(run_id, event)
        if refusal is None and run_id == self._interrupted.id:
            if self.why_orphaned:
                return (
                    f"{self.why_orphaned}, so nobody can carry it out\nhint: `volary abandon"
                    f" {run_id}` ends it, and leaves its clusters as they are"
                )
            await self._loop.attempt()
            refusal = await self._ask(run_id, event)
        if refusal is not None:
            return refusal
        async with self._lock:
            if self._session is not None:
                return _BEING_RECOVERED
            refusal = await self._interrupted.request(run_id, event, self._loop.trouble)
        self.work()
        return refusal

    async def abandon(self, run_id: str, by: str, reason: str, *, answers: str = "") -> str:
        """End a run at once, as it is; its reason names what stays behind. Returns why not.

        `answers` is the id of the request that is answered by that; empty: of none.
        """
        now = self._leader.dependencies.clock.now()
        event = events.Cancel(now, by, now=True, reason=reason, id=answers)
        refusal = await self._ask(run_id, event)
        if refusal is not None:
            return refusal
        async with self._lock:
            if self._session is not None:
                return _BEING_RECOVERED
            refusal = await self._interrupted.abandon(run_id, by, reason, answers=answers)
        self.work()
        return refusal

    async def _ask(self, run_id: str, event: events.Event) -> str | None:
        """Ask what carries a run out; returns why not, or nothing; None: nobody carries it out."""
        session = self._session_of(run_id)
        if session is None:
            return None
        try:
            return await session.ask(event)
        except runners.Interrupted:
            # It may have been taken or not: the run that goes on knows.
            await self._loop.attempt()
        session = self._session_of(run_id)
        return await session.ask(event) if session is not None else None

    def _session_of(self, run_id: str) -> run_session.RunSession | None:
        session = self._session
        return session if session is not None and session.runner.run.id == run_id else None

    @property
    def unfinished_run(self) -> str:
        """The run that has not ended, carried out or not; empty: there is none."""
        session = self._session
        return session.runner.run.id if session is not None else self._interrupted.id

    @property
    def stuck_run(self) -> str:
        """The run that has not ended and cannot be carried out; empty: there is none."""
        has_trouble = self._loop.trouble is not None or bool(self.why_orphaned)
        return self._interrupted.id if has_trouble and self._session is None else ""

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Have the run under way go on where it waits for one of some clusters, which answer."""
        if self._session is not None:
            self._session.runner.report_reachable(clusters)

    async def conclude(self, run: state.Run, origin: run_origins.Origin) -> None:
        """Write down what the end of a run means for the application and its commit."""
        async with self._lock:
            await self._conclude(run, origin)

    async def _conclude(self, run: state.Run, origin: run_origins.Origin) -> None:
        change = await self._state_writer.conclude(run, origin)
        if self._session_of(run.id):
            self._session = None
        await self._announce_settled(change)

    async def forget(self, by: str, reason: str, *, answers: state_writer.Answers = ()) -> str:
        """Delete the application, nothing in any cluster; returns why not, or nothing.

        A run that nobody can carry out any more ends with it, as it is.

        Raises:
            fencing.RequestAnswered: It was done, or refused, before; nothing is deleted.
        """
        run_id = self.unfinished_run
        refusal = application_requests.why_run_keeps_it(
            run_id, "" if self._session is not None else self.why_orphaned
        )
        if refusal:
            return refusal
        async with self._lock:
            await self._state_writer.check_unanswered(answers)
            await self._interrupted.forget(by, reason)
            await self._state_writer.forget(answers=answers)
        self.work()
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
        if self._interrupted.stored is not None:
            return run_origins.from_document(self._interrupted.stored.origin).kind
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
        if self._session is None:
            run_id = self._interrupted.id
            return f"run {run_id} has to end first" if run_id else ""
        run, rule = self._session.runner.run, self._leader.rules.supersede
        return run_admission.waiting_reason(rule, self.status, run_request, run)

    async def _react(self) -> None:
        """Supersede the run under way, when the request is a reason to; else both go on."""
        await context.isolate_errors(self._supersede(), self.name, "supersedes no run now")

    async def _supersede(self) -> None:
        run_request, session = self.status.run_request, self._session
        if run_request is None or session is None:
            return
        run, rule = session.runner.run, self._leader.rules.supersede
        if reason := run_admission.why_cancel(rule, self.status, run_request, run):
            now = self._leader.dependencies.clock.now()
            event = events.Cancel(now, "Git", rollback=True, reason=reason)
            try:
                refusal = await session.ask(event)
            except runners.Interrupted as error:
                refusal = str(error)  # it is looked at again once the run goes on
            if refusal:
                _LOG.info("run %s goes on: %s", run.id, refusal)

    # How it is carried out.

    async def _go_on(self) -> Exception | None:
        """Do what is next; returns what keeps it from being done."""
        work_threads.claim(self._owner)
        if await self._is_pinned():
            return None
        async with self._lock:
            await self._interrupted.read()
        stored, is_requested = self._interrupted.stored, self.status.next_request is not None
        if stored is None and not is_requested:
            return None
        with self._leader.turns.place(self.record.project, self.work) as place:
            if stored is not None:
                place.go()
                return await self._take_up(stored)
            run_request = await self._wait_for_turn(place)
            return await self._begin(run_request) if run_request is not None else None

    async def _wait_for_turn(self, place: project_runs.Place) -> run_requests.RunRequest | None:
        """Return what is requested once the project may have one more run; None: look anew.

        What goes back or moves away does not wait: it mends something.
        """
        projects = self._leader.dependencies.projects
        while True:
            run_request = self.status.next_request
            is_other = place.project != self.record.project
            blocked = self.why_orphaned or run_admission.why_next_blocked(self.status)
            if run_request is None or is_other or blocked:
                return None
            if run_request.kind not in _TAKING_TURNS:
                place.go()
            project = projects().standing(place.project).project
            why = place.why_wait(project.limits.runs if project is not None else 0)
            if not why:
                return run_request
            async with self._lock:
                await self._state_writer.keep(replace(self.status, waiting_reason=why))
            # A project may be changed meanwhile, and have a larger limit.
            await self._loop.wait_for_change(within=_LOOK_AGAIN)
            if self._interrupted.id:
                return None

    def _note_interruption(self, _: Exception) -> None:
        """Take down that an error broke off what was under way."""
        if self._session is not None:
            self._interrupted.unread = self._session.runner.run.id
            self._session = None

    async def _note_delay(self, trouble: Exception, retry: str) -> None:
        """Write down why nothing goes on, and when it is tried again."""
        clean = ready_runs.masker(self._leader.dependencies, application=self.name).clean
        why = clean(interrupted_runs.sentence(trouble))
        async with self._lock:
            run_id, next_request = self._interrupted.id, self.status.next_request
            if run_id:
                what = f"run {run_id} cannot go on: {why}; {retry}"
                await self._state_writer.keep(self.status, reason=what)
            elif next_request is not None:
                await self._state_writer.delay(next_request, why, retry)

    async def _is_pinned(self) -> bool:
        """Wait for a change while the application is paused or orphaned; say whether it was.

        A run that was left behind goes on all the same, but not before it is known which projects
        there are.
        """
        blocked = run_admission.why_next_blocked(self.status)
        if self._interrupted.id and not self._leader.dependencies.projects().unknown:
            blocked = ""
        elif self._interrupted.id:
            blocked = self.status.unowned
        pinned = self.why_orphaned or blocked
        if pinned:
            async with self._lock:
                await self._state_writer.keep(replace(self.status, waiting_reason=pinned))
            await self._loop.wait_for_change()
        return bool(pinned)

    async def _begin(self, run_request: run_requests.RunRequest) -> Exception | None:
        """Make a request a run and carry it out; returns what keeps it from beginning."""
        if refusal := await self._planner.refusal_of(run_request):
            await self.refuse(run_request, refusal)
            return None
        before = self._permitted_now()
        try:
            told = functools.partial(self._tell_waiting, run_request)
            with spans.span("plan", within=spans.Place(run_request.id)):
                ready = await self._planner.plan(run_request, told)
        except restrictions.NotPermittedError as error:
            await self._note_not_permitted(run_request, before)
            await self.refuse(run_request, refusals.sentence(error))
            return None
        except errors.UserError as error:
            await self.refuse(run_request, refusals.sentence(error))
            return None
        except errors.TemporaryError as error:
            return error
        try:
            session = await self._start(run_request, ready)
        except fencing.RunUnfinished as error:
            # One that was kept, though nobody knew whether it was.
            self._interrupted.unread = error.run_id
            return None
        if session is not None:
            await self._carry_out(session)
        return None

    async def _keep_attempt(self, attempt: application_statuses.PlanningAttempt | None) -> None:
        """Keep how the planning of what is requested stands."""
        async with self._lock:
            if self.status.attempt != attempt:
                await self._state_writer.keep(replace(self.status, attempt=attempt))

    def _tell_waiting(self, run_request: run_requests.RunRequest, sentence: str) -> None:
        work = context.isolate_errors(
            self._note_waiting(run_request, sentence), self.name, "waits without saying so"
        )
        self._leader.group.create_task(work)

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
            # Should something break once it is kept, it is found by its id.
            self._interrupted.unread = ready.run.id
            if run_request.kind.is_release and self.status.not_permitted is not None:
                # Something else runs by now, and nobody waits for that commit any more.
                await self._state_writer.keep(replace(self.status, not_permitted=None))
            ready, version = await self._state_writer.begin(ready)
            waited = leader.dependencies.clock.now() - run_request.at
            if leader.measures is not None:
                leader.measures.begun(run_request.kind.value, waited)
            self._interrupted.unread = ""
            self._session = self._open_session(ready, version)
            return self._session

    def _open_session(self, ready: ready_runs.ReadyRun, version: int) -> run_session.RunSession:
        return run_session.open_session(
            self._leader, self.record, ready, version, project=lambda: self.record.project
        )

    async def _take_up(self, stored: run_records.StoredRun) -> Exception | None:
        """Go on with an interrupted run; returns what keeps it from going on."""
        try:
            ready = await run_session.take_up(self._leader, self.record, stored)
        except errors.VolaryError as error:
            if context.is_overtaken(error):
                raise
            return error
        async with self._lock:
            if self._interrupted.id != stored.head.id or self._interrupted.stored is not stored:
                return None  # somebody ended it, or changed it, meanwhile
            await self._state_writer.take_up(ready.run, ready.origin)
            self._interrupted.stored = None
            self._session = session = self._open_session(ready, stored.version)
        await self._carry_out(session)
        return None

    async def _carry_out(self, session: run_session.RunSession) -> None:
        self._loop.note_attempt(None)
        self.follow_project()  # it may have been changed since the run was planned
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
