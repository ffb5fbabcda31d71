"""Ends a run that nobody can carry out any more, at once and without touching a cluster.

The way out for a run whose files are out of reach for good: whoever would have to stop a task or
take it back does not know what it was about. So nothing is stopped and nothing goes back; what a
task has done by now stays, and its cluster counts as touched.
"""

from datetime import datetime

from volary.engine import events, machine, state
from volary.model import outcome
from volary.model import status as words


def abandon(
    run: state.Run, by: str, reason: str, now: datetime
) -> tuple[tuple[events.Event, ...], machine.Step]:
    """End a run; returns what happened to it, and the step, whose commands are nobody's.

    Args:
        run: As it was kept last; nobody carries it out.
        by: Who wants it.
        reason: Why, one sentence.
        now: When.
    """
    left = outcome.Outcome(words.TaskStatus.CANCELLED, "nobody carries it out any more", (), True)
    happened: list[events.Event] = [
        events.Cancel(now, by, rollback=False, now=True, reason=reason),
        *(
            events.TaskFinished(now, run.current.id, task.target, task.attempt, left)
            for task in run.current.running
        ),
    ]
    return machine.advance_all(run, happened)
