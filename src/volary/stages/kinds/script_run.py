"""``SCRIPT_RUN``: a script of the user's, once or on behalf of each cluster.

The script runs in a fresh private directory that holds the application's directory at the
target source's commit, with PipeCD's variables ``SR_*`` and nothing of ours. It may have done
anything, so the cluster counts as touched once it began: a failure is rolled back, and then
`on_rollback` of every stage that had begun is run, the last one first.
"""

import hashlib
from collections.abc import Mapping

import msgspec

from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages, stage_kind
from volary.stages import processes
from volary.stages.runtime import contexts, execution, stage_runners

_REFUSAL = "scripts are not allowed here (scripts: deny in the controller's settings)"


def environment(
    context: contexts.StageContext,
    options: external_stages.ScriptOptions,
    *,
    undone: pipelines.Stage | None = None,
) -> dict[str, str]:
    """Return the variables a script is given (PipeCD: ``SR_*``, then ``env``).

    `undone` is the stage whose ``onRollback`` it is.
    """
    is_rollback = undone is not None
    application, run, task = context.application, context.run, context.task
    triggered = str(int(task.created.timestamp())) if task.created else ""
    whole = {
        "deploymentID": task.run_id,
        "applicationID": application.name,
        "applicationName": application.name,
        "triggeredAt": int(triggered or 0),
        "triggeredCommitHash": context.task.commit,
        "triggeredCommander": run.commander,
        "repositoryURL": run.repository,
        "summary": run.summary,
        "labels": dict(application.labels),
        "isRollback": is_rollback,
    }
    made = {
        "SR_DEPLOYMENT_ID": task.run_id,
        "SR_APPLICATION_ID": application.name,
        "SR_APPLICATION_NAME": application.name,
        "SR_TRIGGERED_AT": triggered,
        "SR_TRIGGERED_COMMIT_HASH": context.task.commit,
        "SR_TRIGGERED_COMMANDER": run.commander,
        "SR_REPOSITORY_URL": run.repository,
        "SR_SUMMARY": run.summary,
        "SR_IS_ROLLBACK": "true" if is_rollback else "false",
        # Go leaves out what is empty (omitempty).
        "SR_CONTEXT_RAW": msgspec.json.encode({k: v for k, v in whole.items() if v}).decode(),
        **{f"SR_LABELS_{key.upper()}": value for key, value in application.labels.items()},
    }
    is_own = options.scope is stage_kind.Scope.CLUSTER
    attempt = context.attempt_id(whole_fleet=not is_own)
    ours = {"VOLARY_ATTEMPT": attempt if undone is None else f"{attempt}/{undone.index + 1}"}
    if is_own:
        ours["VOLARY_CLUSTER"] = context.target
    return {**_usable(made), **ours, **options.env}


def _usable(made: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process can be given: no NUL, no ``=`` in a name."""
    return {key: value.replace("\x00", "") for key, value in made.items() if "=" not in key and key}


async def run(work: execution.Work, options: external_stages.ScriptOptions) -> str:
    """Carry out the stage on one cluster, or for all of them."""
    context = work.context
    return await carry_out(work, options, options.run, key=context.task.stage_id)


async def undo(work: execution.Work, stages: contexts.Stages) -> list[str]:
    """Run ``onRollback`` of every script stage among those that had begun, the last first.

    Returns:
        What went wrong, a sentence each; one that fails keeps no other from being run.
    """
    problems = []
    for stage in reversed(stages):
        options = stage.options
        if not isinstance(options, external_stages.ScriptOptions) or not options.on_rollback:
            continue
        key = f"{work.context.task.stage_id} {stage.index}"
        try:
            work.note(await carry_out(work, options, options.on_rollback, key=key, undone=stage))
        except execution.StageFailedError as error:
            problems.append(f"onRollback of stage {stage.index + 1}: {error}")
            work.caution(problems[-1])
    return problems


async def carry_out(
    work: execution.Work,
    options: external_stages.ScriptOptions,
    script: str,
    *,
    key: str,
    undone: pipelines.Stage | None = None,
) -> str:
    """Run a script as its scope says and return what became of it.

    Raises:
        StageFailedError: when it ends with another status than 0, or must not be run.
        StoppedError: when asked to stop.
    """
    context = work.context
    if not context.options.permissions.scripts or context.run.checkout is None:
        raise execution.StageFailedError(_REFUSAL)
    if refusal := context.guard.refusal_of_stage(external_stages.SCRIPT_RUN):
        raise execution.StageFailedError(refusal)
    work.check_stop()

    async def here() -> processes.Ended:
        return await _execute(work, options, script, undone=undone)

    if options.scope is stage_kind.Scope.CLUSTER:
        return _judge(await here())
    if context.task.succeeded_on:
        return f"the script was run once for all clusters, for {context.task.succeeded_on}"
    work.touched = True
    context.progress("the script runs once for all clusters")
    result = await work.once(
        key, here, is_kept=lambda ended: ended.end is processes.End.EXITED and not ended.code
    )
    said = _judge(result.value)
    if result.by == context.target:
        return said
    return f"{said}; it was run for all clusters, its output is in the log of {result.by}"


async def _execute(
    work: execution.Work,
    options: external_stages.ScriptOptions,
    script: str,
    *,
    undone: pipelines.Stage | None,
) -> processes.Ended:
    context = work.context
    assert context.run.checkout is not None
    context.progress("running the script")
    async with context.run.checkout(context.task.commit) as place:
        work.touched = True
        ended = await processes.run(
            script,
            directory=place.directory,
            home=place.home,
            environment=environment(context, options, undone=undone),
            limits=processes.Limits(work.remaining),
            say=context.log,
            stop=context.task.stop.wait,
            mark=_mark(context, options, undoing=undone is not None),
        )
    if ended.end is processes.End.STOPPED:
        raise execution.StoppedError(f"{work.stop_reason}; the script was ended")
    return ended


def _mark(
    context: contexts.StageContext, options: external_stages.ScriptOptions, *, undoing: bool
) -> str:
    """Return what names this script among all that may run at the same time."""
    whose = context.target if options.scope is stage_kind.Scope.CLUSTER else ""
    way = hashlib.sha256(f"{undoing} {options.on_rollback} {options.run}".encode()).hexdigest()
    return f"{context.task.run_id} {context.task.stage_id} {whose} {way[:8]}"


def _judge(ended: processes.Ended) -> str:
    """Return what became of a script.

    Raises:
        StageFailedError: when it failed or was late.
    """
    if ended.end is processes.End.LATE:
        raise execution.StageFailedError("the script did not end in time and was ended")
    if ended.code < 0:
        raise execution.StageFailedError(f"the script was ended by signal {-ended.code}")
    if ended.code:
        raise execution.StageFailedError(f"the script ended with status {ended.code}")
    return "the script succeeded"


RUNNER = stage_runners.StageRunner(kind=external_stages.SCRIPT_RUN, run=run)
