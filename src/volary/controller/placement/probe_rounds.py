"""Looks at all applications again after each round of probes, beside it; for who decides by itself.

What a look takes does not hold up the next round; of several that came meanwhile the last one
counts.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from volary.model.fleet import cluster_health


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
