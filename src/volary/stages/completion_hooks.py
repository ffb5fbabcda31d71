"""What follows a stage after its own work: scripts that are undone, and reports of the end.

After the last stage on a cluster its run has gone well there, so ``post-rollout`` webhooks are
sent ``Succeeded``; after a rollback they are sent ``Failed``. Before that, the scripts of
stages that had begun are undone: once the cluster runs the old version again. Where
the application has no rollback, a stage that fails or is cancelled is the end, and is reported.
"""

from collections.abc import Iterator
from dataclasses import replace

from volary.model import errors, statuses
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import added_stages
from volary.stages.kinds import script_run
from volary.stages.runtime import contexts, execution, outcomes, stage_webhooks

_BROKEN = (statuses.TaskStatus.FAILED, statuses.TaskStatus.CANCELLED)


async def complete(context: contexts.StageContext, ended: statuses.Outcome) -> statuses.Outcome:
    """Return how a stage ended, after all that follows it."""
    if context.task.stage.kind is added_stages.ROLLBACK:
        after = await undo_scripts(context, ended)
        await _report(context, "Failed")
        return after
    if context.task.is_last and ended.status is statuses.TaskStatus.SUCCEEDED:
        await _report(context, "Succeeded")
    elif ended.status in _BROKEN and not _is_followed(context):
        await _report(context, "Failed")
    return ended


def _is_followed(context: contexts.StageContext) -> bool:
    """Say whether something follows a failure: a rollback, or a person who decides about it."""
    planner = context.application.planner
    return planner.auto_rollback or planner.hold_on_failure


async def undo_scripts(context: contexts.StageContext, ended: statuses.Outcome) -> statuses.Outcome:
    """Run the scripts' rollback commands after a rollback that has `ended` so.

    One that fails makes the rollback a failure. A cluster that did not answer is not back yet.
    """
    has_scripts = any(stage.options.undone_by_script for stage in context.begun)
    if not has_scripts or ended.status is statuses.TaskStatus.UNREACHABLE:
        return ended
    problems: list[str] = []

    async def run(work: execution.Work) -> str:
        problems.extend(await script_run.undo(work, context.begun))
        return "scripts undone"

    undone = await outcomes.carry_out(context, run)
    lines = (*ended.details, *undone.details)
    if ended.status is not statuses.TaskStatus.SUCCEEDED:
        return replace(ended, details=lines, touched=True)
    if undone.status is not statuses.TaskStatus.SUCCEEDED:
        return replace(undone, details=lines, touched=True)
    if problems:
        reason = f"{ended.reason}; but {problems[0]}"
        return statuses.Outcome(statuses.TaskStatus.FAILED, reason, lines, touched=True)
    return replace(ended, details=lines, touched=True)


def _post_rollout_webhooks(context: contexts.StageContext) -> Iterator[webhook.Webhook]:
    for stage in (*context.begun, context.task.stage):
        for hook in stage.options.all_webhooks:
            if hook.type is webhook.WebhookType.POST_ROLLOUT:
                yield hook


async def _report(context: contexts.StageContext, phase: str) -> None:
    """Call the ``post-rollout`` webhooks of all stages that had begun; the answer is logged."""
    asked = tuple(_post_rollout_webhooks(context))
    if not asked:
        return

    async def run(work: execution.Work) -> str:
        try:
            source = await work.load(context.target_source)
        except errors.UserError:
            source = []
        about = stage_webhooks.subject(context, source, phase=phase)
        await stage_webhooks.StageWebhooks(work, asked, about).inform(
            webhook.WebhookType.POST_ROLLOUT
        )
        return "reported"

    await outcomes.carry_out(context, run)
