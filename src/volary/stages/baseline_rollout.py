"""``K8S_BASELINE_ROLLOUT``: the current version once more, at the canary's scale.

Made from the running source, so that a comparison with the canary is a fair one; the
options and the application file are the target's (PipeCD: baseline).
"""

from collections.abc import Sequence

from volary.model import application as applications
from volary.model import errors, manifest, outcome, stage
from volary.stages import context as contexts
from volary.stages import rendering, variant_rollout, work


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what the stage applies, made from the running source at `commit`.

    Raises:
        UserError: when there is nothing to copy, or it cannot be copied.
    """
    return rendering.baseline(source, application, options, commit=commit)


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    if context.running_source is None or not context.running_commit:
        raise errors.user_error(
            "there is no running version to make a baseline of: this is the first deployment",
            hint="deploy once with a quick sync, or name the running commit with --running",
        )
    options = variant_rollout.options(context)
    loaded = await doing.load(context.running_source)
    source = await variant_rollout.sized(doing, loaded, options)
    manifests = plan(source, context.application, options, commit=context.running_commit)
    return await variant_rollout.roll_out(doing, "baseline", manifests)
