"""Brings a run to rest after something happened: decides all that follows by itself.

Each rule looks at the whole run and returns it changed, or the very same value when
it has nothing to say. They are asked in order, again and again, until none of them
changes anything. So what follows never depends on which event came, only on the
state; a run read from a store goes on in the same way.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import state
from volary.engine.state_machine import budgets, deadlines, ending, scheduling, windows
from volary.model import statuses

Rule = Callable[[state.Run, datetime], state.Run]


def settle(run: state.Run, now: datetime) -> state.Run:
    """Return `run` with everything decided that can be decided at `now`."""
    # One that takes another run back is ending from the beginning.
    has_no_end = run.ending is None or (run.rollback_of and run.ending.rollback)
    if run.status is statuses.RunStatus.PLANNED and has_no_end:
        return run
    changed = True
    while changed and not run.is_final:
        before = run
        for rule in RULES:
            run = rule(run, now)
            if run.is_final:
                return run
        changed = run is not before
    return run


def label(run: state.Run, _: datetime) -> state.Run:
    """Give the run the status and reason that fit what it is doing."""
    status = _status(run)
    reason = ending.reason(run) if run.ending else scheduling.reason(run)
    if (status, reason) == (run.status, run.reason):
        return run
    return replace(run, status=status, reason=reason)


def _status(run: state.Run) -> statuses.RunStatus:
    if run.rollback:
        return statuses.RunStatus.ROLLING_BACK
    if deadlines.is_waiting_for_person(run) or deadlines.is_waiting_for_window(run):
        return statuses.RunStatus.WAITING
    return statuses.RunStatus.RUNNING


#: In this order: windows and the clock first, then failures, then the way out, then the way on.
RULES: tuple[Rule, ...] = (
    windows.update_openings,
    deadlines.suspend,
    budgets.tolerate,
    ending.fail_stage,
    ending.stop_running,
    ending.hold,
    ending.end,
    ending.drop_queued,
    ending.begin_rollback,
    ending.finish_rollback,
    scheduling.skip_left_out,
    scheduling.request_approval,
    scheduling.begin_stage,
    scheduling.start_tasks,
    scheduling.complete_stage,
    label,
)
