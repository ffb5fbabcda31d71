"""How long an activity may write."""

import asyncio

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from volary.clusters.transport import write_permits
from volary.engine.temporal import leases


class Elapsed:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_holds_for_four_fifths_of_the_timeout_from_before_the_heartbeat() -> None:
    elapsed = Elapsed()
    lease = leases.Lease(elapsed, 10.0)
    before = lease.is_valid

    elapsed.now += 3  # so long did the answer take
    lease.extend(100.0)

    assert not before
    assert lease.is_valid
    elapsed.now = 107.9
    assert lease.is_valid
    elapsed.now = 108.0
    assert not lease.is_valid


async def test_a_write_waits_for_the_next_answer_and_never_comes_after_the_end() -> None:
    elapsed = Elapsed()
    lease = leases.Lease(elapsed, 10.0)

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(lease.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        lease.extend(elapsed.now)
    lease.end()

    assert not lease.is_valid
    lease.extend(elapsed.now)
    with pytest.raises(leases.Overtaken):
        await lease.wait()


async def test_a_client_needs_the_permit_of_its_task_besides_that_of_its_process() -> None:
    elapsed = Elapsed()
    of_task, of_process = leases.Lease(elapsed, 10.0), leases.Lease(elapsed, 10.0)
    of_process.extend(elapsed.now)

    with write_permits.of_task(of_task):
        both = write_permits.Both(of_process)
    alone = write_permits.Both(of_process)

    assert alone.is_valid
    assert not both.is_valid
    of_task.extend(elapsed.now)
    assert both.is_valid
    await both.wait()
    of_process.end()
    assert not both.is_valid
    with pytest.raises(leases.Overtaken):
        await both.wait()
