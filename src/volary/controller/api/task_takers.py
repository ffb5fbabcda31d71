"""Who takes tasks from Temporal's queues, as Temporal knows it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from volary.controller.api import agent_service
from volary.model import server_settings

if TYPE_CHECKING:
    from temporalio import client

#: Queues that are asked about at once.
_AT_ONCE = 16


@dataclass(slots=True)
class TaskTakers:
    """Asks Temporal; its connection is opened with the first question."""

    settings: server_settings.Temporal
    _client: "client.Client | None" = None
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, queues: Sequence[str]) -> dict[str, tuple[agent_service.Taker, ...]]:
        """Return who takes tasks from each queue.

        Raises:
            errors.UserError: A file that the settings name cannot be read.
            errors.TemporaryError: Temporal does not answer.
        """
        # Here alone: most installations do without it.
        from volary.engine.temporal import connections

        async with self._opening:
            if self._client is None:
                role = connections.identity_of("server, asking")
                connection = connections.of_settings(self.settings, role)
                self._client = await connections.connect(connection)
        slots, asked = asyncio.Semaphore(_AT_ONCE), self._client

        async def ask(queue: str) -> tuple[agent_service.Taker, ...]:
            async with slots:
                known = await connections.pollers(asked, queue)
            return tuple(agent_service.Taker(one.identity, one.seen) for one in known)

        found = await asyncio.gather(*map(ask, queues))
        return dict(zip(queues, found, strict=True))
