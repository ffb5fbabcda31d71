"""Who takes tasks from Temporal's queues, as Temporal knows it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volary.controller.api import worker_service
from volary.model import server_settings

if TYPE_CHECKING:
    from volary.engine.temporal import connections

#: Queues that are asked about at once.
_AT_ONCE = 16


@dataclass(slots=True)
class TaskTakers:
    """Asks Temporal."""

    settings: server_settings.Temporal
    _reader: "connections.QueueReader | None" = None

    async def of(self, queues: Sequence[str]) -> dict[str, tuple[worker_service.Taker, ...]]:
        """Return who takes tasks from each queue.

        Raises:
            errors.UserError: A file that the settings name cannot be read.
            errors.TemporaryError: Temporal does not answer.
        """
        # Here alone: most installations do without it.
        from volary.engine.temporal import connections

        reader = self._reader or connections.QueueReader(self.settings, "server, asking")
        slots, self._reader = asyncio.Semaphore(_AT_ONCE), reader

        async def ask(queue: str) -> tuple[worker_service.Taker, ...]:
            async with slots:
                known = await reader.pollers(queue)
            return tuple(worker_service.Taker(one.identity, one.seen) for one in known)

        found = await asyncio.gather(*map(ask, queues))
        return dict(zip(queues, found, strict=True))
