"""``skipOn``: whether a stage is left out for this commit (PipeCD: 7.6), pure."""

from collections.abc import Sequence
from dataclasses import replace

from volary.config.text import globs
from volary.model.pipeline import pipelines
from volary.model.runs import run_plans


def reason_to_skip(
    skip_on: pipelines.SkipOn, *, subject: str, changed: Sequence[str] | None
) -> str:
    """Say why the stage is skipped; empty: it is not.

    Paths first, then prefixes. Without a running commit (`changed` is None) paths cannot
    skip anything: PipeCD crashes there.

    Raises:
        errors.UserError: A pattern cannot be read.
    """
    if skip_on.paths and changed is not None:
        outside = next((path for path in changed if not globs.matches(skip_on.paths, path)), None)
        if outside is None:
            return "every changed file is among the paths that skip this stage"
    for prefix in skip_on.commit_message_prefixes:
        if prefix and subject.startswith(prefix):
            return f"the commit message starts with {prefix!r}"
    return ""


def apply(
    decided: run_plans.Plan, *, subject: str, changed: Sequence[str] | None
) -> run_plans.Plan:
    """Return the plan without the stages that this commit leaves out.

    Only a pipeline's stages can be left out: PipeCD looks at the wrong ones in a quick sync.

    Args:
        decided: The plan.
        subject: First line of the commit message.
        changed: Paths that differ from the running commit; None: nothing runs, or unknown.
    """
    if decided.strategy is not run_plans.Strategy.PIPELINE:
        return decided
    reasons = {
        stage.index: reason_to_skip(stage.skip_on, subject=subject, changed=changed)
        for stage in decided.stages
    }
    kept = tuple(stage for stage in decided.stages if not reasons[stage.index])
    skipped = tuple(
        run_plans.SkippedStage(stage.name, stage.index, reasons[stage.index])
        for stage in decided.stages
        if reasons[stage.index]
    )
    return replace(decided, stages=kept, skipped=skipped)
