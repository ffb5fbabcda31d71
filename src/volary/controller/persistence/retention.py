"""Forgetting: the database does not grow for ever."""

import asyncio
import logging
from datetime import timedelta

from volary.model import clocks, errors, server_settings
from volary.model.runs import run_records
from volary.store import records, stores

_LOG = logging.getLogger(__name__)

#: Between two rounds, and until the first one.
_INTERVAL, _FIRST = timedelta(hours=1), timedelta(minutes=1)


def cutoffs(settings: server_settings.Retention, clock: clocks.Clock) -> records.Retention:
    """Return what may be removed now; the audit is kept twice as long as runs."""
    now = clock.now()
    return records.Retention(
        before=now - timedelta(days=settings.days),
        keep_runs_per_application=settings.runs,
        audit_before=now - 2 * timedelta(days=settings.days),
    )


async def enforce_periodically(
    store: stores.Store,
    settings: server_settings.Retention,
    *,
    fence: run_records.Fence | None,
    clock: clocks.Clock,
) -> None:
    """Remove what retention allows, once an hour, until cancelled."""
    await asyncio.sleep(_FIRST.total_seconds())
    while True:
        try:
            pruned = await store.prune(cutoffs(settings, clock), fence=fence)
            _LOG.info("retention: removed %d runs, %d log lines", pruned.runs, pruned.logs)
        except errors.TemporaryError as error:
            _LOG.warning("retention: nothing removed this time: %s", error)
        await asyncio.sleep(_INTERVAL.total_seconds())
