"""``K8S_CANARY_ROLLOUT``: the new version beside the current one, at a smaller scale."""

from collections.abc import Sequence

from volary.manifests import service_targets
from volary.model import application as applications
from volary.model import manifest, outcome, stage
from volary.stages import context as contexts
from volary.stages import rendering, switching, variant_rollout, work


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what the stage applies, made from the target source.

    Raises:
        UserError: when there is nothing to copy, or it cannot be copied.
    """
    return rendering.canary(source, application, options, commit=commit)


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    options = variant_rollout.options(context)
    loaded = await doing.load(context.target_source)
    if service_targets.is_target(context.application):
        return await switching.bring_canary(doing, loaded, options)
    source = await variant_rollout.sized(doing, loaded, options)
    manifests = plan(source, context.application, options, commit=context.commit)
    return await variant_rollout.roll_out(doing, "canary", manifests)
