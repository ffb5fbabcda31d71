"""Runs on a real Temporal server, with clusters in memory."""

import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import process_time
from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import state
from volary.engine.temporal import desks, documents, engine_hosts, temporal_runner
from volary.model.runs import run_records

_NUMBERS = itertools.count()


class WallClock:
    """Shows the real time, as the server does."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


class MemoryKeeper:
    """Keeps every step, the very same one once."""

    def __init__(self) -> None:
        self.steps: list[run_records.Transition] = []

    async def keep_step(self, step: run_records.Transition, _: Sequence[feed.RunEvent]) -> None:
        if not (self.steps and self.steps[-1] == step):
            self.steps.append(step)


class TemporalWorld:
    """One process with an engine of its own, on queues of its own."""

    def __init__(self, host: engine_hosts.EngineHost) -> None:
        self.host = host
        self.keeper = MemoryKeeper()

    def runner(
        self,
        run: state.Run,
        performer: executor.StageExecutor,
        *observers: feed.Observer,
        version: int = 1,
    ) -> temporal_runner.TemporalRunner:
        """Return what has a run carried out."""
        desk = desks.Desk(
            pieces.of_run(run, version, WallClock().now()),
            performer,
            self.keeper,
            WallClock(),
            list(observers),
        )
        return temporal_runner.TemporalRunner(desk, self.host)


def queues() -> documents.Queues:
    """Return task queues that nobody else uses."""
    return documents.Queues(f"test-{next(_NUMBERS)}-{time.time_ns()}")


@contextlib.asynccontextmanager
async def opened(
    address: str,
    clusters: Sequence[str],
    *,
    at: documents.Queues | None = None,
    heartbeat_seconds: float = 10.0,
    most_events: int = engine_hosts.MOST_EVENTS,
) -> AsyncIterator[TemporalWorld]:
    """Open an engine with workers for these clusters."""
    host = engine_hosts.EngineHost(
        await engine_hosts.connect(address),
        time.monotonic,
        at or queues(),
        heartbeat_seconds,
        most_events,
    )
    async with host.working(clusters):
        yield TemporalWorld(host)


async def until(holds, what: str = "") -> None:
    """Wait for something that no event tells of."""
    del what
    await process_time.until(holds)
