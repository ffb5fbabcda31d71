"""A run under way with everything that keeps what it does."""

from dataclasses import dataclass

from volary.controller import notifications
from volary.controller.leadership import context
from volary.controller.persistence import (
    analysis_writer,
    journal,
    log_writer,
    redaction,
    task_state,
)
from volary.controller.runs import releases
from volary.engine.execution import runners
from volary.store import records


@dataclass(frozen=True, slots=True)
class RunSession:
    """A run under way."""

    runner: runners.Runner
    log: log_writer.LogWriter
    cases: analysis_writer.AnalysisWriter


def open_session(
    tenure: context.LeaderContext,
    known: records.ApplicationRecord,
    release: releases.Release,
    version: int,
) -> RunSession:
    """Return what carries a release out, and keeps each step from the stored `version` on."""
    log = log_writer.LogWriter(tenure.store, fence=tenure.fence)
    cases = analysis_writer.AnalysisWriter(tenure.store, fence=tenure.fence)
    release.performer.keeper = task_state.TaskStateStore(tenure.store, tenure.fence)
    told = notifications.observer(tenure.notifier, release, known)
    keeper = journal.StoreJournal(
        tenure.store,
        release.run,
        version,
        fence=tenure.fence,
        masker=release.masker,
        kept=tenure.pulse.beat,
    )
    runner = runners.Runner(
        release.run,
        release.performer,
        clock=tenure.desk.clock,
        keeper=keeper,
        observers=(redaction.RedactingObserver(release.masker, (log, cases, told)),),
    )
    return RunSession(runner, log, cases)
