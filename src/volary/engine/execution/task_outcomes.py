"""How a task ended, whatever its stage raised."""

import asyncio
import logging
from collections.abc import Callable

from volary.engine import executor
from volary.engine.runs import state
from volary.model import errors, statuses

_LOG = logging.getLogger(__name__)


async def outcome_of(
    performer: executor.StageExecutor,
    context: executor.TaskContext,
    reporter: executor.Reporter,
    was_broken_off: Callable[[], bool],
) -> statuses.Outcome:
    """Have a task carried out; whatever it raises becomes an outcome of its own.

    `was_broken_off` says of a cancellation whether it means the task alone, and then takes it
    back; any other one goes on to whoever awaits this.
    """
    try:
        return await performer.execute(context, reporter)
    except asyncio.CancelledError:
        if not was_broken_off():
            raise
        return statuses.Outcome(statuses.TaskStatus.CANCELLED, "broken off", touched=True)
    except errors.VolaryError as error:
        return state.lost_outcome(str(error))
    except Exception as error:  # noqa: BLE001 (a bug in one stage must not harm the others)
        _LOG.exception("stage %s failed on %s by a bug", context.stage_id, context.target)
        return state.lost_outcome(f"internal error ({type(error).__name__}), see the log")
