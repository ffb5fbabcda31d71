"""Tasks that others than who opened the run carry out, by orders that nobody here reads."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

import engine_clusters
import temporal_server
import temporal_world
from engine_clusters import Clusters
from volary.engine import executor
from volary.engine.runs import run_builder, state
from volary.model import json, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages, rollout_stages, waiting_stages
from volary.model.statuses import RunStatus, TaskStatus

_OPTIONS = {
    rollout_stages.CANARY_ROLLOUT: rollout_stages.CANARY_ROLLOUT.options(),
    waiting_stages.WAIT: waiting_stages.WaitOptions(timedelta(seconds=1)),
    external_stages.SCRIPT_RUN: external_stages.ScriptOptions("true"),
}


def planned() -> state.Run:
    """A run of a stage that writes and two that do not, on us."""
    stages = tuple(
        pipelines.Stage(kind.name, options, timeout=timedelta(minutes=10))
        for kind, options in _OPTIONS.items()
    )
    spec = run_builder.RunSpec("shop", "new", run_builder.one_group(("us",)), stages, "old")
    return run_builder.new_run("run-1", spec, datetime(2026, 1, 1, tzinfo=UTC))


def kinds(clusters: Clusters) -> list[str]:
    """Return which stages were carried out, in order."""
    return [stage.partition("-")[2] for stage, _, _ in clusters.started]


async def test_what_writes_is_carried_out_beside_the_cluster_and_the_rest_here(
    temporal: temporal_server.Server,
) -> None:
    at, run = temporal_world.queues(), planned()
    here, beside = Clusters(), temporal_world.Beside(Clusters())

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, beside),
    ):
        ended = await world.runner(run, here, orders={"us": temporal_world.ORDER}).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert kinds(beside.clusters) == ["K8S_CANARY_ROLLOUT"]
    assert kinds(here) == ["WAIT", "SCRIPT_RUN"]
    assert beside.concluded == ["us"]


async def test_a_rollback_is_carried_out_beside_the_cluster_whatever_failed(
    temporal: temporal_server.Server,
) -> None:
    at, run = temporal_world.queues(), planned()
    here, beside = Clusters(us=engine_clusters.refused), temporal_world.Beside(Clusters())

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, beside),
    ):
        ended = await world.runner(run, here, orders={"us": temporal_world.ORDER}).carry_out()

    assert ended.status is RunStatus.ROLLED_BACK
    assert beside.clusters.started[-1][0] == state.ROLLBACK_ID
    assert state.ROLLBACK_ID not in [stage for stage, _, _ in here.started]
    assert beside.concluded == []


class Rollbacks(Clusters):
    """Clusters that keep what they are told of rollbacks, and say how one of them ends."""

    def __init__(self, ends: statuses.TaskStatus = TaskStatus.SUCCEEDED) -> None:
        super().__init__()
        self.ends = ends
        self.told: list[executor.TaskContext] = []

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        if task.stage_id == state.ROLLBACK_ID:
            self.told.append(task)
            return engine_clusters.done(self.ends, "it is back")
        if getattr(task.stage.options, "run", "") == "false":
            return engine_clusters.done(TaskStatus.FAILED, "the script ended with status 1")
        return await super().execute(task, report)


@pytest.mark.parametrize(
    ("ends", "is_undone"), [(TaskStatus.SUCCEEDED, True), (TaskStatus.CANCELLED, False)]
)
async def test_scripts_are_run_here_once_a_cluster_was_taken_back_beside_it(
    temporal: temporal_server.Server, ends: statuses.TaskStatus, is_undone: bool
) -> None:
    stages = (
        script("true", on_rollback="down"),
        pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SYNC.options()),
        script("false"),
    )
    spec = run_builder.RunSpec("shop", "new", run_builder.one_group(("us",)), stages, "old")
    run = run_builder.new_run("run-1", spec, datetime(2026, 1, 1, tzinfo=UTC))
    at, here, there = temporal_world.queues(), Rollbacks(), Rollbacks(ends)

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, temporal_world.Beside(there)),
    ):
        ended = await world.runner(run, here, orders={"us": temporal_world.ORDER}).carry_out()

    assert ended.status is (RunStatus.ROLLED_BACK if is_undone else RunStatus.FAILED)
    assert [(task.rolled_back, names(task.begun)) for task in there.told] == [
        (None, ["K8S_SYNC", "SCRIPT_RUN"])
    ]
    assert [(task.rolled_back, names(task.begun)) for task in here.told] == [
        (engine_clusters.done(ends, "it is back"), ["SCRIPT_RUN", "K8S_SYNC", "SCRIPT_RUN"])
    ] * is_undone


def script(text: str, on_rollback: str = "") -> pipelines.Stage:
    options = external_stages.ScriptOptions(text, on_rollback=on_rollback)
    return pipelines.Stage(external_stages.SCRIPT_RUN.name, options)


def names(stages: tuple[pipelines.Stage, ...]) -> list[str]:
    return [stage.name for stage in stages]


async def test_what_is_refused_fails_the_task_and_touches_nothing(
    temporal: temporal_server.Server,
) -> None:
    at, run = temporal_world.queues(), planned()
    beside = temporal_world.Beside(Clusters())

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, beside),
    ):
        ended = await world.runner(run, Clusters(), orders={"us": {"order": "x"}}).carry_out()

    assert ended.status is RunStatus.FAILED
    assert "no order for us" in ended.reason
    assert ended.touched == ()
    assert beside.clusters.started == []


@pytest.mark.parametrize("newcomers", [1, 2])
async def test_what_somebody_takes_who_has_joined_since_is_left_to_others(
    temporal: temporal_server.Server, newcomers: int
) -> None:
    """Nothing was begun by whom the order is not for: no worker is lost, and nothing fails."""
    at, run = temporal_world.queues(), planned()
    beside = temporal_world.Beside(Clusters(), newcomers)

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, beside),
    ):
        orders = {"us": temporal_world.ORDER}
        ended = await world.runner(run, Clusters(), orders=orders).carry_out()

    assert ended.status is RunStatus.SUCCEEDED
    assert [attempt for _, _, attempt in beside.clusters.started] == [1]
    assert beside.concluded == ["us"]


async def test_a_cluster_whose_orders_are_for_nobody_who_takes_them_is_unreachable(
    temporal: temporal_server.Server,
) -> None:
    at, beside = temporal_world.queues(), temporal_world.Beside(Clusters(), newcomers=1_000)

    async with (
        temporal_world.opened(temporal.address, at=at) as world,
        temporal_world.working(temporal.address, at, beside),
    ):
        world.host.untaken_seconds = 4.0
        orders = {"us": temporal_world.ORDER}
        ended = await world.runner(planned(), Clusters(), orders=orders).carry_out()

    assert ended.status is RunStatus.FAILED
    assert "who takes tasks of us has joined since the orders were given" in ended.reason
    assert ended.touched == ()
    assert beside.clusters.started == []


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({}, "no agent or worker of us has joined"),
        (temporal_world.ORDER, "no agent or worker of us takes tasks"),
    ],
)
async def test_a_cluster_that_nobody_works_in_is_unreachable(
    temporal: temporal_server.Server, order: json.JsonObject, why: str
) -> None:
    here = Clusters()

    async with temporal_world.opened(temporal.address) as world:
        world.host.untaken_seconds = 1.0
        ended = await world.runner(planned(), here, orders={"us": order}).carry_out()

    assert ended.status is RunStatus.FAILED
    assert why in ended.reason
    assert ended.touched == ()
    assert here.started == []
