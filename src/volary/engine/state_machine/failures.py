"""What makes a stage or run a failure, or less than a success, and the sentence about it."""

from collections.abc import Iterable, Mapping

from volary.engine.runs import counters, state
from volary.model import phrases

_MOST_REASONS = 3


def of_stage(run: state.Run) -> tuple[state.TaskState, ...]:
    """Return the tasks that make the current stage a failure, in order.

    Cancelled ones are not among them: they were stopped because of another failure
    (a task that stops by itself is recorded as failed). Nor are those of clusters
    the run goes on without.
    """
    without = counters.clusters(run.clusters).left_out
    return tuple(
        group.tasks[place]
        for group in run.current.groups
        for place in counters.of(group.tasks).failing
        if run.rollback or group.tasks[place].target not in without
    )


def sentence(failed: tuple[state.TaskState, ...]) -> str:
    """Return ``us and eu: the image cannot be pulled; asia: …``, at most three reasons."""
    return _by_reason((task.target, task.reason or task.status.value) for task in failed)


def cause(run: state.Run) -> str:
    """Return why the run ends, as a clause: what was asked, or which stage failed of what."""
    if run.ending and run.ending.reason:
        return run.ending.reason
    stage = run.stages[run.position]
    return f"{stage.stage.name} failed: {stage.reason}"


def left_out(run: state.Run) -> str:
    """Return ``eu (unreachable: …)`` for each cluster the run went on without."""
    return phrases.join_names(
        [f"{cluster.name} ({cluster.left_out})" for cluster in run.clusters if cluster.left_out]
    )


def undone(run: state.Run) -> Mapping[str, str]:
    """Return what stages left undone on clusters that the run went on with, by their names."""
    without = counters.clusters(run.clusters).left_out
    said: dict[str, dict[str, None]] = {}
    for stage in run.stages:
        for task in stage.tasks:
            if task.exception and task.target not in without:
                said.setdefault(task.target, {})[task.exception] = None
    return {name: "; ".join(said[name]) for name in run.targets if name in said}


def undone_sentence(run: state.Run) -> str:
    """Return ``us and eu: nothing is pruned: …``, each reason once; empty: nothing was left."""
    return _by_reason(undone(run).items())


def _by_reason(said: Iterable[tuple[str, str]]) -> str:
    """Return what is said of clusters, with all of which the same is said beside each other."""
    clusters: dict[str, list[str]] = {}
    for name, why in said:
        clusters.setdefault(why, []).append(name)
    reasons = (f"{phrases.join_names(names)}: {why}" for why, names in clusters.items())
    return phrases.first_of(reasons, _MOST_REASONS, "; ")
