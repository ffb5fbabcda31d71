"""``K8S_CANARY_ROLLOUT``: the new version beside the current one, at a smaller scale."""

from collections.abc import Sequence

from volary.manifests.services import service_targets
from volary.model import applications
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering, scaling, service_rollouts
from volary.stages.runtime import execution, stage_runners


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what the stage applies, made from the target source.

    Raises:
        UserError: when there is nothing to copy, or it cannot be copied.
    """
    return rendering.canary(source, application, options, commit=commit)


async def run(work: execution.Work, options: rollout_stages.VariantRolloutOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    loaded = await work.load(context.target_source)
    if service_targets.is_target(context.application):
        return await service_rollouts.roll_out_canary(work, loaded, options)
    source = await scaling.with_stage_replicas(work, loaded, options)
    manifests = plan(source, context.application, options, commit=context.commit)
    return await scaling.roll_out(work, "canary", manifests)


def _rollout(
    sources: stage_runners.Sources, options: rollout_stages.VariantRolloutOptions
) -> stage_runners.Rollout:
    return stage_runners.Rollout(
        plan(sources.manifests, sources.application, options, commit=sources.commit)
    )


RUNNER = stage_runners.StageRunner(kind=rollout_stages.CANARY_ROLLOUT, run=run, plan=_rollout)
