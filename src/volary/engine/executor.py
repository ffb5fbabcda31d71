"""Who carries out a task: the one interface between the engine and the stages.

Two words: the *stop flag* asks a task to stop gracefully; the *reporter* takes what it
has to say while it runs.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from volary.engine.runs import state
from volary.model import json, statuses
from volary.model.pipeline import pipelines


class LogLevel(StrEnum):
    """How much a log line matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class StopFlag:
    """Raised once, never lowered: finish the write that is under way, then stop waiting."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._listeners: list[Callable[[], object]] = []
        #: Why, in one sentence; empty while not raised.
        self.reason = ""

    @property
    def is_raised(self) -> bool:
        """Whether the task should stop."""
        return self._event.is_set()

    def raise_flag(self, reason: str) -> None:
        """Ask the task to stop; a second call changes nothing."""
        if not self._event.is_set():
            self.reason = reason
            self._event.set()
            for listener in self._listeners:
                listener()

    def when_raised(self, listener: Callable[[], object]) -> None:
        """Have somebody called as soon as the flag is raised; at once when it is."""
        self._listeners.append(listener)
        if self.is_raised:
            listener()

    async def wait(self) -> None:
        """Return as soon as the flag is raised."""
        await self._event.wait()


@dataclass(frozen=True, slots=True)
class TaskContext:
    """All a stage needs to know about the task it carries out."""

    run_id: str
    application: str
    #: The target source's commit.
    commit: str
    #: The running source's commit; empty: a first deployment.
    running_commit: str
    stage_id: str
    stage: pipelines.Stage
    #: Name of the cluster in the fleet.
    target: str
    #: Counted from 1; above 1 the stage was begun before and reads the cluster first.
    attempt: int
    #: When the engine raises `stop` by itself.
    deadline: datetime
    #: Stages that were begun on this cluster before, in order; in a rollback its last one too.
    begun: tuple[pipelines.Stage, ...] = ()
    #: No stage follows on this cluster.
    is_last: bool = False
    #: The first cluster on which this very stage has succeeded already; empty: on none. One says
    #: it all: the names of all of them, with every task, would grow as their square.
    succeeded_on: str = ""
    #: When the run was planned.
    created: datetime | None = None
    #: Of an analysis at the end of a wave: clusters without this release to compare with.
    not_updated: tuple[str, ...] = ()
    #: What the rollback of the cluster came to, where somebody beside it carried that out: what is
    #: left are the scripts of the stages that had begun. None: the stage itself is to be done.
    rolled_back: statuses.Outcome | None = None
    #: How many clusters have this stage, in all waves.
    clusters: int = 1
    stop: StopFlag = field(default_factory=StopFlag, compare=False)


class Reporter(Protocol):
    """Takes what a running task says; never blocks, never raises."""

    def log(self, line: str, *, level: LogLevel = LogLevel.INFO) -> None:
        """Say something for the task's log, one line, without secrets."""
        ...

    def progress(self, progress: state.Progress) -> None:
        """Say how far the task is; only the latest one counts."""
        ...

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        """Say what was measured or concluded; stored as it is, in order.

        `kind` is ``measurement`` or ``verdict``; `metric` is whose.
        """
        ...

    def took_over(self, title: str, claimant: str) -> None:
        """Say that an object was taken over from somebody who claimed it."""
        ...


class StageExecutor(Protocol):
    """Carries out tasks; safe to run again on a cluster that was already changed."""

    async def execute(self, task: TaskContext, report: Reporter) -> statuses.Outcome:
        """Carry out one stage on one cluster and say how it ended.

        The outcome's status is one of `succeeded`, `failed`, `skipped`,
        `unreachable` and, after `task.stop` was raised, `cancelled`. `touched` must
        be true once anything was, or may have been, written to the cluster. An
        exception counts as a bug: the task fails and its cluster as touched.
        Cancellation of the coroutine means "break off now".
        """
        ...
