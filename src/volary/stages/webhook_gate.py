"""``K8S_WEBHOOK_GATE``: nothing goes on until a webhook agrees.

A refusal and no answer are the same: it is asked again after the interval, until the stage's
timeout. Waiting here holds up this stage only; what guards earlier stages goes on.
"""

from volary.model import outcome, stage
from volary.stages import context as contexts
from volary.stages import inquiries, webhooks, work


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster, or for all of them."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    context = doing.context
    options = context.stage.options
    if not isinstance(options, stage.WebhookGateOptions):
        raise TypeError(f"{context.stage.name} has {type(options).__name__}")
    name = options.webhook.name

    async def here() -> bool:
        await _ask(doing, options)
        return True

    if options.scope is stage.Scope.CLUSTER:
        await here()
        return f"{name} agreed"
    if context.task.succeeded:
        return f"{name} agreed, asked once for all clusters"
    context.progress(f"waiting for {name}, which is asked once for all clusters")
    result = await context.once.do(
        context.task.stage_id, context.target, here, is_kept=bool, stop=context.stop.wait
    )
    if result is None:
        raise work.StoppedError(doing.stop_reason)
    return f"{name} agreed, asked once for all clusters"


async def _ask(doing: work.Work, options: stage.WebhookGateOptions) -> None:
    """Ask until it agrees.

    Raises:
        StageFailedError: when it does not in time.
        StoppedError: when asked to stop.
    """
    context, hook = doing.context, options.webhook
    source = await doing.load(context.target_source)
    about = inquiries.subject(context, source, phase="Waiting")
    told = ""
    while True:
        answer = await doing.unless_stopped(webhooks.call(hook, about, context.permissions.reach))
        if answer.agreed:
            return
        if answer.reason != told:
            context.log(f"{hook.name} {answer.reason}")
            told = answer.reason
        context.progress(f"waiting for {hook.name}: it {answer.reason}")
        if doing.remaining <= options.interval:
            raise work.StageFailedError(f"{hook.name} did not agree in time: it {answer.reason}")
        await doing.pause(options.interval)
