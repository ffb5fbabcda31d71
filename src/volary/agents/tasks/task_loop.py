"""Takes the tasks of clusters from Temporal, and carries them out as they were ordered."""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from volary.agents.tasks import bundled_runs
from volary.engine.temporal import connections, engine_hosts
from volary.model import backoffs, errors

_LOG = logging.getLogger(__name__)
_AGAIN = backoffs.Backoff(timedelta(seconds=1), timedelta(seconds=30))


@dataclass(frozen=True, slots=True)
class Queues:
    """From which queues tasks are taken."""

    #: Of the names of all queues; that of the cluster follows.
    prefix: str
    clusters: Collection[str]


async def keep_taking(
    connection: connections.Connection,
    queues: Queues,
    runs: bundled_runs.BundledRuns,
    elapsed: Callable[[], float],
) -> None:
    """Take tasks until cancelled; where Temporal is away, again and again.

    Being cancelled is shutting down: what is under way is begun again by whoever takes it.

    Args:
        connection: How Temporal is reached.
        queues: Whose tasks are taken.
        runs: What they are carried out with.
        elapsed: Seconds that never stand still, also while the machine does.
    """
    connected = await _connected(connection)
    async with runs.reporting(), asyncio.TaskGroup() as group:
        for cluster in queues.clusters:
            queue = f"{queues.prefix}{cluster}"
            worker = engine_hosts.task_worker(connected, queue, runs, elapsed)
            group.create_task(worker.run(), name=f"worker of {queue}")
            _LOG.info("takes tasks from %s", queue)


async def _connected(connection: connections.Connection) -> connections.Client:
    failures = 0
    while True:
        try:
            return await connections.connect(connection)
        except errors.TemporaryError as error:
            failures += 1
            _LOG.warning("%s", error)
        await asyncio.sleep(_AGAIN.after(failures).total_seconds())
