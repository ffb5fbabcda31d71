"""Which clusters hold the release of a run that has ended without succeeding everywhere.

Waves, budgets and policies leave clusters on different releases: what one of them goes back
to in the next run is what it runs, not what the others run. Pure; asked when a run ends.
"""

from volary.engine import state
from volary.model import stage as stages
from volary.model import status as words

_PROMOTING = frozenset(
    {
        stages.StageName.SYNC,
        stages.StageName.PRIMARY_ROLLOUT,
        stages.StageName.BLUE_GREEN,
        stages.StageName.WAVE_GATE,
    }
)
_GOOD = (words.TaskStatus.SUCCEEDED, words.TaskStatus.SKIPPED)


def kept(run: state.Run) -> tuple[str, ...]:
    """Return the clusters that are proven to hold the run's commit, in order.

    A cluster that was promoted, for which nothing failed, and that was not taken back. In
    waves it has to have been seen healthy at the end of its wave.
    """
    back = {task.target for task in run.rollback.tasks} if run.rollback else set()
    return tuple(
        cluster.name
        for cluster in run.clusters
        if not cluster.left_out and cluster.name not in back and _holds(run, cluster.name)
    )


def _holds(run: state.Run, name: str) -> bool:
    found = [(each, task) for each in run.stages if (task := each.task(name)) is not None]
    needed = {stages.StageName.WAVE_GATE} if run.waves else _PROMOTING
    done = words.TaskStatus.SUCCEEDED
    promoted = any(each.stage.name in needed and task.status is done for each, task in found)
    begun = [task for _, task in found if task.attempt or task.is_final]
    failed = any(task.status not in _GOOD and task.started is not None for task in begun)
    return promoted and not failed
