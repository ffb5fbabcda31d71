"""``K8S_WEBHOOK_GATE``: nothing goes on until a webhook agrees.

A refusal and no answer are the same: it is asked again after the interval, until the stage's
timeout. Then the release was refused, and no cluster has failed: the stage fails whatever the
budget for clusters is. Safety is not suspended meanwhile: where canary gets traffic its pods are
watched, and when they go down the stage fails, whatever the webhook says.
"""

from collections.abc import Sequence

from volary.model.objects import manifest
from volary.model.pipeline import webhook
from volary.model.pipeline.stage_kinds import external_stages, stage_kind
from volary.stages import webhooks
from volary.stages.runtime import execution, stage_runners, stage_webhooks
from volary.stages.traffic import readiness_watch


async def run(work: execution.Work, options: external_stages.WebhookGateOptions) -> str:
    """Carry out the stage on one cluster, or for all of them."""
    context = work.context
    source = await work.load(context.target_source)
    # Whoever is asked may take hours; canary's users do not wait for that.
    return await readiness_watch.while_ready(work, source, lambda: _wait(work, options, source))


async def _wait(
    work: execution.Work,
    options: external_stages.WebhookGateOptions,
    source: Sequence[manifest.Manifest],
) -> str:
    task, name = work.context.task, options.webhook.name
    if options.scope is stage_kind.Scope.CLUSTER:
        await _ask(work, options, source)
        return f"{name} agreed"
    if not task.succeeded_on:
        work.context.progress(f"waiting for {name}, which is asked once for all clusters")
        await work.once(task.stage_id, lambda: _ask(work, options, source))
    return f"{name} agreed, asked once for all clusters"


async def _ask(
    work: execution.Work,
    options: external_stages.WebhookGateOptions,
    source: Sequence[manifest.Manifest],
) -> None:
    """Ask until it agrees.

    Raises:
        RefusedError: when it does not in time.
        StoppedError: when asked to stop.
    """
    context, hook = work.context, options.webhook
    begins = hook.type is webhook.WebhookType.CONFIRM_ROLLOUT
    phase = "Waiting" if begins else "WaitingPromotion"
    about = stage_webhooks.subject(context, source, phase=phase)
    reach = context.options.permissions.reach
    logged = ""
    while True:
        answer = await work.unless_stopped(webhooks.call(hook, about, reach))
        if answer.agreed:
            return
        if answer.reason != logged:
            context.log(f"{hook.name} {answer.reason}")
            logged = answer.reason
        context.progress(f"waiting for {hook.name}: it {answer.reason}")
        if work.remaining <= options.interval:
            raise execution.RefusedError(f"{hook.name} did not agree in time: it {answer.reason}")
        await work.pause(options.interval)


RUNNER = stage_runners.StageRunner(kind=external_stages.WEBHOOK_GATE, run=run)
