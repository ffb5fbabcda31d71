"""What a commit costs on a cluster, counted by its API server."""

from collections.abc import AsyncIterator, Callable
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
MOST = 10
#: Of one that changes none.
MOST_TO_SEE_NOTHING = 6

Change = Callable[[command_world.World], str]
Check = Callable[[request_counts.RequestCounts], None]


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


def check_change(counts: request_counts.RequestCounts) -> None:
    """Within the budget are all but the watches of what is waited for, which are streams."""
    watches = counts.of("watch")
    assert len(counts.of()) - len(watches) <= MOST, "\n".join(counts.of())
    assert {line.split()[1] for line in watches} <= {"deployments", "pods"}
    assert [line.split()[1] for line in counts.of("try")] == ["configmaps", "deployments"]
    assert [line.split()[1] for line in counts.of("patch")] == [*["configmaps"] * 2, "deployments"]


def check_nothing(counts: request_counts.RequestCounts) -> None:
    """The inventory says that another commit runs, and that is all."""
    assert counts.of("try", "watch", "create", "update", "delete") == []
    (written,) = counts.of("patch")
    assert written.startswith("patch configmaps volary-inventory-")
    assert len(counts.of("get", "list")) <= MOST_TO_SEE_NOTHING, "\n".join(counts.of())


def generations(given: command_world.World) -> list[str]:
    kinds = ("ConfigMap", "Deployment", "Service")
    return [given.find("us", kind, "simple")["metadata"]["resourceVersion"] for kind in kinds]


CHANGES = pytest.mark.parametrize(
    ("change", "check"),
    [(change_two, check_change), (change_none, check_nothing)],
    ids=["two objects", "none"],
)


@CHANGES
async def test_a_commit_on_the_server(
    given: command_world.World,
    counts: request_counts.RequestCounts,
    change: Change,
    check: Check,
) -> None:
    async with controller_world.controlled(given) as server:
        first = given.write({"NOTES": "First.\n"}, message="First")
        await server.synced(first)
        before = generations(given)
        counts.lines.clear()

        await server.synced(change(given))

    check(counts)
    assert counts.of("discover", "review") == [], "that is remembered"
    assert (generations(given) == before) == (change is change_none)


@CHANGES
async def test_a_commit_by_the_command(
    given: command_world.World,
    counts: request_counts.RequestCounts,
    change: Change,
    check: Check,
) -> None:
    await given.deployed()
    change(given)
    counts.lines.clear()

    ended = await given.run()

    assert ended.code == 0, ended
    check(counts)
    assert len(counts.of("discover", "review")) <= 3
