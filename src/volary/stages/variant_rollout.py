"""What the rollouts of canary and baseline have in common."""

from collections.abc import Sequence

from volary.model import manifest, stage
from volary.stages import context as contexts
from volary.stages import scaling, work


async def roll_out(doing: work.Work, title: str, manifests: Sequence[manifest.Manifest]) -> str:
    """Apply a variant's objects and wait until they are ready; traffic is not touched.

    Without any the cluster got none of the fleet's share.
    """
    if not manifests:
        return f"no {title} here: none of the fleet's share is this cluster's"
    changes = await doing.apply(manifests)
    seen = await doing.wait_ready(manifests)
    return f"{title}: {changes.summary}; {seen}"


async def sized(
    doing: work.Work, source: list[manifest.Manifest], options: stage.VariantRolloutOptions
) -> list[manifest.Manifest]:
    """Return the source, with the live number of pods where a percentage of it is asked for."""
    is_own_share = options.replicas is not None and options.replicas.is_percentage
    if options.of is stage.Scope.FLEET or not is_own_share:
        return source
    return await scaling.sized(doing, source)


def options(context: contexts.StageContext) -> stage.VariantRolloutOptions:
    """Return the stage's options for its cluster."""
    found = context.stage.options
    if isinstance(found, stage.VariantRolloutOptions):
        return found.on(context.target)
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
