"""What a commit costs on a cluster, counted by its API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import command_world
import controller_world
import request_counts

APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
"""
#: For each application and cluster, of a commit that changes two of its objects.
MOST = 16


@pytest.fixture
def counts() -> request_counts.RequestCounts:
    return request_counts.RequestCounts()


@pytest.fixture
async def given(
    tmp_path: Path, counts: request_counts.RequestCounts
) -> AsyncIterator[command_world.World]:
    """A cluster and an application of three objects, which run there."""
    async with command_world.world(tmp_path, "us", middlewares=(counts.middleware,)) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": APPLICATION}, message="Sync")
        yield world


def change_two(given: command_world.World) -> str:
    given.edit("config.yaml", "hello", "good morning", message="")
    return given.edit("deployment.yaml", "simple:v1", "simple:v2", message="Release v2")


def change_none(given: command_world.World) -> str:
    return given.write({"NOTES": "Nothing that runs.\n"}, message="Note it")


@pytest.mark.parametrize("many", [2, 0])
async def test_a_commit_on_the_server(
    given: command_world.World, counts: request_counts.RequestCounts, many: int
) -> None:
    async with controller_world.controlled(given) as server:
        first = given.write({"NOTES": "First.\n"}, message="First")
        await server.synced(first)
        counts.lines.clear()

        commit = change_two(given) if many else change_none(given)
        await server.synced(commit)

    assert len(counts.of()) <= MOST, "\n".join(counts.of())


@pytest.mark.parametrize("many", [2, 0])
async def test_a_commit_by_the_command(
    given: command_world.World, counts: request_counts.RequestCounts, many: int
) -> None:
    await given.deployed()
    change_two(given) if many else change_none(given)
    counts.lines.clear()

    ended = await given.run()

    assert ended.code == 0, ended
    assert len(counts.of()) <= MOST, "\n".join(counts.of())
