"""Clusters of one application that take different pipelines, and what that is good for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import command_world

LABELS = {"us": {"env": "prod"}, "eu": {"env": "prod"}, "dev-1": {"env": "dev"}}


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    """The example's first version runs on its three clusters."""
    async with command_world.world(
        tmp_path, "us", "eu", "dev-1", example="strategies", labels=LABELS
    ) as found:
        await found.deployed()
        yield found


async def test_each_cluster_takes_the_pipeline_of_its_strategy(
    given: command_world.World,
) -> None:
    assert given.images("dev-1", "search") == "example/search:v1 1/1"
    assert given.images("us", "search") == "example/search:v1 4/4"
    given.edit("base/deployment.yaml", "search:v1", "search:v2", message="Release v2")

    ended = await given.run("--output", "json")

    assert ended.code == 0, str(ended)
    started = [
        (each["stageName"], each["targets"])
        for each in ended.events
        if each["event"] == "stage-started"
    ]
    assert started == [
        ("K8S_SYNC", ["dev-1"]),
        ("K8S_CANARY_ROLLOUT", ["us", "eu"]),
        ("WAIT", ["us", "eu"]),
        ("K8S_PRIMARY_ROLLOUT", ["us", "eu"]),
        ("K8S_CANARY_CLEAN", ["us", "eu"]),
    ]
    assert given.images("dev-1", "search") == "example/search:v2 1/1"
    for target in ("us", "eu"):
        assert given.images(target, "search") == "example/search:v2 4/4"
        assert given.find(target, "Deployment", "search-canary") is None


async def test_what_breaks_in_the_first_strategy_never_reaches_the_second(
    given: command_world.World,
) -> None:
    given.running.clusters["dev-1"].faults.images.add("example/search:v2", "crash")
    deadline = "  replicas: 1\n  progressDeadlineSeconds: 60\n"
    given.edit("base/deployment.yaml", "  replicas: 1\n", deadline)
    given.edit("base/deployment.yaml", "search:v1", "search:v2", message="Release v2")
    before = given.find("us", "Deployment", "search")["metadata"]["resourceVersion"]

    ended = await given.run()

    assert ended.code == 1, str(ended)
    assert given.images("dev-1", "search") == "example/search:v1 1/1"
    assert given.find("us", "Deployment", "search")["metadata"]["resourceVersion"] == before


async def test_a_cluster_that_no_strategy_matches_is_named_before_anything_begins(
    given: command_world.World,
) -> None:
    given.edit("volary.yaml", "matchLabels: {env: dev}", "names: [us]", message="Forget dev")

    ended = await given.run()

    assert ended.code == 2, str(ended)
    assert "no strategy matches dev-1" in ended.err
