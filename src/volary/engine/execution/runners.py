"""Carries out a run in this process.

One loop takes events in order, asks the machine what follows, writes the step to the journal,
notifies the observers, and only then carries out the commands. Each task runs in
one task group. Nothing here decides anything about the run.

Being cancelled from outside is *shutting down*, not cancelling the run: its state stays
as the journal has it, and a later runner goes on from it with `machine.outstanding`.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, assert_never

from msgspec import structs

from volary.engine import executor
from volary.engine.execution import (
    clock_jumps,
    task_contexts,
    task_outcomes,
    task_reporter,
)
from volary.engine.observers import feed, observer_events
from volary.engine.runs import state
from volary.engine.state_machine import commands, events, machine
from volary.model import clocks, errors, statuses


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One transition: what happened, what became of the run, what observers are notified of."""

    #: In order; one event, or several that arrived while the one before was being stored.
    happened: tuple[events.Event, ...]
    run: state.Run
    told: tuple[feed.RunEvent, ...]


class AlreadyAnswered(errors.PermanentError):
    """The request that a step carries out has an answer: the step is not kept, and not taken."""


class Journal(Protocol):
    """Stores transitions; a command is carried out only after its record is stored."""

    async def keep(self, record: StepRecord) -> None:
        """Remember one transition, and answer what it carries out; returns once it is safe.

        Raises:
            AlreadyAnswered: Somebody was told already what became of the request.
        """
        ...


