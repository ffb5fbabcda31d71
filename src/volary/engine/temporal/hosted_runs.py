"""What a process has of the runs whose activities it takes.

Whoever opens a run says with what: who carries tasks out, who keeps steps, who is told. An
activity of a run that nobody has opened yet waits for it a while; then it fails, and is begun
again by whoever takes it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import structs

from volary.engine import executor
from volary.engine.observers import feed
from volary.engine.persistence import codec
from volary.engine.runs import state
from volary.engine.temporal import documents, leases, service_clocks
from volary.model import clocks, errors, json
from volary.model.runs import run_records

_LOG = logging.getLogger(__name__)
#: Seconds that an activity waits for its run to be opened.
_PATIENCE = 60.0


class Keeper(Protocol):
    """Keeps steps; the very same one twice is one."""

    async def keep_step(self, step: run_records.Transition, told: Sequence[feed.RunEvent]) -> None:
        """Remember a step; returns once it is safe.

        Raises:
            runners.AlreadyAnswered: Somebody was told already what became of the request.
            errors.PermanentError: Somebody else has advanced the run.
        """
        ...


def write_freely(_: leases.Lease) -> AbstractContextManager[None]:
    """Write also where the lease does not hold: for what has no clusters."""
    return contextlib.nullcontext()


def as_it_is(document: json.JsonObject) -> json.JsonObject:
    """Return a document that holds no secrets."""
    return document


async def nothing_is_kept() -> None:
    """Let go of nothing: the cluster keeps nothing for a way back."""


async def carried_out_here() -> documents.Orders:
    """Return no orders: all tasks are carried out by the process that opens the run."""
    return {}


class RefusedError(errors.PermanentError):
    """What is asked for is not done in this process; says why in one sentence."""


class OtherRecipientsError(errors.TemporaryError):
    """An order is for others than this process, which has joined since: a newer one is for all."""


@dataclass(slots=True)
class TaskHost:
    """What a process carries the tasks of a run out with."""

    performer: executor.StageExecutor
    clock: clocks.Clock
    observers: list[feed.Observer]
    #: Has what is written in the block sent only while a lease holds.
    writing_under: Callable[[leases.Lease], AbstractContextManager[None]] = write_freely
    #: Takes secrets out of what goes into histories.
    clean: Callable[[json.JsonObject], json.JsonObject] = as_it_is
    #: Sees when the service's clock is set.
    jumps: service_clocks.JumpMeter = field(default_factory=service_clocks.JumpMeter)
    #: Has a cluster let go of what it keeps for a way back.
    conclude: Callable[[], Awaitable[None]] = nothing_is_kept
    #: The activities of the run that this process is carrying out.
    tasks: set[asyncio.Task[object]] = field(default_factory=set)
    #: This process lets go of the run.
    is_closed: bool = False
    _number: int = 0

    def tell(self, event: feed.RunEvent) -> None:
        """Tell the observers; one that raises is told nothing more."""
        self._number += 1
        numbered = structs.replace(event, number=self._number)
        for observer in tuple(self.observers):
            try:
                observer.notify(numbered)
            except Exception:  # noqa: BLE001 (a broken view must not harm the run)
                _LOG.exception("an observer failed and gets no further events")
                self.observers.remove(observer)


@dataclass(slots=True, kw_only=True)
class HostedRun(TaskHost):
    """One run, as far as this process has it."""

    #: As it was kept last, so far as this process knows.
    stored: run_records.StoredRun
    keeper: Keeper
    #: Returns the orders that are new, or have to take the place of others.
    orders: Callable[[], Awaitable[documents.Orders]] = carried_out_here
    _read: tuple[run_records.StoredRun, state.Run] | None = None

    @property
    def run(self) -> state.Run:
        """The run as it was kept last, so far as this process knows."""
        if self._read is None or self._read[0] is not self.stored:
            self._read = self.stored, codec.read_run(self.stored)
        return self._read[1]


class TaskHosts(Protocol):
    """Knows what this process carries tasks out with."""

    async def of_task(self, context: executor.TaskContext, order: json.JsonObject) -> TaskHost:
        """Return what a task is carried out with.

        Raises:
            RefusedError: It is not carried out here, whoever asks.
            OtherRecipientsError: It is not with this order.
            errors.TemporaryError: It cannot be now.
        """
        ...

    async def of_conclusion(self, given: documents.ConclusionInput) -> TaskHost:
        """Return what a run is concluded with; raises as `of_task`."""
        ...


class NotHere(errors.TemporaryError):
    """This process has not opened the run."""


class HostedRuns:
    """The runs that this process has opened."""

    def __init__(self) -> None:
        self._by_run: dict[str, HostedRun] = {}
        self._changed = asyncio.Event()

    @contextlib.contextmanager
    def opened(self, run_id: str, hosted: HostedRun) -> Iterator[None]:
        """Take the activities of a run in the block; then let go of those under way."""
        self._by_run[run_id] = hosted
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        try:
            yield
        finally:
            del self._by_run[run_id]
            hosted.is_closed = True
            for task in tuple(hosted.tasks):
                task.cancel()

    async def of(self, run_id: str) -> HostedRun:
        """Return a run that this process has opened, once it has.

        Raises:
            NotHere: There was none for a while.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                while run_id not in self._by_run:
                    await self._changed.wait()
        except TimeoutError as error:
            raise NotHere(f"run {run_id} is not open in this process") from error
        return self._by_run[run_id]

    async def of_task(self, context: executor.TaskContext, order: json.JsonObject) -> TaskHost:
        """Return the run of a task: whoever opened it here needs no order."""
        del order
        return await self.of(context.run_id)

    async def of_conclusion(self, given: documents.ConclusionInput) -> TaskHost:
        """Return the run that has ended."""
        return await self.of(given.run_id)
