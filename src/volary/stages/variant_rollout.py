"""What the rollouts of canary and baseline have in common."""

from collections.abc import Sequence

from volary.model import manifest, stage
from volary.stages import context as contexts
from volary.stages import work


async def roll_out(doing: work.Work, title: str, manifests: Sequence[manifest.Manifest]) -> str:
    """Apply a variant's objects and wait until they are ready; traffic is not touched."""
    changes = await doing.apply(manifests)
    seen = await doing.wait_ready(manifests)
    return f"{title}: {changes.summary}; {seen}"


def options(context: contexts.StageContext) -> stage.VariantRolloutOptions:
    """Return the stage's options."""
    found = context.stage.options
    if isinstance(found, stage.VariantRolloutOptions):
        return found
    raise TypeError(f"{context.stage.name} has {type(found).__name__}")
