"""Runs carried out by either engine, on clusters in memory: what both promise is asked of both.

A world is one process' life. Another one with the same `Place` goes on with what it left.
"""

import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import engine_fixtures
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.persistence import codec, pieces, transitions
from volary.engine.runs import state
from volary.engine.temporal import documents
from volary.model import clocks, errors
from volary.model.runs import run_records

_NUMBERS = itertools.count()


class Clock:
    """Shows the real time, as Temporal's service does."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)


def queues() -> documents.Queues:
    """Return task queues that nobody else uses."""
    return documents.Queues(f"test-{next(_NUMBERS)}-{time.time_ns()}")


class MemoryKeeper:
    """Keeps every step, the very same one once."""

    def __init__(self) -> None:
        self.steps: list[run_records.Transition] = []

    async def keep_step(self, step: run_records.Transition, _: Sequence[feed.RunEvent]) -> None:
        if not (self.steps and self.steps[-1] == step):
            self.steps.append(step)


class Keeper(MemoryKeeper):
    """Keeps every step once, in order, and each answer once, as the store does."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, str] = {}

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        if self.steps and self.steps[-1] == step:
            return
        if self.steps and step.expected_version != self.steps[-1].version:
            raise errors.PermanentError("somebody else has advanced the run")
        for answer in step.answers:
            if answer.request in self.answers:
                raise runners.AlreadyAnswered(self.answers[answer.request])
        self.answers |= {answer.request: answer.refusal for answer in step.answers}
        await super().keep_step(step, told)

    def stored(self, planned: state.Run) -> run_records.StoredRun:
        """Return a run as it was kept last; `planned` is as it began."""
        stored = pieces.of_run(planned, 1, Clock().now())
        for step in self.steps:
            stored = pieces.after(stored, step)
        return stored

    def newest(self, planned: state.Run) -> state.Run:
        """Return a run as it was kept last; `planned` is as it began."""
        return codec.read_run(self.stored(planned))


@dataclass
class _Journal:
    """What `Keeper` is to a runner in this process."""

    keeper: Keeper
    run: state.Run
    version: int

    async def keep(self, record: runners.StepRecord) -> None:
        step = transitions.step_transition(
            self.run, record.happened, record.run, record.told, self.version
        )
        await self.keeper.keep_step(step, record.told)
        self.run, self.version = record.run, step.version


@dataclass
class Place:
    """What outlives a process: what was kept, and where Temporal is."""

    #: ``host:port``; empty: processes carry runs out themselves.
    temporal: str = ""
    keeper: Keeper = field(default_factory=Keeper)
    queues: documents.Queues = field(default_factory=queues)


class World(Protocol):
    """One process."""

    def runner(
        self, run: state.Run, performer: executor.StageExecutor, *observers: feed.Observer
    ) -> runners.AnyRunner:
        """Return what carries a run out, from its beginning or as it was kept."""
        ...


@dataclass
class _LocalWorld:
    keeper: Keeper
    clock: clocks.Clock = field(default_factory=Clock)

    def runner(
        self, run: state.Run, performer: executor.StageExecutor, *observers: feed.Observer
    ) -> runners.AnyRunner:
        stored = self.keeper.stored(run)
        newest = codec.read_run(stored)
        journal = _Journal(self.keeper, newest, stored.version)
        return runners.Runner(
            newest, performer, clock=self.clock, keeper=journal, observers=observers
        )


@contextlib.asynccontextmanager
async def opened(place: Place, **settings: Any) -> AsyncIterator[World]:
    """Begin a process; `settings` are those of `temporal_world.opened`."""
    if not place.temporal:
        yield _LocalWorld(place.keeper)
        return
    # Here alone: what runs without Temporal needs not have it.
    import temporal_world

    async with temporal_world.opened(
        place.temporal, at=place.queues, keeper=place.keeper, **settings
    ) as world:
        yield world


@contextlib.asynccontextmanager
async def chosen(clock: clocks.Clock) -> AsyncIterator[World]:
    """Begin a process with the engine of the test (`engine_fixtures`); events go by `clock`.

    With Temporal they go by its service's.
    """
    engine = engine_fixtures.settings().temporal
    if engine is None:
        yield _LocalWorld(Keeper(), clock)
        return
    import temporal_world

    async with temporal_world.opened(
        engine.address,
        namespace=engine.namespace,
        heartbeat_seconds=engine.heartbeat.total_seconds(),
        keeper=Keeper(),
    ) as world:
        yield world
