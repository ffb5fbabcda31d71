"""The pure transition table of runs: `advance` takes an event and says what follows.

The rules, in words:

1.  Stages go one after another; the tasks of a stage's group in parallel, at most as
    many at once as its concurrency says; groups one after another.
2.  A stage fails at once when one of its tasks does. Then its queued tasks do not start,
    its running ones are asked to stop after their write, and how each ends is recorded. No
    task is broken off because another one failed.
3.  Once all tasks have come to rest, the policy decides: roll back, stop, or hold for a
    person, who retries, skips the failing clusters, or cancels.
4.  A timeout (of a stage, the run, an approval) is a failure, never a cancel. A task whose
    time is over is asked to stop; after the grace it is broken off; after another
    grace it counts as failed without a word, and its cluster as touched. A run that times
    out does not hold: nobody may be there. A clock that is set takes no time from anybody
    and gives none: the limits that are running move with it, windows do not.
5.  A rollback visits the clusters the run touched and no other, under a deadline of its
    own. A failing cluster does not keep the others from rolling back. The run is
    `rolled_back` only if every one of these tasks succeeded, else `failed`, naming what is
left.
6.  An unreachable cluster fails its stage, or is left out of the rest of the run, by policy. A
    cluster left out, also one skipped by a person, is named at the end: the run is `succeeded`
    only if every cluster is, else `succeeded_with_exceptions`. So it ends, too, when a task that
    succeeded left something undone. A rollback visits a left-out cluster too, if it was touched.
7.  A cancel lets running tasks finish their write, then stays as it is or rolls back, by
    choice; it can be changed until the rollback has begun. With `now` they are broken off. A
    rollback goes on through a polite cancel and is broken off by one with `now`.
8.  A paused run starts nothing new; what runs finishes. A failure ends the pause: gates and
    pauses never hold up a rollback. No approval is needed for a rollback.
9.  Limits of the run and its stage stand still while a person or a window is waited for and
    nothing runs.
10. A final run never changes. Facts that come too late are ignored; requests are refused.
11. In waves one step (a stage of a wave) follows the other. A cluster that fails within the
    budgets of its wave and of the run is left out and rolled back at once, before the step ends;
    one that cannot be reached is tried again for as long as its wave says, at intervals and as
    soon as somebody sees that it answers. One failure more than the budget allows fails the
    step, and its wave's rule decides: stop, hold, roll back the wave, or everything, the last
    wave first.
12. While a window is closed, no stage that changes a cluster starts on it (`windows`): what
    runs finishes, limits stand still when nothing does, and a rollback is never held up. Windows
    of the project, and how many clusters it lets one run change at once, are those that it has
    when something is to begin.
13. People let a run do something before its time (`requests`), by name and reason: end the soak of
    a wave, whose clusters are seen healthy once more; go through closed windows. An approval is
    withdrawn for as long as nothing came of it. What was tolerated is reported at the end.
14. A cluster is touched from the step on that starts a task there whose stage may write. Only
    that task takes it back, by saying that it wrote nothing, and only to the process that
    started it: who was lost, broken off or carried on by another process never can. Stages
    that only wait, ask or measure touch nothing.

The table says which events are taken in which status, by which function, and which
statuses may follow. After the function wrote down the event, `settle` decides everything
that follows by itself, and `commands` derives the commands from the difference.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from volary.engine.runs import state
from volary.engine.state_machine import (
    commands,
    deadlines,
    events,
    outcomes,
    requests,
    settle,
    sightings,
)
from volary.model import statuses
from volary.model.statuses import RunStatus

#: In the order they are to be carried out.
Commands = tuple[commands.Command, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What an event led to."""

    run: state.Run
    commands: Commands = ()
    #: Why a request was not taken, in one sentence; empty: it was.
    refusal: str = ""


_FAILED = (RunStatus.FAILED, RunStatus.ROLLING_BACK)
#: How a run goes on whose last stage may end without one of its clusters.
_WITHOUT_SOME = (RunStatus.SUCCEEDED_WITH_EXCEPTIONS, *_FAILED)

