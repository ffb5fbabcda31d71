"""What a task has to know, from the run as it was when the task was started. Pure."""

from volary.engine import executor
from volary.engine.runs import counters, run_builder, state, wave_gates
from volary.engine.state_machine import commands
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages


def of_command(run: state.Run, command: commands.StartTask) -> executor.TaskContext:
    """Return the context of the task that a command starts.

    Raises:
        AssertionError: The command is of another run.
    """
    stage = _stage(run, command)
    return executor.TaskContext(
        run_id=run.id,
        application=run.application,
        commit=run.commit,
        running_commit=run.running_commit_of(command.target),
        stage_id=command.stage,
        stage=run_builder.cluster_rollback(stage.stage) if command.rolling_back else stage.stage,
        target=command.target,
        attempt=command.attempt,
        deadline=command.deadline,
        begun=_begun(run, command),
        is_last=_is_last(run, command),
        succeeded_on="" if command.rolling_back else _succeeded_on(stage),
        created=run.created,
        not_updated=_not_updated(run, stage, command),
        clusters=_clusters(run, stage),
    )


def _clusters(run: state.Run, stage: state.StageState) -> int:
    """Return on how many clusters the run carries out this stage, in whichever wave."""
    return sum(
        len(group.tasks)
        for other in run.stages
        if other.stage == stage.stage
        for group in other.groups
    )


def _succeeded_on(stage: state.StageState) -> str:
    """Return the first cluster on which a stage has succeeded; empty: on none."""
    succeeded = statuses.TaskStatus.SUCCEEDED
    for group in stage.groups:
        if counters.of(group.tasks).open < len(group.tasks):
            for task in group.tasks:
                if task.status is succeeded:
                    return task.target
    return ""


def stage_name(run: state.Run, command: commands.StartTask) -> str:
    """Return how users call the stage that a command is about, also where it takes it back."""
    return _stage(run, command).stage.name


def _stage(run: state.Run, command: commands.StartTask) -> state.StageState:
    stage = run.stage(command.stage)
    if stage is None:
        raise AssertionError(f"the run has no stage {command.stage}")
    return stage


def _begun(run: state.Run, command: commands.StartTask) -> tuple[pipelines.Stage, ...]:
    """Return the stages that were begun on the command's cluster, in order."""
    tasks = ((stage, stage.task(command.target)) for stage in run.stages)
    return tuple(
        begun.stage
        for begun, task in tasks
        if task is not None and task.attempt and (begun.id != command.stage or command.rolling_back)
    )


def _not_updated(
    run: state.Run, stage: state.StageState, command: commands.StartTask
) -> tuple[str, ...]:
    """Return the clusters that an analysis in a wave may compare with."""
    if not stage.wave or command.rolling_back or stage.stage.kind is not waiting_stages.ANALYSIS:
        return ()
    return wave_gates.not_updated(run, command.target)


def _is_last(run: state.Run, command: commands.StartTask) -> bool:
    """Say whether no stage follows on the command's cluster."""
    ids = [stage.id for stage in run.stages if stage.task(command.target) is not None]
    return bool(ids) and command.stage == ids[-1]
