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
    failures, said = 0, ""
    async with runs.reporting():
        while True:
            try:
                await _take(connection, queues, runs, elapsed)
            except errors.TemporaryError as error:
                failures += 1
                if said != str(error):
                    said = str(error)
                    _LOG.warning("%s", said)
            await asyncio.sleep(_AGAIN.after(failures).total_seconds())


async def _take(
    connection: connections.Connection,
    queues: Queues,
    runs: bundled_runs.BundledRuns,
    elapsed: Callable[[], float],
) -> None:
    """Take tasks for as long as Temporal lets it.

    Raises:
        errors.TemporaryError: It does not.
    """
    connected = await connections.connect(connection)
    workers = [
        engine_hosts.task_worker(connected, f"{queues.prefix}{cluster}", runs, elapsed)
        for cluster in queues.clusters
    ]
    async with engine_hosts.working_with(*workers):
        for each in workers:
            _LOG.info("takes tasks from %s", each.task_queue)
        await asyncio.Event().wait()
