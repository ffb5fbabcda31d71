"""Steps of runs that nobody carries out: how one ends by a person's word, and the way back.

What a run needs may be gone for good (its commit was rewritten away, its record is damaged), and
so nothing is asked of sources or clusters here. Pure.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from volary.controller.status import run_origins, run_requests
from volary.engine.execution import runners
from volary.engine.observers import feed, observer_events
from volary.engine.persistence import codec, transitions
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.model import errors, phrases, statuses
from volary.model.runs import run_plans, run_records

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step of a run as it is stored."""

    before: state.Run
    origin: run_origins.Origin
    #: The version of the run before it.
    version: int
    record: runners.StepRecord


def cancelled(stored: run_records.StoredRun, event: events.Cancel) -> tuple[StoredStep | None, str]:
    """Return the step that cancels a run: it does what that takes once it goes on.

    None: there is none, and why.
    """
    run = codec.read_run(stored)
    step = machine.advance(run, event)
    if step.refusal or step.run is run:
        return None, step.refusal
    return _stored_step(stored, run, (event,), step.run), ""


def abandoned(
    stored: run_records.StoredRun, by: str, reason: str, now: datetime, request: str
) -> StoredStep | None:
    """Return the step that ends a run as it is, naming what stays behind.

    None: its state makes no sense. `request` is the id of what is answered by that, or empty.
    """
    try:
        run = codec.read_run(stored)
        happened, step = machine.abandon(run, by, reason, now, request=request)
        if step.run.is_final:
            return _stored_step(stored, run, happened, step.run)
        _LOG.error("run %s is abandoned and yet %s", run.id, step.run.status.value)
    # Whatever is wrong with a run, a person can end it.
    except Exception:  # noqa: BLE001
        _LOG.exception("run %s is abandoned without its state", stored.head.id)
    return None


def _stored_step(
    stored: run_records.StoredRun,
    before: state.Run,
    happened: Sequence[events.Event],
    after: state.Run,
) -> StoredStep:
    told = observer_events.between(before, after, happened[-1].at)
    record = runners.StepRecord(tuple(happened), after, told)
    return StoredStep(before, run_origins.from_document(stored.origin), stored.version, record)


def without_state(
    stored: run_records.StoredRun, by: str, reason: str, now: datetime, request: str
) -> run_records.Transition:
    """Return the step that ends a run whose state makes no sense, see `abandoned`.

    What its tasks say of clusters is named.
    """
    begun = tuple(dict.fromkeys(task.target for task in stored.tasks if task.attempt))
    left = f"what it did on {phrases.join_names(begun)} stays there" if begun else "nothing began"
    who = f"abandoned by {by}" + (f": {reason}" if reason else "")
    said = f"{who}; what is stored of run {stored.head.id} is damaged; {left}"
    status = statuses.RunStatus.CANCELLED
    end = feed.RunFinished(at=now, run=stored.head.id, status=status, reason=said, touched=begun)
    return run_records.Transition(
        head=replace(stored.head, status=status, reason=said, finished=now),
        expected_version=stored.version,
        at=now,
        feed=(transitions.event_record(end),),
        answers=(run_records.RequestAnswer(request, now),) if request else (),
    )


def way_back(
    stored: run_records.StoredRun, run_id: str, by: str, now: datetime
) -> run_requests.RunRequest | None:
    """Return the request that brings clusters back to what they ran before; None: there is none.

    It is a release of that commit, so it needs nothing of the run itself.
    """
    try:
        run = codec.read_run(stored)
    except errors.PermanentError:
        return None
    commits = {run.running_commit_of(name) for name in run.touched}
    if len(commits) != 1 or "" in commits:
        return None
    commit = commits.pop()
    return run_requests.RunRequest(
        id=run_id,
        commit=commit,
        kind=run_requests.KindName.ROLLBACK_TO_COMMIT,
        reason=f"{by} rolls back to {commit[:7]} from run {run.id}",
        at=now,
        by=by,
        strategy=run_plans.Strategy.QUICK_SYNC,
    )