#: Event → what writes it down, and what a run that does not take it cannot be; empty: a fact.
_RECORDS: Mapping[type[events.Event], tuple[Callable[[state.Run, Any], requests.Answer], str]] = {
    events.Start: (outcomes.start, "started"),
    events.TakenOver: (outcomes.take_over, ""),
    events.TaskProgressed: (outcomes.progress, ""),
    events.TaskFinished: (outcomes.finish, ""),
    events.TimePassed: (deadlines.expire, ""),
    events.ClockJumped: (deadlines.postpone, ""),
    events.ClusterReachable: (outcomes.try_again, ""),
    events.ProjectChanged: (outcomes.follow_project, ""),
    events.Cancel: (requests.cancel, "cancelled"),
    events.PauseAsked: (requests.pause, "paused"),
    events.Resume: (requests.resume, "resumed"),
    events.SkipCluster: (requests.skip, "changed"),
    events.SkipStage: (requests.skip_stage, "changed"),
    events.Retry: (requests.retry, "tried again"),
    events.Approve: (requests.approve, "approved"),
    events.Reject: (requests.reject, "rejected"),
    events.Withdraw: (requests.withdraw, "unapproved"),
    events.PromoteWave: (requests.promote, "promoted"),
    events.Unfreeze: (requests.unfreeze, "unfrozen"),
}

#: Status → event → the statuses that may follow, the present one included where it may stay. What
#: is not listed is not taken.
TABLE: Mapping[RunStatus, Mapping[type[events.Event], tuple[RunStatus, ...]]] = {
    RunStatus.PLANNED: {
        # One that rolls another run back is rolling back from the start.
        events.Start: (
            RunStatus.RUNNING,
            RunStatus.WAITING,
            RunStatus.FAILED,
            RunStatus.ROLLING_BACK,
        ),
        events.ProjectChanged: (RunStatus.PLANNED,),
        events.SkipCluster: (RunStatus.PLANNED,),
        # Cancelled with a rollback, one that is nothing else stays what it is.
        events.Cancel: (RunStatus.PLANNED, RunStatus.CANCELLED),
    },
    # Requests wait for running tasks to come to rest; there may be none while it only waits
    # for clusters that could not be reached.
    RunStatus.RUNNING: {
        # Waiting: for a window that closed meanwhile, here and below.
        events.TakenOver: (RunStatus.RUNNING, RunStatus.WAITING),
        events.TaskProgressed: (RunStatus.RUNNING,),
        events.TaskFinished: (
            RunStatus.RUNNING,
            RunStatus.WAITING,
            RunStatus.SUCCEEDED,
            RunStatus.CANCELLED,
            *_WITHOUT_SOME,
        ),
        events.TimePassed: (
            RunStatus.RUNNING,
            RunStatus.WAITING,
            RunStatus.CANCELLED,
            *_WITHOUT_SOME,
        ),
        events.ClusterReachable: (RunStatus.RUNNING, RunStatus.WAITING),
        events.ClockJumped: (RunStatus.RUNNING, RunStatus.WAITING),
        events.ProjectChanged: (RunStatus.RUNNING, RunStatus.WAITING),
        events.Cancel: (RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.ROLLING_BACK),
        events.PauseAsked: (RunStatus.WAITING,),
        events.SkipCluster: (RunStatus.RUNNING, RunStatus.WAITING, *_WITHOUT_SOME),
        events.SkipStage: (
            RunStatus.RUNNING,
            RunStatus.WAITING,
            RunStatus.SUCCEEDED,
            *_WITHOUT_SOME,
        ),
        # Some clusters may wait for a window, or have begun, while others go on.
        events.PromoteWave: (
            RunStatus.RUNNING,
            RunStatus.WAITING,
            RunStatus.SUCCEEDED,
            RunStatus.SUCCEEDED_WITH_EXCEPTIONS,
        ),
        events.Unfreeze: (RunStatus.RUNNING,),
        # Only to be refused: it comes too late.
        events.Withdraw: (RunStatus.RUNNING,),
    },
    # Waiting for a person: paused (tasks may still be finishing), held, or asked to approve; or
    # for a window.
    RunStatus.WAITING: {
        events.TakenOver: (RunStatus.WAITING, RunStatus.RUNNING),
        events.TaskProgressed: (RunStatus.WAITING,),
        events.TaskFinished: (
            RunStatus.WAITING,
            RunStatus.RUNNING,
            RunStatus.SUCCEEDED,
            *_WITHOUT_SOME,
        ),
        events.TimePassed: (RunStatus.WAITING, RunStatus.RUNNING, *_WITHOUT_SOME),
        events.ClusterReachable: (RunStatus.WAITING, RunStatus.RUNNING),
        events.ClockJumped: (RunStatus.WAITING, RunStatus.RUNNING),
        events.ProjectChanged: (RunStatus.WAITING, RunStatus.RUNNING),
        events.Cancel: (RunStatus.RUNNING, RunStatus.CANCELLED, RunStatus.ROLLING_BACK),
        events.PauseAsked: (RunStatus.WAITING,),
        events.Resume: (RunStatus.RUNNING, RunStatus.WAITING),
        events.SkipCluster: (RunStatus.WAITING, RunStatus.RUNNING, *_WITHOUT_SOME),
        events.SkipStage: (
            RunStatus.WAITING,
            RunStatus.RUNNING,
            RunStatus.SUCCEEDED,
            *_WITHOUT_SOME,
        ),
        events.Retry: (RunStatus.RUNNING, RunStatus.WAITING),
        events.Approve: (RunStatus.RUNNING, RunStatus.WAITING),
        events.Reject: (RunStatus.WAITING, *_FAILED),
        events.Withdraw: (RunStatus.WAITING,),
        events.PromoteWave: (RunStatus.WAITING,),
        events.Unfreeze: (RunStatus.RUNNING, RunStatus.WAITING),
    },
    RunStatus.ROLLING_BACK: {
        events.TakenOver: (RunStatus.ROLLING_BACK,),
        events.TaskProgressed: (RunStatus.ROLLING_BACK,),
        events.TaskFinished: (
            RunStatus.ROLLING_BACK,
            RunStatus.ROLLED_BACK,
            # Of one that takes another run back.
            RunStatus.SUCCEEDED,
            RunStatus.FAILED,
        ),
        events.TimePassed: (RunStatus.ROLLING_BACK, RunStatus.FAILED),
        events.ClockJumped: (RunStatus.ROLLING_BACK,),
        events.ProjectChanged: (RunStatus.ROLLING_BACK,),
        events.Cancel: (RunStatus.ROLLING_BACK,),
        events.SkipCluster: (RunStatus.ROLLING_BACK,),
    },
}


