"""Finds the runner of a stage: every `StageRunner` that a file in `kinds` defines.

Add a stage: its descriptor in `volary.model.pipeline.stage_kinds`, a file in `kinds`.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages
from volary.stages import completion_hooks, kinds
from volary.stages.judgement import analysis_runs
from volary.stages.runtime import contexts, execution, inventory_records, outcomes, stage_runners


def _defined() -> Iterator[stage_runners.StageRunner[Any]]:
    for found in pkgutil.iter_modules(kinds.__path__, f"{kinds.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, stage_runners.StageRunner):
                yield value


RUNNERS: Mapping[str, stage_runners.StageRunner[Any]] = {
    runner.kind.name: runner for runner in _defined()
}


def check_traffic(stage: pipelines.Stage, sources: stage_runners.Sources) -> None:
    """Refuse a stage that moves traffic, where its router cannot; any other stage is fine.

    Raises:
        UserError: The router cannot divide traffic like this, or the manifests lack what it
            needs: the object that carries the routes, a route that is named, a Service.
    """
    check = RUNNERS[stage.name].check
    if check is not None:
        check(sources, stage.options.on(sources.target))


def plan(stage: pipelines.Stage, sources: stage_runners.Sources) -> stage_runners.Rollout:
    """Return what a stage is going to apply to a cluster; nothing for most.

    Raises:
        UserError: It cannot be applied, or the router cannot do what the stage needs.
    """
    check_traffic(stage, sources)
    made = RUNNERS[stage.name].plan
    return made(sources, stage.options.on(sources.target)) if made else stage_runners.Rollout()


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the context's stage on its cluster and say how it ended."""
    if context.task.rolled_back is not None:
        return await completion_hooks.undo_scripts(context, context.task.rolled_back)
    stage = context.task.stage
    runner, options = RUNNERS[stage.name], stage.options.on(context.target)

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
        ended = await analysis_runs.run_in_background(context, stage.beside, carry_out)
    else:
        ended = await carry_out(context)
    return await completion_hooks.complete(context, ended)
