"""``WAIT`` takes its time, and gives up politely."""

import asyncio
from datetime import timedelta
from typing import cast

import pytest

import stage_contexts
from volary.clusters.client import clients
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import catalog, waiting_stages
from volary.stages import registry
from volary.stages.runtime import contexts


class Silence:
    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None: ...

    def progress(self, progress: state.Progress) -> None: ...

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None: ...

    def took_over(self, title: str, claimant: str) -> None: ...


async def nothing() -> list[manifest.Manifest]:
    return []


def context(seconds: float, *, limit: float = 3600) -> contexts.StageContext:
    options = waiting_stages.WaitOptions(timedelta(seconds=seconds))
    return stage_contexts.context(
        application=applications.Application(name="shop"),
        stage=pipelines.Stage(waiting_stages.WAIT.name, options),
        target="us",
        client=cast("clients.Client", None),
        commit="abc",
        target_source=nothing,
        report=Silence(),
        clock=stage_contexts.LoopClock(),
        timeout=timedelta(seconds=limit),
    )


@pytest.mark.looptime
async def test_it_lasts_as_long_as_it_says(looptime: float) -> None:
    found = await registry.run(context(300))

    assert (found.status, found.reason) == ("succeeded", "waited for 5m")
    assert looptime == 300
    assert not found.touched


@pytest.mark.looptime
async def test_it_ends_early_when_asked_to(looptime: float) -> None:
    waiting = context(300)

    async def ask() -> None:
        await asyncio.sleep(20)
        waiting.task.stop.raise_flag("eu failed")

    async with asyncio.TaskGroup() as group:
        group.create_task(ask())
        task = group.create_task(registry.run(waiting))

    assert task.result().status == "cancelled"
    assert task.result().reason == "eu failed; no longer waiting"
    assert looptime == 20


@pytest.mark.looptime
async def test_a_wait_longer_than_the_stage_fails_at_once(looptime: float) -> None:
    found = await registry.run(context(300, limit=60))

    assert found.status == "failed"
    assert looptime == 0


def test_every_kind_of_stage_has_a_runner() -> None:
    runners = [registry.runner_of(kind) for kind in catalog.KINDS.values()]

    assert [runner.kind for runner in runners] == list(catalog.KINDS.values())
