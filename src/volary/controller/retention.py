"""Forgetting: the database does not grow for ever."""

import asyncio
import logging
from datetime import timedelta

from volary.model import clock as clocks
from volary.model import controller, errors, record
from volary.store import protocol, records

_LOG = logging.getLogger(__name__)

#: Between two rounds, and until the first one.
_INTERVAL, _FIRST = timedelta(hours=1), timedelta(minutes=1)


def rule(settings: controller.Retention, clock: clocks.Clock) -> records.Retention:
    """Return what may be forgotten now; the audit is kept twice as long as runs."""
    now = clock.now()
    return records.Retention(
        before=now - settings.age,
        keep_runs_per_application=settings.runs,
        audit_before=now - 2 * settings.age,
    )


async def keep_forgetting(
    store: protocol.Store,
    settings: controller.Retention,
    *,
    fence: record.Fence | None,
    clock: clocks.Clock,
) -> None:
    """Forget what may be forgotten, once an hour, until cancelled."""
    await asyncio.sleep(_FIRST.total_seconds())
    while True:
        try:
            pruned = await store.prune(rule(settings, clock), fence=fence)
            _LOG.info("forgotten: %d runs, %d log lines", pruned.runs, pruned.logs)
        except errors.TemporaryError as error:
            _LOG.warning("nothing was forgotten this time: %s", error)
        await asyncio.sleep(_INTERVAL.total_seconds())
