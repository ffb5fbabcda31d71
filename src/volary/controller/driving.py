"""What everything that drives shares, for as long as this process holds the lease."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from volary.controller import inputs, pulse, releases
from volary.model import record
from volary.store import faults, protocol


@dataclass(frozen=True, slots=True)
class Driving:
    """One tenure: from winning the lease to losing it."""

    store: protocol.Store
    fence: record.Fence | None
    desk: releases.Desk
    rules: inputs.Rules
    #: Beats whenever something was kept.
    pulse: pulse.Pulse
    #: Everything that goes on beside belongs to it, and ends with it.
    group: asyncio.TaskGroup
    #: How many may look into repositories and clusters at once, to plan.
    planners: asyncio.Semaphore
    #: Makes ids of runs.
    new_id: Callable[[], str]


def is_overtaken(error: BaseException) -> bool:
    """Say whether another process drives now, so that this one has to stop at once."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_overtaken(each) for each in error.exceptions)
    return isinstance(error, faults.Overtaken)
