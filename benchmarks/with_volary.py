"""The candidate that is measured: `clusters.apply` on all clusters of a pool at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import objects
from volary.clusters import apply, pool
from volary.config import fleet as fleet_files


class _WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (here the clock is made)


@contextlib.asynccontextmanager
async def opened(fleet_file: Path, namespace: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Open a pool and yield one pass over all its clusters."""
    text = fleet_file.read_text()
    fleet = fleet_files.parse(text, file=str(fleet_file), directory=str(fleet_file.parent))
    manifests = objects.build(namespace)
    async with pool.open_pool(fleet.require(), clock=_WallClock()) as clients:

        async def apply_to(name: str) -> None:
            client = await clients.client(name)
            if isinstance(client, pool.Unavailable):
                raise RuntimeError(client.reason)
            changes = await apply.apply_set(client, manifests)
            if len(changes.changes) != objects.TOTAL:
                raise RuntimeError(f"{len(changes.changes)} changes of {objects.TOTAL}")

        async def act() -> None:
            async with asyncio.TaskGroup() as group:
                for name in fleet.require().names:
                    group.create_task(apply_to(name))

        yield act
