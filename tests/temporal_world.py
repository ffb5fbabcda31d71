"""Runs on a real Temporal server, with clusters in memory."""

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import client, converter
from temporalio.api.common.v1 import Payload
from temporalio.service import RPCError as RPCError

import engine_world
import process_time
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import run_builder, state
from volary.engine.temporal import (
    connections,
    documents,
    engine_hosts,
    hosted_runs,
    leases,
    temporal_runner,
)
from volary.model import json
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages


def elapsed() -> float:
    """Return the seconds of a clock that nobody sets."""
    return time.monotonic()


WallClock = engine_world.Clock
MemoryKeeper = engine_world.MemoryKeeper
queues = engine_world.queues


class TemporalWorld:
    """One process with an engine of its own, on queues of its own."""

    def __init__(self, host: engine_hosts.EngineHost, keeper: MemoryKeeper) -> None:
        self.host = host
        self.keeper = keeper

    def runner(
        self,
        run: state.Run,
        performer: executor.StageExecutor,
        *observers: feed.Observer,
        under: Callable[
            [leases.Lease], contextlib.AbstractContextManager[None]
        ] = hosted_runs.write_freely,
        orders: documents.Orders | None = None,
    ) -> temporal_runner.TemporalRunner:
        """Return what has a run carried out, from its first version on or as it was kept."""
        stored = pieces.of_run(run, 1, WallClock().now())
        for step in self.keeper.steps:
            stored = pieces.after(stored, step)
        hosted = hosted_runs.HostedRun(
            performer,
            WallClock(),
            list(observers),
            under,
            stored=stored,
            keeper=self.keeper,
        )
        if orders is not None:

            async def given() -> documents.Orders:
                return orders

            hosted.orders = given
        return temporal_runner.TemporalRunner(hosted, self.host)


class _AsItIs(converter.EncodingPayloadConverter):
    """Payloads themselves, as somebody writes them who is not Volary."""

    @property
    def encoding(self) -> str:
        return "payload"

    def to_payload(self, value: Any) -> Payload | None:
        return value if isinstance(value, Payload) else None

    def from_payload(self, payload: Payload, _: type | None = None) -> Any:
        return payload


class _Payloads(converter.CompositePayloadConverter):
    def __init__(self) -> None:
        super().__init__(_AsItIs())


def undecoded(connection: client.Client) -> client.Client:
    """Return a client that sends payloads as they are."""
    config = connection.config()
    config["data_converter"] = converter.DataConverter(payload_converter_class=_Payloads)
    return client.Client(**config)


async def connected(address: str) -> client.Client:
    """Return a client of the server."""
    return await connections.connect(connections.Connection(address))


@contextlib.asynccontextmanager
async def opened(
    address: str,
    *,
    at: documents.Queues | None = None,
    heartbeat_seconds: float = 10.0,
    most_events: int = engine_hosts.MOST_EVENTS,
    most_tasks: int = engine_hosts.MOST_UNDER_WAY,
    keeper: MemoryKeeper | None = None,
    steady: Callable[[], float] = elapsed,
    namespace: str = "default",
) -> AsyncIterator[TemporalWorld]:
    """Open an engine; `steady` is a clock nobody sets."""
    host = engine_hosts.EngineHost(
        await connections.connect(connections.Connection(address, namespace)),
        steady,
        at or queues(),
        heartbeat_seconds,
        most_events,
        most_tasks=most_tasks,
    )
    async with host.working():
        yield TemporalWorld(host, keeper or MemoryKeeper())


#: What whoever works beside a cluster believes.
ORDER: json.JsonObject = {"order": "of somebody else"}


def elsewhere(world: TemporalWorld, run: state.Run) -> documents.Orders:
    """Return orders that leave all tasks to others, who are waited for as long as it takes."""
    world.host.untaken_seconds = process_time.HANG
    return dict.fromkeys(run.targets, ORDER)


class Beside:
    """Carries tasks out beside a cluster; refuses what has another order.

    Args:
        clusters: With whom.
        newcomers: So many times somebody takes a task, and what follows a run's end, whom the
            order is not for.
    """

    def __init__(self, clusters: executor.StageExecutor, newcomers: int = 0) -> None:
        self.clusters = clusters
        self._newcomers = {"task": newcomers, "end": newcomers}
        self.concluded: list[str] = []

    async def of_task(
        self, context: executor.TaskContext, order: json.JsonObject
    ) -> hosted_runs.TaskHost:
        self._check(order, context.target, "task")
        return hosted_runs.TaskHost(self.clusters, WallClock(), [])

    async def of_conclusion(self, given: documents.ConclusionInput) -> hosted_runs.TaskHost:
        async def conclude() -> None:
            self.concluded.append(given.target)

        self._check(given.order, given.target, "end")
        return hosted_runs.TaskHost(self.clusters, WallClock(), [], conclude=conclude)

    def _check(self, order: json.JsonObject, target: str, what: str) -> None:
        if self._newcomers[what]:
            self._newcomers[what] -= 1
            raise hosted_runs.OtherRecipientsError("the artifact is sealed for another key")
        if order != ORDER:
            raise hosted_runs.RefusedError(f"no order for {target}")


@contextlib.asynccontextmanager
async def working(
    address: str, at: documents.Queues, beside: Beside, cluster: str = "us"
) -> AsyncIterator[None]:
    connected = await connections.connect(connections.Connection(address))
    worker = engine_hosts.task_worker(connected, at.cluster(cluster), beside, time.monotonic)
    async with worker:
        yield


def planned(*, concurrency: int = 0) -> state.Run:
    """Return a planned run of two stages on us and eu."""
    stages = tuple(
        pipelines.Stage(kind.name, kind.options(), timeout=timedelta(minutes=10))
        for kind in (rollout_stages.CANARY_ROLLOUT, rollout_stages.PRIMARY_ROLLOUT)
    )
    groups = run_builder.one_group(("us", "eu"), concurrency=concurrency)
    made = run_builder.RunSpec("shop", "new", groups, stages, "old")
    return run_builder.new_run("run-1", made, datetime(2026, 1, 1, tzinfo=UTC))
