"""``volary demo --scenario distributed`` in a process of its own."""

from pathlib import Path

import pytest

from demo_world import demo
from volary.demo import postgres_server, temporal_server


async def test_a_release_survives_the_loss_of_each_process_in_turn(tmp_path: Path) -> None:
    if postgres_server.programs() is None or temporal_server.program() is None:
        pytest.skip("the extra `distributed` is not installed")

    told = await demo(tmp_path / "distributed", "distributed")

    assert told.code == 0, told
    lost = [line for line in told.out.splitlines() if "(kill -9)" in line]
    assert len(lost) == 3, told.out
    assert "  Temporal (kill -9)" in told.out
    assert told.out.count(" connected ") == 3, "each cluster has an agent"
    assert ", 0 lost" in told.out
    assert "2 commits, 2 runs: none was lost or doubled" in told.out
