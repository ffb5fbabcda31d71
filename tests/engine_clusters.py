"""Clusters in memory for either engine: they do what they are told, and wait for events only."""

import asyncio
from collections.abc import Awaitable, Callable

from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.model import errors, statuses
from volary.model.statuses import TaskStatus

Behaviour = Callable[[executor.TaskContext, executor.Reporter], Awaitable[statuses.Outcome]]


def done(status: TaskStatus = TaskStatus.SUCCEEDED, reason: str = "done") -> statuses.Outcome:
    """Return the outcome of a task that wrote."""
    return statuses.Outcome(status, reason, touched=True)


async def quick(_: executor.TaskContext, report: executor.Reporter) -> statuses.Outcome:
    """Succeed."""
    report.progress(state.Progress("1 of 1 pods ready", 1, 1))
    report.log("ready")
    return done()


async def broken(*_: object) -> statuses.Outcome:
    """Fail."""
    return done(TaskStatus.FAILED, "no such image")


async def refused(*_: object) -> statuses.Outcome:
    """Fail without having written anything."""
    return statuses.Outcome(TaskStatus.FAILED, "nobody may", touched=False)


async def patient(task: executor.TaskContext, _: executor.Reporter) -> statuses.Outcome:
    """Wait for something that never comes, until told to stop."""
    await task.stop.wait()
    return done(TaskStatus.CANCELLED, "stopped waiting")


async def deaf(*_: object) -> statuses.Outcome:
    """Do not listen to the stop flag."""
    await asyncio.Event().wait()
    return done()


async def buggy(*_: object) -> statuses.Outcome:
    """Raise what no stage raises."""
    raise KeyError("secret-looking detail")


async def denied(*_: object) -> statuses.Outcome:
    """Raise what a stage may raise."""
    raise errors.PermanentError("cannot patch deployments in shop")


class Clusters:
    """An executor whose clusters behave as told, and which remembers what it did."""

    def __init__(self, **behaviours: Behaviour) -> None:
        self.behaviours = behaviours
        self.started: list[tuple[str, str, int]] = []
        self.succeeded_on: list[str] = []
        self._changed = asyncio.Event()

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        self.started.append((task.stage_id, task.target, task.attempt))
        self.succeeded_on.append(task.succeeded_on)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if task.stage_id == state.ROLLBACK_ID:
            return await quick(task, report)
        return await self.behaviours.get(task.target, quick)(task, report)

    async def until_started(self, target: str, count: int = 1) -> None:
        """Return when so many tasks have begun on a cluster."""
        while sum(each == target for _, each, _ in self.started) < count:
            await self._changed.wait()


class Listener:
    """Keeps what it is told, and wakes whoever waits for something."""

    def __init__(self) -> None:
        self.told: list[feed.RunEvent] = []
        self._changed = asyncio.Event()

    def notify(self, event: feed.RunEvent) -> None:
        self.told.append(event)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def until(self, kind: type[feed.RunEvent]) -> None:
        """Return when something of a kind was told."""
        while not any(isinstance(event, kind) for event in self.told):
            await self._changed.wait()
