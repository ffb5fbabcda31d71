"""Looks at all applications again after each round of probes, beside it; for who decides by itself.

What a look takes does not hold up the next round; of several that came meanwhile the last one
counts.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from volary.controller.leadership import context
from volary.model import errors
from volary.model.fleet import cluster_health

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class RoundListener:
    """One leader's, of one who looks.

    Args:
        look: Looks at all applications after one round of probes.
    """

    look: Callable[[cluster_health.FleetHealth], Awaitable[None]]
    _roll: cluster_health.FleetHealth | None = field(default=None, init=False)
    _called: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def take(self, roll: cluster_health.FleetHealth) -> None:
        """Take what a round of probes found; it is handled beside the next round."""
        self._roll = roll
        self._called.set()

    async def keep_running(self) -> None:
        """Look after each round of probes until cancelled."""
        while True:
            await self._called.wait()
            self._called.clear()
            if self._roll is not None:
                await self.look(self._roll)


async def isolate_errors(work: Awaitable[bool], application: str, what: str) -> bool:
    """Return what some work about one application comes to; its errors harm no other: False.

    Args:
        work: What is done.
        application: Its name.
        what: Said in the log after the name when it is not done: ``is not backfilled now``.
    """
    try:
        return await work
    except errors.VolaryError as error:
        if context.is_overtaken(error):
            raise
        _LOG.warning("application %s %s: %s", application, what, error)
    # A bug about one application must not stop the others; it is logged with its trace.
    except Exception as error:
        if context.is_overtaken(error):
            raise
        _LOG.exception("application %s %s", application, what)
    return False
