"""A run under way with everything that keeps what it does."""

from dataclasses import dataclass

from volary.controller import notifications
from volary.controller.leadership import context
from volary.controller.persistence import (
    batch_writers,
    journal,
    redaction,
    task_state,
)
from volary.controller.runs import ready_runs
from volary.controller.status import run_requests
from volary.engine.execution import runners
from volary.store import records


@dataclass(frozen=True, slots=True)
class RunSession:
    """A run under way."""

    kind: run_requests.KindName
    runner: runners.Runner
    log: batch_writers.LogWriter
    analyses: batch_writers.AnalysisWriter


def open_session(
    leader: context.LeaderContext,
    known: records.ApplicationRecord,
    release: ready_runs.ReadyRun,
    version: int,
) -> RunSession:
    """Return what carries a release out, and keeps each step from the stored `version` on."""
    log = batch_writers.LogWriter(leader.store, fence=leader.fence)
    analyses = batch_writers.AnalysisWriter(leader.store, fence=leader.fence)
    release.performer.keeper = task_state.TaskStateStore(leader.store, leader.fence)
    told = notifications.observer(leader.notifier, release, known)
    keeper = journal.StoreJournal(
        leader.store,
        release.run,
        version,
        fence=leader.fence,
        masker=release.masker,
        kept=leader.change_signal.notify_all,
    )
    runner = runners.Runner(
        release.run,
        release.performer,
        clock=leader.dependencies.clock,
        keeper=keeper,
        observers=(redaction.RedactingObserver(release.masker, (log, analyses, told)),),
    )
    return RunSession(release.origin.kind, runner, log, analyses)
