"""Which clusters hold the release of a run that has ended without succeeding everywhere.

Waves, budgets and policies leave clusters on different releases: what one of them goes back
to in the next run is what it runs, not what the others run. Pure; asked when a run ends.
"""

from typing import Any

from volary.engine.runs import state
from volary.model import statuses
from volary.model.pipeline.stage_kinds import (
    stage_kind,
)

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


def _is_needed(run: state.Run, kind: stage_kind.StageKind[Any]) -> bool:
    """Say whether a cluster holds the release once it has passed such a stage."""
    return kind.proves_wave if run.waves else kind.promotes
