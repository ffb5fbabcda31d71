"""Takes the tasks of clusters from Temporal, and carries them out as they were ordered."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
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
    until_unknown: Callable[[], Awaitable[None]],
) -> None:
    """Take tasks until cancelled; where Temporal is away, again and again.

    Being cancelled is shutting down: what is under way is begun again by whoever takes it. So is
    not being known any more: who takes tasks then would hold them for nothing.

    Args:
        connection: How Temporal is reached.
        queues: Whose tasks are taken.
        runs: What they are carried out with.
        elapsed: Seconds that never stand still, also while the machine does.
        until_unknown: Returns when the servers do not know any more who takes tasks.

    Raises:
        errors.UserError: They do not.
    """
    failures, said = 0, ""
    async with runs.reporting():
        while True:
            try:
                await _take(connection, queues, runs, elapsed, until_unknown)
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
    until_unknown: Callable[[], Awaitable[None]],
) -> None:
    """Take tasks for as long as Temporal lets it.

    Raises:
        errors.TemporaryError: It does not.
        errors.UserError: The servers do not.
    """
    connected = await connections.connect(connection)
    workers = [
        engine_hosts.task_worker(connected, f"{queues.prefix}{cluster}", runs, elapsed)
        for cluster in queues.clusters
    ]
    async with engine_hosts.working_with(*workers):
        for each in workers:
            _LOG.info("takes tasks from %s", each.task_queue)
        await until_unknown()
    raise errors.user_error(
        "the servers do not know this identity any more",
        hint="it was removed, or its token was replaced: give this process the new one",
    )
