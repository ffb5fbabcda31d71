"""A run, made ready and then under way with everything that keeps what it does."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from volary.controller import notifications
from volary.controller.leadership import context
from volary.controller.persistence import batch_writers, journal, task_state
from volary.controller.runs import project_rules, ready_runs
from volary.controller.status import (
    application_identity,
    run_origins,
)
from volary.controller.telemetry import run_metrics, run_spans
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.observers import redaction as event_redaction
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.state_machine import events
from volary.model import errors
from volary.model.fleet import fleets
from volary.model.runs import run_records
from volary.store import records
from volary.telemetry import log_fields, spans
from volary.tenancy import membership

#: Seconds a run may take to answer a request before it counts as stuck.
_ANSWER_SECONDS = 30.0
#: Who leaves out clusters that are gone.
_FLEET = "the fleet file"


@dataclass(frozen=True, slots=True)
class RunSession:
    """A run under way."""

    origin: run_origins.Origin
    runner: runners.AnyRunner
    log: batch_writers.LogWriter
    analyses: batch_writers.AnalysisWriter
    audit: batch_writers.AuditWriter
    performer: ready_runs.Performer
    measures: run_metrics.RunMetrics | None

    async def carry_out(self) -> state.Run:
        """Carry the run out to its end and return it, with all that was said written down."""
        run = self.runner.run
        with log_fields.bound(application=run.application, run=run.id):
            ended = await self._carry_out()
        kind = self.origin.kind.value
        if self.measures is not None:
            self.measures.ended(kind, ended)
        for finished in run_spans.of_run(kind, ended):
            spans.tell(finished)
        return ended

    async def _carry_out(self) -> state.Run:
        async with asyncio.TaskGroup() as group:
            writers = (self.log, self.analyses, self.audit)
            writing = [group.create_task(writer.keep_writing()) for writer in writers]
            ended = await self.runner.carry_out()
            for task in writing:
                task.cancel()
        for writer in writers:
            await writer.flush()
        await self.performer.conclude(ended)
        return ended

    def follow_project(
        self, standing: membership.Standing, clusters: Sequence[fleets.Cluster], now: datetime
    ) -> None:
        """Have the run go on by what its project says now of windows and clusters at once."""
        run, kind = self.runner.run, self.origin.kind
        changed = project_rules.change(run, kind, standing, clusters, now)
        if changed is not None:
            self.runner.submit(changed)

    async def ask(self, event: events.Event) -> str:
        """Ask the run for something; returns why not, or nothing."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self.runner.request(event)
        except TimeoutError:
            return "the run does not answer; it waits for the database, or has stopped"


async def take_up(
    leader: context.LeaderContext,
    known: records.ApplicationRecord,
    stored: run_records.StoredRun,
) -> ready_runs.ReadyRun:
    """Return a run that an earlier process left behind, ready to go on.

    Raises:
        errors.VolaryError: It cannot go on, or not yet.
    """
    standing = leader.dependencies.projects().standing(known.project)
    if standing.is_temporary:
        raise errors.TemporaryError(standing.reason)
    dependencies = leader.dependencies.acting_for(known.project)
    origin = application_identity.with_current_repository(
        run_origins.from_document(stored.origin), known, dependencies.addresses
    )
    run = project_rules.applied(
        codec.read_run(stored),
        origin.kind,
        standing,
        dependencies.clusters.fleet.clusters,
        dependencies.clock.now(),
    )
    then = await ready_runs.read_inputs(leader.store, stored)
    async with leader.planners.slot():
        return await ready_runs.take_up(dependencies, known.name, run, origin, then)


def open_session(
    leader: context.LeaderContext,
    known: records.ApplicationRecord,
    release: ready_runs.ReadyRun,
    version: int,
    *,
    observers: Sequence[feed.Observer] = (),
    project: Callable[[], str] | None = None,
) -> RunSession:
    """Return what carries a release out, and keeps each step from the stored `version` on.

    Args:
        leader: What is shared while this process holds the lease.
        known: The application's record.
        release: The run.
        version: Of the run, as it was kept last.
        observers: Told what happens, without secrets, besides those that write it down.
        project: Returns the application's project as it is known now; None: that of `known`.
    """
    projects = leader.dependencies.projects
    release.performer.standing = lambda: projects().standing(
        project() if project is not None else known.project
    )
    log = batch_writers.LogWriter(leader.store, fence=leader.fence)
    analyses = batch_writers.AnalysisWriter(leader.store, fence=leader.fence)
    release.performer.keeper = task_state.TaskStateStore(leader.store, leader.fence, known.name)
    origin = release.origin
    by = origin.by or origin.author
    audit = batch_writers.AuditWriter(leader.store, by=by, application=known.name)
    keeper = journal.StoreJournal(
        leader.store,
        release.run,
        version,
        fence=leader.fence,
        masker=release.masker,
        kept=leader.change_signal.notify_all,
        notifier=notifications.of_run(leader.notifier, release, known),
    )
    runner = leader.engine.runner(
        release,
        keeper,
        leader.dependencies.clock,
        (event_redaction.RedactingObserver(release.masker, (log, analyses, audit, *observers)),),
    )
    release.performer.leave_out = lambda name, why: runner.submit(
        events.SkipCluster(
            leader.dependencies.clock.now(), _FLEET, name, f"{name} left it, and {why}"
        )
    )
    return RunSession(origin, runner, log, analyses, audit, release.performer, leader.measures)
