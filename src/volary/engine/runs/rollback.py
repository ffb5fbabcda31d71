"""Rolling back a run that has ended, as another run: each cluster goes to what it ran before.

The new run begins where the old one ended, with what it did to each cluster, and is on its way
back from the start. So the rules of every rollback hold for it: the last wave first, each with
its own limit, no gates and no windows, a failing cluster does not keep the others, everything
under one deadline. It has `succeeded` only if every cluster is proven back.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from volary.engine.runs import state
from volary.model import statuses


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
                cluster, touched=cluster.name in still, left_out="", left_out_for=state.LeftOut.NOT
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
