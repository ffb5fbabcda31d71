"""Finds the runner of a stage: the `StageRunner` of its kind in the file that the kind names.

Add a stage: its descriptor in `volary.model.pipeline.stage_kinds`, a file in `kinds`. Such a file
is imported once a run has a stage of its kind: together they need most of this package, and
all that judges releases, and most runs have few of them.
"""

import functools
import importlib
from typing import Any

from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, stage_kind
from volary.stages import completion_hooks, kinds
from volary.stages.runtime import contexts, execution, inventory_records, outcomes, stage_runners


@functools.cache
def runner_of(kind: stage_kind.StageKind[Any]) -> stage_runners.StageRunner[Any]:
    """Return what carries a kind of stage out."""
    module = importlib.import_module(f"{kinds.__name__}.{kind.runner}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, stage_runners.StageRunner) and value.kind is kind
    )


def check_traffic(stage: pipelines.Stage, sources: stage_runners.Sources) -> None:
    """Refuse a stage that moves traffic, where its router cannot; any other stage is fine.

    Raises:
        UserError: The router cannot divide traffic like this, or the manifests lack what it
            needs: the object that carries the routes, a route that is named, a Service.
    """
    check = runner_of(stage.kind).check
    if check is not None:
        check(sources, stage.options.on(sources.target))


def plan(stage: pipelines.Stage, sources: stage_runners.Sources) -> stage_runners.Rollout:
    """Return what a stage is going to apply to a cluster; nothing for most.

    Raises:
        UserError: It cannot be applied, or the router cannot do what the stage needs.
    """
    check_traffic(stage, sources)
    made = runner_of(stage.kind).plan
    return made(sources, stage.options.on(sources.target)) if made else stage_runners.Rollout()


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the context's stage on its cluster and say how it ended."""
    if context.task.rolled_back is not None:
        return await completion_hooks.undo_scripts(context, context.task.rolled_back)
    stage = context.task.stage
    runner, options = runner_of(stage.kind), stage.options.on(context.target)

    async def carry_out(context: contexts.StageContext) -> statuses.Outcome:
        return await outcomes.carry_out(context, run_stage)

    async def run_stage(work: execution.Work) -> str:
        sentence = await runner.run(work, options)
        if context.task.stage.kind.promotes:
            await inventory_records.record_running(work, context.task.commit)
        elif context.task.stage.kind is added_stages.ROLLBACK:
            await inventory_records.record_running(work, context.task.running_commit)
        return sentence

    if stage.beside is not None:
        from volary.stages.judgement import analysis_runs  # as heavy as a stage that judges

        ended = await analysis_runs.run_in_background(context, stage.beside, carry_out)
    else:
        ended = await carry_out(context)
    return await completion_hooks.complete(context, ended)
