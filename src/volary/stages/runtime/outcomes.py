"""Carrying a stage out on one cluster, and how that ended.

Whatever goes wrong on the way becomes an `Outcome` here, in one place, together with what had
been done by then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from volary.clusters.api import server_warnings
from volary.clusters.apply import apply_errors
from volary.model import errors, statuses
from volary.stages.runtime import contexts, execution

#: What a stage does; returns the sentence that says what was observed at the end.
Run = Callable[[execution.Work], Awaitable[str]]


async def carry_out(context: contexts.StageContext, run: Run) -> statuses.Outcome:
    """Run a stage to its end and say how it ended; a cluster's failure is no exception."""
    work = execution.Work(
        context, asyncio.get_running_loop().time() + context.timeout.total_seconds()
    )
    context.rendezvous.join(context.target)
    try:
        with server_warnings.told_to(work.hear_warning):
            reason = await run(work)
    except execution.StoppedError as stopped:
        return _outcome(work, statuses.TaskStatus.CANCELLED, str(stopped))
    except errors.VolaryError as error:
        return _failed(work, error)
    finally:
        context.rendezvous.leave(context.target)
    done = _outcome(work, statuses.TaskStatus.SUCCEEDED, reason)
    return replace(done, exception="; ".join(dict.fromkeys(work.exceptions)))


def _failed(work: execution.Work, error: errors.VolaryError) -> statuses.Outcome:
    """Return the outcome of a stage that ended in `error`, with every problem as detail."""
    gone = apply_errors.unreachable(error)
    if gone is not None:
        return _outcome(work, statuses.TaskStatus.UNREACHABLE, str(gone))
    problems = (
        error.problems if isinstance(error, errors.UserError | apply_errors.ApplyError) else ()
    )
    for problem in errors.hints_once(problems):
        work.lines.extend(_lines(problem, alone=len(problems) == 1))
    failed = _outcome(work, statuses.TaskStatus.FAILED, _reason(error, problems))
    return replace(failed, refused=isinstance(error, execution.RefusedError))


def _reason(error: errors.VolaryError, problems: Sequence[errors.Problem]) -> str:
    if not problems:
        return str(error)
    first, more = problems[0].message, len(problems) - 1
    if not more:
        return first
    return f"{first}; and {more} more problem{'s' if more > 1 else ''}"


def _lines(problem: errors.Problem, *, alone: bool) -> list[str]:
    """Return where a problem is and what to do; the message too unless it is the reason."""
    where = str(problem.where)
    said = [f"at {where}"] if alone and where else []
    lines = said if alone else [f"{where}: {problem.message}" if where else problem.message]
    return [*lines, f"hint: {problem.hint}"] if problem.hint else lines


def _outcome(work: execution.Work, ended: statuses.TaskStatus, reason: str) -> statuses.Outcome:
    return statuses.Outcome(ended, reason, tuple(work.lines), work.touched)
