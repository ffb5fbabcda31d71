"""``K8S_CANARY_ROLLOUT`` and ``K8S_BASELINE_ROLLOUT``: another variant next to primary.

Canary is the new version at a smaller scale. Baseline is the current version once more, made
from the running source, so that a comparison with the canary is a fair one; the options and the
application file are the target's (PipeCD: baseline).
"""

from volary.concurrency import work_threads
from volary.model import errors
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering, scaling, service_rollouts
from volary.stages.runtime import execution, stage_runners


async def roll_out_canary(
    work: execution.Work, options: rollout_stages.VariantRolloutOptions
) -> str:
    """Bring canary to one cluster."""
    context = work.context
    loaded = await work.load(context.target_source)
    if context.application.rolls_out_service:
        return await service_rollouts.roll_out_canary(work, loaded, options)
    source = await scaling.with_stage_replicas(work, loaded, options)
    made = await work_threads.run_many(
        source,
        "making canary's manifests",
        rendering.canary,
        source,
        context.application,
        options,
        commit=context.task.commit,
    )
    return await scaling.roll_out(work, "canary", made)


async def roll_out_baseline(
    work: execution.Work, options: rollout_stages.VariantRolloutOptions
) -> str:
    """Bring baseline to one cluster."""
    context = work.context
    if context.running_source is None:
        raise errors.user_error(
            "there is no running version to make a baseline of: this is the first deployment",
            hint="deploy once with a quick sync, or name the running commit with --running",
        )
    loaded = await work.load(context.running_source)
    source = await scaling.with_stage_replicas(work, loaded, options)
    made = await work_threads.run_many(
        source,
        "making baseline's manifests",
        rendering.baseline,
        source,
        context.application,
        options,
        commit=context.task.running_commit,
    )
    return await scaling.roll_out(work, "baseline", made)


def _plan_canary(
    sources: stage_runners.Sources, options: rollout_stages.VariantRolloutOptions
) -> stage_runners.Rollout:
    return stage_runners.Rollout(
        rendering.canary(sources.manifests, sources.application, options, commit=sources.commit)
    )


def _plan_baseline(
    sources: stage_runners.Sources, options: rollout_stages.VariantRolloutOptions
) -> stage_runners.Rollout:
    if not sources.running:
        raise errors.user_error(
            f"{sources.target} has no running version to make a baseline of",
            hint="deploy once with --strategy quick, or name what runs with --running",
        )
    return stage_runners.Rollout(
        rendering.baseline(
            sources.running, sources.application, options, commit=sources.running_commit
        )
    )


CANARY = stage_runners.StageRunner(
    kind=rollout_stages.CANARY_ROLLOUT, run=roll_out_canary, plan=_plan_canary
)
BASELINE = stage_runners.StageRunner(
    kind=rollout_stages.BASELINE_ROLLOUT, run=roll_out_baseline, plan=_plan_baseline
)