def advance(run: state.Run, event: events.Event) -> Step:
    """Take `event` and return the new run with what has to be done.

    A request that is not possible now comes back as a refusal, with the run as it was.

    Raises:
        AssertionError: The rules led to a status the table does not allow: a bug.
    """
    after, refusal = _follow(run, event)
    return Step(after, commands.between(run, after), refusal)


def advance_all(
    run: state.Run, happened: Iterable[events.Event]
) -> tuple[tuple[events.Event, ...], Step]:
    """Take events one after another; return those that changed something, and one step.

    The step's commands are what is to be done after all of them: nobody hears of a command
    that a later event of the same lot has settled. Its refusal is that of the last event.
    """
    before, taken, refusal = run, [], ""
    for event in happened:
        after, refusal = _follow(run, event)
        if after is not run:
            taken.append(event)
        run = after
    return tuple(taken), Step(run, commands.between(before, run), refusal)


def _follow(run: state.Run, event: events.Event) -> tuple[state.Run, str]:
    """Return the run after `event`, and why a request was not taken."""
    leads_to = TABLE.get(run.status, {}).get(type(event))
    record, what = _RECORDS[type(event)]
    if isinstance(event, events.Request) and not run.is_final:
        stale = sightings.why_stale(run, event)
        if stale:
            return run, stale
    if leads_to is None:
        # A fact that merely comes too late needs no words.
        return run, f"a run that is {run.status.value} cannot be {what}" if what else ""
    answer = record(run, event)
    if isinstance(answer, requests.Refusal):
        return run, answer.reason
    after = settle.settle(answer, event.at)
    if after is run:
        return run, ""
    if after.status not in leads_to:
        raise AssertionError(f"{run.status} must not become {after.status} by {event}")
    return sightings.revise(run, after), ""


def outstanding(run: state.Run) -> Commands:
    """Return the commands a runner carries out when it takes over `run` as stored."""
    return commands.between(None, run)


def abandon(
    run: state.Run, by: str, reason: str, now: datetime, *, request: str = ""
) -> tuple[tuple[events.Event, ...], Step]:
    """End a run that nobody carries out, as it was stored last.

    Return what happened to it, and the step, whose commands are nobody's. `request` is the id of
    the stored request that is answered by that; empty: of none.
    """
    left = statuses.Outcome(
        statuses.TaskStatus.CANCELLED, "nobody carries it out any more", (), True
    )
    happened: list[events.Event] = [
        events.Cancel(now, by, rollback=False, now=True, reason=reason, id=request),
        *(
            events.TaskFinished(now, run.current.id, task.target, task.attempt, left)
            for task in run.current.running
        ),
    ]
    return advance_all(run, happened)
