"""``K8S_CANARY_ROLLOUT``: the new version beside the current one, at a smaller scale."""

from collections.abc import Sequence

from volary.manifests.services import service_targets
from volary.model import applications, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.stages.rollouts import rendering, scaling, service_rollouts
from volary.stages.runtime import contexts, execution


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: pipelines.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what the stage applies, made from the target source.

    Raises:
        UserError: when there is nothing to copy, or it cannot be copied.
    """
    return rendering.canary(source, application, options, commit=commit)


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the stage on one cluster."""
    return await execution.carry_out(context, _run)


async def _run(work: execution.Work) -> str:
    context = work.context
    options = scaling.rollout_options(context)
    loaded = await work.load(context.target_source)
    if service_targets.is_target(context.application):
        return await service_rollouts.roll_out_canary(work, loaded, options)
    source = await scaling.with_stage_replicas(work, loaded, options)
    manifests = plan(source, context.application, options, commit=context.commit)
    return await scaling.roll_out(work, "canary", manifests)
