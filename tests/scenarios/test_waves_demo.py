"""``volary demo --scenario waves`` in a process of its own."""

from pathlib import Path

import pytest

import command_world


@pytest.mark.timeout(240)
async def test_a_lost_cluster_is_gone_without_and_caught_up(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    typing = command_world.Shell(tmp_path, command_world.environment(tmp_path))

    async with typing.start("demo", "--scenario", "waves") as started:
        told = await started.ended()

    assert told.code == 0, told
    first, _, rest = told.out.partition("3. eu-2 is back")
    assert "wave 2   quarter: us-2, eu-2, asia-2 (2 at once, 1 may be unreachable)" in first
    assert "eu-2 is lost now" in first
    assert "the run went on without eu-2 (unreachable: " in first
    assert first.count("fleet 2/2   users: v2 100%") == 11
    assert rest.count("fleet 2/2   users: v2 100%") == 12
    assert list((tmp_path / "tmp").iterdir()) == []
