"""What is forgotten, and when."""

import asyncio
from datetime import timedelta

import pytest

from fixed_clock import FixedClock
from volary.controller.persistence import retention
from volary.model import server_settings
from volary.store import factory, records

SETTINGS = server_settings.Retention(days=30, runs=5)


@pytest.mark.looptime
async def test_a_minute_after_the_beginning_and_then_every_hour_old_records_are_removed() -> None:
    clock = FixedClock()
    left = []
    async with factory.open_store("memory:", clock=clock) as store, asyncio.TaskGroup() as group:
        forgetting = group.create_task(
            retention.enforce_periodically(store, SETTINGS, fence=None, clock=clock)
        )
        for seconds in (50, 20, 3500, 100):
            await store.audit.write(records.AuditRecord(clock.now(), "ana", "run.cancel", "ok"))
            clock.forward(days=61)
            await asyncio.sleep(seconds)
            wanted = records.AuditFilter(action="run.cancel")
            left.append(len((await store.audit.list(wanted)).items))
        forgetting.cancel()

    assert left == [1, 0, 1, 0]


def test_the_audit_is_kept_twice_as_long_as_runs() -> None:
    clock = FixedClock()

    assert retention.cutoffs(SETTINGS, clock) == records.Retention(
        clock.now() - timedelta(days=30), 5, clock.now() - timedelta(days=60)
    )
