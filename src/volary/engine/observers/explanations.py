"""Says what a run is doing and why it waits, in one sentence each, from its state alone."""

import shlex
from collections.abc import Iterable

from volary.engine.runs import policies, rollback, run_builder, state
from volary.engine.state_machine import budgets, deadlines, failures, sightings
from volary.model import phrases, statuses


def waiting_reason(run: state.Run) -> str:
    """Return why the run is not further yet; for a final run why it ended."""
    if run.is_final or run.status is statuses.RunStatus.PLANNED:
        return run.reason
    running = run.current.running
    if deadlines.is_waiting_for_person(run):
        return run.reason
    if not running:
        silent = run.current.unreachable_tasks[:1]
        return "; ".join([run.reason, *[f"{task.target}: {task.reason}" for task in silent]])
    return f"{run.reason}; {_slowest_task(running)}"


def _slowest_task(running: tuple[state.TaskState, ...]) -> str:
    """Say what the running tasks wait for; one speaks for all when there are many."""
    speaking = [task for task in running if task.progress]
    if not speaking:
        return f"waiting for {phrases.join_names([task.target for task in running])}"
    behind = min(speaking, key=_done)
    said = f"{behind.target}: {behind.progress.sentence}" if behind.progress else ""
    others = [task.target for task in running if task is not behind]
    return f"{said} (also {phrases.join_names(others)})" if others else said


def next_commands(run: state.Run) -> tuple[str, ...]:
    """Return what a person may type about the run as it is, the most likely first."""
    run_id = run.id
    cancel = f"volary cancel {run_id}"
    if run.is_final:
        return _commands_after_end(run)
    said: tuple[str, ...]
    if run.rollback:
        said = (f"{cancel} --now",)
    elif run.held:
        skips = (_skip(run_id, task.target) for task in failures.of_stage(run)[:1])
        said = (f"volary retry {run_id}{_seen(run)}", *skips, cancel)
    elif run.ending:
        said = (f"volary watch {run_id}",)
    elif run.pause:
        said = (f"volary resume {run_id}", cancel)
    elif deadlines.waiting_group(run) is not None:
        said = tuple(f"volary {verb} {run_id}{_seen(run)}" for verb in ("approve", "reject"))
    elif deadlines.is_waiting_for_window(run):
        said = (f"volary unfreeze {run_id} --reason TEXT", cancel)
    else:
        behind = sorted(run.current.running, key=_done)[:1] or run.current.unreachable_tasks[:1]
        said = (cancel, *(_skip(run_id, task.target) for task in behind))
    return said


def instead_of_retry(run: state.Run) -> tuple[str, ...]:
    """Return what a person may type about a run that is not tried again."""
    if run.status is statuses.RunStatus.SUCCEEDED:
        return (f"volary sync {run.application}", *_back(run))
    return next_commands(run)


def _back(run: state.Run) -> tuple[str, ...]:
    return (f"volary rollback {run.application}",) if rollback.would_change(run) else ()


def _seen(run: state.Run) -> str:
    """Return the options by which a command is about the run as it is, and nothing after."""
    seen = sightings.of_run(run)
    group = f" --group {shlex.quote(seen.group)}" if seen.group else ""
    return f" --stage {seen.stage}{group} --seen {seen.version}"


def _commands_after_end(run: state.Run) -> tuple[str, ...]:
    if run.status is statuses.RunStatus.SUCCEEDED:
        return ()
    back = _back(run)
    # What a stage left undone it would leave again; its reason says how it is done.
    return back if run.is_everywhere else (f"volary sync {run.application}", *back)


def _skip(run_id: str, cluster: str) -> str:
    return f"volary skip {run_id} --cluster {cluster} --reason TEXT"


def _done(task: state.TaskState) -> float:
    """How far a task is, from 0 to 1; without numbers it counts as all behind."""
    if task.progress is None or task.progress.total == 0:
        return 0.0
    return task.progress.ready / task.progress.total


def what_next(run: state.Run) -> str:
    """Return what comes after the current stage; empty when nothing does."""
    if run.is_final or run.rollback:
        return ""
    if run.ending:
        back = _settled(run, run.touched) if run.ending.rollback else []
        return f"roll back {phrases.join_names(back)}" if back else ""
    rest = run.stages[run.position + 1 :]
    if not rest:
        return "the run is done"
    following = rest[0]
    elsewhere = f" in wave {following.wave}" if following.wave != run.current.wave else ""
    return f"{following.stage.name}{elsewhere}"


def if_failed(run: state.Run) -> str:
    """Return what a failure of the current stage would lead to."""
    match budgets.on_failure(run):
        case policies.OnFailure.HOLD:
            return "the run waits for a person"
        case policies.OnFailure.STOP:
            return "the run fails and stays as it is"
        case _ if back := _settled(
            run, run_builder.targets_to_roll_back(run, budgets.wave_to_roll_back(run))
        ):
            return f"rollback of {phrases.join_names(back)}, and of what the stage touches"
        case _:
            return "what the stage touches is rolled back"


def _settled(run: state.Run, names: Iterable[str]) -> list[str]:
    """Return those of the clusters that count as touched whatever is still under way there."""
    under_way = {cluster.name for cluster in run.clusters if cluster.provisional}
    return [name for name in names if name not in under_way]
