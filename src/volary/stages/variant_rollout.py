"""What the rollouts of canary and baseline have in common."""

from collections.abc import Sequence

from volary.model import manifest, stage
from volary.stages import context as contexts
from volary.stages import scaling, work


async def roll_out(doing: work.Work, title: str, manifests: Sequence[manifest.Manifest]) -> str:
    """Apply a variant's objects and wait until they are ready; traffic is not touched."""
    changes = await doing.apply(manifests)
    seen = await doing.wait_ready(manifests)
    return f"{title}: {changes.summary}; {seen}"


async def sized(
    doing: work.Work, source: list[manifest.Manifest], options: stage.VariantRolloutOptions
) -> list[manifest.Manifest]:
    """Return the source, with the live number of pods where a percentage of it is asked for."""
    if options.replicas is None or not options.replicas.is_percentage:
        return source
    return await scaling.sized(doing, source)


def options(context: contexts.StageContext) -> stage.VariantRolloutOptions:
    """Return the stage's options."""
    found = context.stage.options
    if isinstance(found, stage.VariantRolloutOptions):
        return found
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
