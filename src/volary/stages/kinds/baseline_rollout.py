"""``K8S_BASELINE_ROLLOUT``: the current version once more, at the canary's scale.

Made from the running source, so that a comparison with the canary is a fair one; the
options and the application file are the target's (PipeCD: baseline).
"""

from collections.abc import Sequence

from volary.model import applications, errors
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.rollouts import rendering, scaling
from volary.stages.runtime import execution, stage_runners


def plan(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: rollout_stages.VariantRolloutOptions,
    *,
    commit: str,
) -> list[manifest.Manifest]:
    """Return what the stage applies, made from the running source at `commit`.

    Raises:
        UserError: when there is nothing to copy, or it cannot be copied.
    """
    return rendering.baseline(source, application, options, commit=commit)


async def run(work: execution.Work, options: rollout_stages.VariantRolloutOptions) -> str:
    """Carry out the stage on one cluster."""
    context = work.context
    if context.running_source is None or not context.running_commit:
        raise errors.user_error(
            "there is no running version to make a baseline of: this is the first deployment",
            hint="deploy once with a quick sync, or name the running commit with --running",
        )
    loaded = await work.load(context.running_source)
    source = await scaling.with_stage_replicas(work, loaded, options)
    manifests = plan(source, context.application, options, commit=context.running_commit)
    return await scaling.roll_out(work, "baseline", manifests)


def _rollout(
    sources: stage_runners.Sources, options: rollout_stages.VariantRolloutOptions
) -> stage_runners.Rollout:
    if not sources.running:
        raise errors.user_error(
            f"{sources.target} has no running version to make a baseline of",
            hint="deploy once with --strategy quick, or name what runs with --running",
        )
    made = plan(sources.running, sources.application, options, commit=sources.running_commit)
    return stage_runners.Rollout(made)


RUNNER = stage_runners.StageRunner(kind=rollout_stages.BASELINE_ROLLOUT, run=run, plan=_rollout)
