"""``WAIT``: nothing happens for a while."""

import asyncio

from volary.model import outcome, stage
from volary.stages import context as contexts
from volary.stages import work


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage; it looks at no cluster."""
    return await work.carry_out(context, _run)


async def _run(doing: work.Work) -> str:
    options = doing.context.stage.options
    if not isinstance(options, stage.WaitOptions):
        raise TypeError(f"{doing.context.stage.name} has {type(options).__name__}")
    seconds = options.duration.total_seconds()
    if seconds > doing.remaining.total_seconds():
        raise work.StageFailedError(
            f"a wait of {options.duration} does not fit into what is left of the stage"
        )
    doing.context.progress(f"waiting for {options.duration}")
    try:
        await asyncio.wait_for(doing.context.stop.wait(), seconds)
    except TimeoutError:
        return f"waited for {options.duration}"
    raise work.StoppedError(f"{doing.stop_reason}; no longer waiting")
