"""All pieces of a run at once, and the pieces after a step. Pure."""

from dataclasses import replace
from datetime import datetime

from volary.engine.persistence import transitions
from volary.engine.runs import state
from volary.model.runs import run_records


def of_run(run: state.Run, version: int, now: datetime) -> run_records.StoredRun:
    """Return the pieces of a run that was kept with a version; not why it exists."""
    return of_transition(transitions.first_transition(run, {}, now), version)


def of_transition(whole: run_records.Transition, version: int) -> run_records.StoredRun:
    """Return the pieces of a run from a transition that has them all."""
    return run_records.StoredRun(
        head=whole.head,
        version=version,
        last_event=0,
        document=whole.document or {},
        origin={},
        stages=whole.stages,
        tasks=whole.tasks,
    )


def after(stored: run_records.StoredRun, step: run_records.Transition) -> run_records.StoredRun:
    """Return the pieces after a step that follows from them."""
    stages = {stage.id: stage for stage in (*stored.stages, *step.stages)}
    tasks = {(task.stage, task.position): task for task in (*stored.tasks, *step.tasks)}
    return replace(
        stored,
        head=step.head,
        version=step.version,
        document=stored.document if step.document is None else step.document,
        stages=tuple(sorted(stages.values(), key=lambda stage: stage.position)),
        tasks=tuple(tasks.values()),
    )
