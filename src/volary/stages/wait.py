"""``WAIT``: nothing happens for a while.

Where canary gets traffic meanwhile its pods are watched: when none is ready any more the stage
fails, so that its users do not wait for the end of it.
"""

from volary.engine import wording
from volary.model import outcome, stage, variant
from volary.stages import context as contexts
from volary.stages import judging, vigil, work


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage; it looks at a cluster only where a canary runs."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    options = doing.context.stage.options
    if not isinstance(options, stage.WaitOptions):
        raise TypeError(f"{doing.context.stage.name} has {type(options).__name__}")
    if judging.new_version(doing.context) is not variant.Variant.CANARY:
        return await _wait(doing, options)
    source = await doing.load(doing.context.target_source)
    return await vigil.guarded(doing, source, lambda: _wait(doing, options))


async def _wait(doing: work.Work, options: stage.WaitOptions) -> str:
    length = wording.span(options.duration)
    if options.duration > doing.remaining:
        raise work.StageFailedError(
            f"a wait of {length} does not fit into what is left of the stage"
        )
    doing.context.progress(f"waiting for {length}")
    await doing.pause(options.duration)
    return f"waited for {length}"
