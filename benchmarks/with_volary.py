"""The candidate that is measured: `clusters.apply` on all clusters of a pool at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import objects
from volary.clusters.apply import applier
from volary.clusters.client import client_pool, clients
from volary.config.fleet import fleet_files


class _WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 (here the clock is made)


async def _client(members: client_pool.ClientPool, name: str) -> clients.Client:
    found = await members.client(name)
    if isinstance(found, client_pool.Unavailable):
        raise RuntimeError(found.reason)
    return found


@contextlib.asynccontextmanager
async def opened(fleet_file: Path, namespace: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Open a pool and yield one pass over all its clusters."""
    text = fleet_file.read_text()
    fleet = fleet_files.parse(text, file=str(fleet_file), directory=str(fleet_file.parent))
    manifests = objects.build(namespace)
    async with client_pool.open_pool(fleet.require(), clock=_WallClock()) as members:
        # The files are read before the pass, as by the floor; nothing has been sent yet.
        ready = [await _client(members, name) for name in fleet.require().names]

        async def apply_to(client: clients.Client) -> None:
            changes = await applier.SetApply(client).apply(manifests)
            if len(changes.changes) != objects.TOTAL:
                raise RuntimeError(f"{len(changes.changes)} changes of {objects.TOTAL}")

        async def act() -> None:
            async with asyncio.TaskGroup() as group:
                for client in ready:
                    group.create_task(apply_to(client))

        yield act
