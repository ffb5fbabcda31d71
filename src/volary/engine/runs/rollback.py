"""What a run that has ended left on its clusters, and rolling it back as another run.

Waves, budgets and policies leave clusters on different releases: what one of them goes back
to in the next run is what it runs, not what the others run.

In a rollback each cluster goes to what it ran before. The new run begins where the old one ended,
with what it did to each cluster, and is on its way back from the start. So the rules of every
rollback hold for it: the last wave first, each with its own limit, no gates and no windows, a
failing cluster does not keep the others, everything under one deadline. It has `succeeded` only
if every cluster is proven back.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from volary.engine.runs import state
from volary.model import statuses
from volary.model.pipeline.stage_kinds import stage_kind

_GOOD = (statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.SKIPPED)


def clusters_with_release(run: state.Run) -> tuple[str, ...]:
    """Return the clusters that are proven to hold the run's commit, in order.

    A cluster that was promoted, for which nothing failed, and that was not rolled back. In
    waves it has to have been seen healthy at the end of its wave.
    """
    back = {task.target for task in run.rollback.tasks} if run.rollback else set()
    return tuple(
        cluster.name
        for cluster in run.clusters
        if not cluster.left_out and cluster.name not in back and _holds(run, cluster.name)
    )


def _holds(run: state.Run, name: str) -> bool:
    pairs = [(stage, task) for stage in run.stages if (task := stage.task(name)) is not None]
    done = statuses.TaskStatus.SUCCEEDED
    promoted = any(
        _is_needed(run, stage.stage.kind) and task.status is done for stage, task in pairs
    )
    begun = [task for _, task in pairs if task.attempt or task.is_final]
    failed = any(task.status not in _GOOD and task.started is not None for task in begun)
    return promoted and not failed


def clusters_promoted(run: state.Run) -> tuple[str, ...]:
    """Return the clusters whose users have the run's commit, as far as the run has got by now.

    What is shown while it is under way. It proves nothing: what comes after it may fail yet.
    """
    back = {task.target for task in run.rollback.tasks} if run.rollback else set()
    return tuple(
        cluster.name
        for cluster in run.clusters
        if not (cluster.left_out or cluster.rolled_back or cluster.name in back)
        # A run that takes another one back begins with what that one did.
        and (cluster.touched or not run.rollback_of)
        and any(
            task.status is statuses.TaskStatus.SUCCEEDED
            for stage in run.stages
            if stage.stage.kind.promotes and (task := stage.task(cluster.name)) is not None
        )
    )


def _is_needed(run: state.Run, kind: stage_kind.StageKind[Any]) -> bool:
    """Say whether a cluster holds the release once it has passed such a stage."""
    return kind.proves_wave if run.waves else kind.promotes


def clusters_left(run: state.Run) -> tuple[str, ...]:
    """Return the clusters that a run which has ended wrote to, and that are not back since."""
    back = _rolled_back(run)
    return tuple(name for name in run.touched if name not in back)


def would_change(run: state.Run) -> bool:
    """Say whether taking a run back would change anything."""
    return any(run.running_commit_of(name) != run.commit for name in clusters_left(run))


def clusters_rolled_back(run: state.Run) -> tuple[str, ...]:
    """Return the clusters that a run rolled back, in its order."""
    back = _rolled_back(run)
    return tuple(name for name in run.targets if name in back)


def clusters_silent(run: state.Run) -> tuple[str, ...]:
    """Return the clusters that did not answer when they were to be rolled back."""
    tasks = run.rollback.tasks if run.rollback else ()
    return tuple(task.target for task in tasks if task.status is statuses.TaskStatus.UNREACHABLE)


def _rolled_back(run: state.Run) -> frozenset[str]:
    tasks = run.rollback.tasks if run.rollback else ()
    return frozenset(task.target for task in tasks if task.status is statuses.TaskStatus.SUCCEEDED)


def rollback_run(
    run: state.Run, run_id: str, why: str, at: datetime, *, holders: Collection[str] = ()
) -> state.Run:
    """Return the planned run that takes `run` back.

    Args:
        run: It has ended, and there are clusters `left`.
        run_id: Of the new run.
        why: A clause: ``rolled back by ana``.
        at: When it was planned.
        holders: Clusters of the run that are known to have got its release since.
    """
    still = {*clusters_left(run), *holders}
    return replace(
        run,
        id=run_id,
        rollback_of=run.id,
        clusters=tuple(
            replace(
                cluster,
                touched=cluster.name in still,
                rolled_back=False,
                left_out="",
                left_out_for=state.LeftOut.NOT,
            )
            for cluster in run.clusters
        ),
        status=statuses.RunStatus.PLANNED,
        reason="planned",
        rollback=None,
        created=at,
        started=None,
        finished=None,
        deadline=None,
        pause=None,
        ending=state.Ending(statuses.RunStatus.CANCELLED, why, rollback=True),
        held=False,
        clock_stopped=None,
        unfrozen=None,
    )


def commits_after(run: state.Run) -> dict[str, str]:
    """Return which commit each cluster holds after a run that took another one back has ended.

    One that is not verified as rolled back is left out: nobody knows.
    """
    lost = set(clusters_left(run))
    return {name: run.running_commit_of(name) for name in run.targets if name not in lost}
