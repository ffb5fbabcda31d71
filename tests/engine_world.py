"""Runs carried out by either engine, on clusters in memory: what both promise is asked of both.

A world is one process' life. Another one with the same `Place` goes on with what it left.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import temporal_world
from volary.engine import executor
from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.persistence import codec, pieces, transitions
from volary.engine.runs import state
from volary.engine.temporal import documents
from volary.model import errors
from volary.model.runs import run_records

Clock = temporal_world.WallClock


class Keeper(temporal_world.MemoryKeeper):
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
    queues: documents.Queues = field(default_factory=temporal_world.queues)


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

    def runner(
        self, run: state.Run, performer: executor.StageExecutor, *observers: feed.Observer
    ) -> runners.AnyRunner:
        stored = self.keeper.stored(run)
        newest = codec.read_run(stored)
        journal = _Journal(self.keeper, newest, stored.version)
        return runners.Runner(newest, performer, clock=Clock(), keeper=journal, observers=observers)


@contextlib.asynccontextmanager
async def opened(place: Place, **settings: Any) -> AsyncIterator[World]:
    """Begin a process; `settings` are those of `temporal_world.opened`."""
    if not place.temporal:
        yield _LocalWorld(place.keeper)
        return
    async with temporal_world.opened(
        place.temporal, at=place.queues, keeper=place.keeper, **settings
    ) as world:
        yield world