class AnyRunner(Protocol):
    """Carries out one run, in this process or by means of others."""

    @property
    def run(self) -> state.Run:
        """The run as it is now, so far as this process knows."""
        ...

    @property
    def awaited(self) -> tuple[str, ...]:
        """The clusters that did not answer and are tried again."""
        ...

    async def carry_out(self) -> state.Run:
        """Carry the run out to its end and return it; call it once."""
        ...

    async def request(self, event: events.Event) -> str:
        """Ask for something in somebody's name; return why it cannot be done, or nothing."""
        ...

    def submit(self, event: events.Event) -> None:
        """Ask for something without waiting; observers are notified when it cannot be done."""
        ...

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Say that clusters answer, so that what waits for one of them is tried again at once."""
        ...

    def interrupt(self, by: str, *, rollback: bool = False) -> None:
        """Cancel politely the first time, at once from the second time on (Ctrl-C)."""
        ...


_LOG = logging.getLogger(__name__)

#: How long a sleep lasts at most, so that a clock that jumped is noticed.
_LONGEST_SLEEP = timedelta(seconds=60)

_Key = tuple[str, str, int]
#: None: the run was interrupted before it answered.
_Answer = asyncio.Future[str | None]
_Message = tuple[events.Event, _Answer | None]

#: Reports that are taken in one step at most.
_MOST_AT_ONCE = 200


class Interrupted(errors.TemporaryError):
    """Nobody carries the run out any more: it goes on from what was kept, in another runner."""


class Runner:
    """Carries out one run; make one per run.

    Args:
        run: A planned run, or one that an earlier process left behind.
        performer: Carries out the tasks.
        clock: Where the times of events come from.
        keeper: Remembers each step.
        observers: Told every event in order; one that raises is told nothing more.
    """

    def __init__(
        self,
        run: state.Run,
        performer: executor.StageExecutor,
        *,
        clock: clocks.Clock,
        keeper: Journal,
        observers: Sequence[feed.Observer] = (),
    ) -> None:
        self._run = run
        self._performer = performer
        self._clock = clock
        self._jumps = clock_jumps.JumpMeter(clock)
        self._journal = keeper
        self._observers = list(observers)
        # Not bounded by itself: each task has at most three events in it, each person one.
        self._inbox: asyncio.Queue[_Message] = asyncio.Queue()
        #: Taken out of the inbox, and next.
        self._held: _Message | None = None
        #: Whom the answer is owed to what is being taken.
        self._in_hand: _Answer | None = None
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._flags: dict[_Key, executor.StopFlag] = {}
        self._reporters: dict[_Key, task_reporter.TaskReporter] = {}
        self._begun: set[_Key] = set()
        self._broken_off: set[_Key] = set()
        #: Clusters of which it is in the inbox that they answer.
        self._reachable: set[str] = set()
        self._alarm = _WakeTimer(self._now)
        self._number = 0
        self._interrupts = 0
        #: It ended, or was broken off: nobody takes what is asked.
        self._is_over = False

    @property
    def run(self) -> state.Run:
        """The run as it is now."""
        return self._run

    async def carry_out(self) -> state.Run:
        """Carry the run out to its end and return it; call it once.

        Any error but those of tasks and requests ends it: the run stays as it was kept last.
        """
        try:
            return await self._carry_out()
        finally:
            self._is_over = True
            self._answer_the_rest()

    async def _carry_out(self) -> state.Run:
        self._jumps.look()
        async with asyncio.TaskGroup() as group:
            alarm = group.create_task(self._keep_time())
            if self._run.status is statuses.RunStatus.PLANNED:
                self.submit(events.Start(self._now()))
            else:
                await self._take_over(group)
            while not self._run.is_final:
                await self._take(group, await self._next())
            alarm.cancel()
            # Only tasks that were counted as lost can be left; they are broken off again.
            for task in self._tasks.values():
                task.cancel()
        return self._run

    async def request(self, event: events.Event) -> str:
        """Ask for something in somebody's name.

        Returns:
            Why it cannot be done, in one sentence; empty when it was taken.

        Raises:
            Interrupted: The run was interrupted by an error; it may have been taken or not.
        """
        if self._run.is_final:
            return machine.advance(self._run, event).refusal
        answer: _Answer = asyncio.get_running_loop().create_future()
        self._inbox.put_nowait((event, answer))
        if self._is_over:
            self._answer_the_rest()
        refusal = await answer
        if refusal is None:
            raise Interrupted(f"run {self._run.id} was interrupted")
        return refusal

    def submit(self, event: events.Event) -> None:
        """Ask for something without waiting; observers are notified when it cannot be done."""
        self._inbox.put_nowait((event, None))

    @property
    def awaited(self) -> tuple[str, ...]:
        """The clusters that did not answer and are tried again."""
        return tuple(task.target for task in self._run.current.unreachable_tasks)

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Say that clusters answer, so that what waits for one of them is tried again at once."""
        for cluster in self.awaited:
            if cluster in clusters and cluster not in self._reachable:
                self._reachable.add(cluster)
                self.submit(events.ClusterReachable(self._now(), cluster))

    def interrupt(self, by: str, *, rollback: bool = False) -> None:
        """Cancel politely the first time, at once from the second time on (Ctrl-C)."""
        self._interrupts += 1
        now = self._interrupts > 1
        self.submit(events.Cancel(self._now(), by, rollback=rollback, now=now))

    def _now(self) -> datetime:
        """Return the time; that the clock was set is in the inbox before what follows."""
        now, jump = self._jumps.look()
        if jump:
            way = "forward" if jump > timedelta() else "back"
            _LOG.warning("the clock was set %s by %s: no limit counts that", way, abs(jump))
            self.submit(events.ClockJumped(now, jump))
        return now

    async def _next(self) -> list[_Message]:
        """Return what is to be taken next: one event, or all reports that are waiting.

        While a step is being stored, many tasks may report. Each report is taken by itself, in
        order, but what follows from all of them is one step, so that a run on a thousand
        clusters does not cost a thousand transactions for each stage.
        """
        first, self._held = self._held or await self._inbox.get(), None
        messages = [first]
        while _is_report(first) and not self._inbox.empty() and len(messages) < _MOST_AT_ONCE:
            letter = self._inbox.get_nowait()
            if not _is_report(letter):
                self._held = letter
                break
            messages.append(letter)
        return messages

    async def _take_over(self, group: asyncio.TaskGroup) -> None:
        """Go on with a run that somebody else had begun to carry out, be it this process."""
        _, told = await self._record([events.TakenOver(self._now())])
        for event in told:
            self._tell(event)
        self._carry_out_commands(group, machine.outstanding(self._run))

    async def _take(self, group: asyncio.TaskGroup, letters: Sequence[_Message]) -> None:
        (last, _), (_, answer) = letters[-1], letters[0]
        self._in_hand = answer
        try:
            step, told = await self._record([self._newest(letter) for letter in letters])
        except AlreadyAnswered as error:
            if answer is not None and not answer.done():
                answer.set_result(str(error))
            return
        if answer is not None and not answer.done():
            answer.set_result(step.refusal)
        if step.refusal:
            self._tell(feed.RequestRefused(at=last.at, run=self._run.id, reason=step.refusal))
        for event in told:
            self._tell(event)
        self._carry_out_commands(group, step.commands)

    async def _record(
        self, happened: Sequence[events.Event]
    ) -> tuple[machine.Step, Sequence[feed.RunEvent]]:
        """Take events, and have the step that follows stored; observers are not told yet."""
        before = self._run
        taken, step = self._advance(happened)
        told = observer_events.between(before, step.run, happened[-1].at)
        if step.run is not before:
            await self._journal.keep(StepRecord(taken, step.run, told))
            self._run = step.run
        return step, told

    def _advance(
        self, happened: Sequence[events.Event]
    ) -> tuple[tuple[events.Event, ...], machine.Step]:
        """Return what is taken of events, and the step that follows from it.

        A fact has to be taken; what a person asks for must not harm the run.
        """
        try:
            return machine.advance_all(self._run, happened)
        except Exception as error:
            asked = happened[-1]
            if not isinstance(asked, events.Request):
                raise
            _LOG.exception("run %s: %s is refused because of a bug", self._run.id, asked)
            why = f"internal error ({type(error).__name__}), see the log; nothing was changed"
            return (), machine.Step(self._run, refusal=why)

    def _newest(self, letter: _Message) -> events.Event:
        """Return the event; of a task's progress what it said last."""
        event, _ = letter
        if isinstance(event, events.ClusterReachable):
            self._reachable.discard(event.cluster)
        if not isinstance(event, events.TaskProgressed):
            return event
        reporter = self._reporters.get((event.stage, event.target, event.attempt))
        return reporter.newest(event) if reporter else event

    def _carry_out_commands(self, group: asyncio.TaskGroup, orders: machine.Commands) -> None:
        for command in orders:
            match command:
                case commands.StartTask():
                    self._start(group, command)
                case commands.StopTask():
                    self._stop(command)
                case commands.WakeAt():
                    self._alarm.set(command.at)
                case commands.Release():
                    _LOG.debug("run %s ended: %s", self._run.id, command.status)
                case _:
                    assert_never(command)

    def _start(self, group: asyncio.TaskGroup, command: commands.StartTask) -> None:
        key = (command.stage, command.target, command.attempt)
        context = task_contexts.of_command(self._run, command)
        name = task_contexts.stage_name(self._run, command)
        self._flags[key] = context.stop
        self._reporters[key] = task_reporter.TaskReporter(
            self._run.id, name, command, self._clock, self._tell, self.submit
        )
        self._tasks[key] = group.create_task(self._perform(key, context), name=" ".join(key[:2]))

    def _stop(self, command: commands.StopTask) -> None:
        key = (command.stage, command.target, command.attempt)
        if key in self._flags:
            self._flags[key].raise_flag(command.reason)
        if key in self._tasks and command.how is state.Stopping.NOW:
            self._broken_off.add(key)
            # One that has not had its first turn would vanish without a word; it looks itself.
            if key in self._begun:
                self._tasks[key].cancel()

    async def _perform(self, key: _Key, context: executor.TaskContext) -> None:
        self._begun.add(key)
        reporter = self._reporters[key]
        outcome = await self._outcome(key, context, reporter)
        reporter.close()
        for held in (self._tasks, self._flags, self._reporters):
            held.pop(key, None)
        self._begun.discard(key)
        self._broken_off.discard(key)
        self.submit(events.TaskFinished(self._now(), *key, outcome))

    async def _outcome(
        self, key: _Key, context: executor.TaskContext, reporter: task_reporter.TaskReporter
    ) -> statuses.Outcome:
        """Have the task carried out; whatever it raises becomes an outcome of its own."""
        if key in self._broken_off:
            return statuses.Outcome(statuses.TaskStatus.CANCELLED, "broken off before it began")
        return await task_outcomes.outcome_of(
            self._performer, context, reporter, lambda: self._was_broken_off(key)
        )

    def _was_broken_off(self, key: _Key) -> bool:
        """Say whether a cancellation came from us alone, and then take it back."""
        task = asyncio.current_task()
        return key in self._broken_off and task is not None and task.uncancel() == 0

    async def _keep_time(self) -> None:
        while True:
            await self._alarm.wait()
            self.submit(events.TimePassed(self._now()))

    def _tell(self, event: feed.RunEvent) -> None:
        self._number += 1
        numbered = structs.replace(event, number=self._number)
        for observer in tuple(self._observers):
            try:
                observer.notify(numbered)
            except Exception:  # noqa: BLE001 (a broken view must not harm the run)
                _LOG.exception("an observer failed and gets no further events")
                self._observers.remove(observer)

    def _answer_the_rest(self) -> None:
        """Answer those who asked after the end, or whom an interruption left without an answer."""
        held, self._held = self._held, None
        in_hand, self._in_hand = self._in_hand, None
        if in_hand is not None and not in_hand.done():
            in_hand.set_result(None)
        while held or not self._inbox.empty():
            (event, answer), held = held or self._inbox.get_nowait(), None
            if answer is not None and not answer.done():
                final = self._run.is_final
                answer.set_result(machine.advance(self._run, event).refusal if final else None)


def _is_report(letter: _Message) -> bool:
    return isinstance(letter[0], events.Fact) and not isinstance(letter[0], events.TimePassed)


class _WakeTimer:
    """Wakes once at the time that was set last; `look` says what time it is."""

    def __init__(self, look: Callable[[], datetime]) -> None:
        self._look = look
        self._at: datetime | None = None
        self._changed = asyncio.Event()

    def set(self, at: datetime | None) -> None:
        self._at = at
        self._changed.set()

    async def wait(self) -> None:
        """Return when the clock has reached the time; it is then set no more."""
        while (left := self._left()) is None or left > timedelta():
            self._changed.clear()
            try:
                pause = None if left is None else min(left, _LONGEST_SLEEP).total_seconds()
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                continue
        self._at = None

    def _left(self) -> timedelta | None:
        return None if self._at is None else self._at - self._look()
