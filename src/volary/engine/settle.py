"""Brings a run to rest after something happened: decides all that follows by itself.

Each rule looks at the whole run and returns it changed, or the very same value when
it has nothing to say. They are asked in order, again and again, until none of them
changes anything. So what follows never depends on which event came, only on the
state; a run read from a store goes on in the same way.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from volary.engine import budgets, ending, forward, limits, openings, state
from volary.model import status as words

Rule = Callable[[state.Run, datetime], state.Run]


def settle(run: state.Run, now: datetime) -> state.Run:
    """Return `run` with everything decided that can be decided at `now`."""
    goes_back = bool(run.undoes and run.ending and run.ending.rollback)
    if run.status is words.RunStatus.PLANNED and (run.ending is None or goes_back):
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
    reason = ending.reason(run) if run.ending else forward.reason(run)
    if (status, reason) == (run.status, run.reason):
        return run
    return replace(run, status=status, reason=reason)


def _status(run: state.Run) -> words.RunStatus:
    if run.rollback:
        return words.RunStatus.ROLLING_BACK
    if limits.waits_for_person(run) or limits.waits_for_window(run):
        return words.RunStatus.WAITING
    return words.RunStatus.RUNNING


#: In this order: windows and the clock first, then failures, then the way out, then the way on.
RULES: tuple[Rule, ...] = (
    openings.watch,
    limits.turn_clock,
    budgets.tolerate,
    ending.fail_stage,
    ending.stop_running,
    ending.hold,
    ending.end,
    ending.drop_queued,
    ending.begin_rollback,
    ending.finish_rollback,
    forward.pass_over,
    forward.ask_approval,
    forward.begin_stage,
    forward.start_tasks,
    forward.complete_stage,
    label,
)
