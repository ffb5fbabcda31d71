"""The run workflow: `machine.advance` inside Temporal.

It does what `execution.runners` does in a process: takes events in order, has the step kept
before anything of it is carried out, then starts tasks, stops them, and waits for its time. Nothing
here decides anything about the run, reads a clock or asks anybody: replayed, it does the same.
"""

import asyncio
import contextlib
import functools
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

import msgspec
from temporalio import common, exceptions, workflow

with workflow.unsafe.imports_passed_through():
    from volary.engine.execution import task_contexts
    from volary.engine.observers import observer_events
    from volary.engine.persistence import codec, pieces, transitions
    from volary.engine.runs import state
    from volary.engine.state_machine import commands, events, machine
    from volary.engine.temporal import documents
    from volary.model import backoffs, json, statuses
    from volary.model.pipeline.stage_kinds import catalog
    from volary.model.runs import run_records

_Key = tuple[str, str, int]
#: Reports that are taken in one step at most.
_MOST_AT_ONCE = 200
#: The same, times the tasks of the stage: where a stage ends early, each report has all looked at.
_MOST_LOOKED_AT = 50_000
#: A step is kept by whoever can: the store takes the very same one twice.
_KEEP_SECONDS = 60.0
#: Tasks end by the machine's own limits, far before this.
_LONGEST_TASK = timedelta(days=3660)
#: Seconds; how far a task is costs its run's history some events, so it is told less often than
#: to a run in this process, and all tasks of a stage together say one word a second.
_TICK = 5.0
#: How long it is waited before a task is begun again whose worker is gone.
_AGAIN = backoffs.Backoff(timedelta(seconds=1), timedelta(minutes=1))
#: Tasks that are begun in one workflow task: the SDK gives up one that takes two seconds, and a
#: server takes no answer to one that is larger than some megabytes.
_MOST_BEGUN = 200
#: Until the next ones are begun: any time makes it another workflow task.
_NEXT_TASKS = timedelta(milliseconds=10)
#: Times what a task is waited for that nobody takes.
_ORDERS_SHARE = 5
#: A worker that is lost after so long is not lost for what the task does.
_LONG = timedelta(minutes=10)


_GOES_ON = documents.StopOrder()
_NOT_BEGUN = statuses.Outcome(statuses.TaskStatus.CANCELLED, "broken off before it began")


@dataclass(frozen=True, slots=True)
class _Message:
    event: events.Event
    #: Set to why it was not taken, or to nothing; None: nobody waits for that.
    answer: "asyncio.Future[str] | None" = None


@dataclass(slots=True)
class _Task:
    """A task that was ordered, and has not ended."""

    order: documents.StopOrder = _GOES_ON
    handle: "workflow.ActivityHandle[statuses.Outcome] | None" = None

    def stop(self, order: documents.StopOrder) -> None:
        """Have the activity asked to stop; how, it asks itself."""
        is_first = self.order.how is state.Stopping.NOT
        self.order = order
        if is_first and self.handle is not None:
            self.handle.cancel()


@dataclass(slots=True)
class _Asked:
    """How often somebody took what is to be done whom the order was not for, in a row."""

    times: int = 0
    since: datetime | None = None


@workflow.defn(name=documents.WORKFLOW)
class RunWorkflow:
    """Carries out one run."""

    @workflow.init
    def __init__(self, given: documents.RunInput) -> None:
        self._given = given
        self._stored = given.stored
        self._run = codec.read_run(given.stored)
        self._inbox: deque[_Message] = deque()
        self._tasks: dict[_Key, _Task] = {}
        #: Those of them that are not begun yet, as enough are under way.
        self._waiting: OrderedDict[_Key, commands.StartTask] = OrderedDict()
        #: The tasks that somebody else may have begun.
        self._inherited: frozenset[_Key] = frozenset()
        self._wake_at: datetime | None = None
        #: Before, no task is begun; None: there is nothing to wait for.
        self._free_at: datetime | None = None
        self._orders = dict(given.orders)
        #: Goes on in a new history.
        self._begins_anew = False

    @workflow.run
    async def carry_out(self, given: documents.RunInput) -> documents.RunResult:
        """Carry the run out to its end."""
        try:
            await self._carry_out()
        except ExceptionGroup as failures:
            raise _first(failures) from failures
        self._answer_the_rest()
        await self._conclude()
        await workflow.wait_condition(workflow.all_handlers_finished)
        if self._begins_anew:
            workflow.continue_as_new(self._next_input())
        return documents.RunResult(self._stored.version)

    async def _carry_out(self) -> None:
        async with asyncio.TaskGroup() as group:
            alarm = group.create_task(self._keep_time())
            beginning = group.create_task(self._keep_beginning(group))
            try:
                await self._begin()
                while not (self._run.is_final or self._begins_anew):
                    await self._take(await self._next())
            except Exception:
                self._break_off("the run was interrupted")
                raise
            alarm.cancel()
            beginning.cancel()
            # Only tasks that were counted as lost can be left; they are broken off again.
            self._break_off("the run has ended")
            self._answer_the_rest()

    def _break_off(self, why: str) -> None:
        for task in self._tasks.values():
            task.stop(documents.StopOrder(state.Stopping.NOW, why))

    @workflow.update(name=documents.REQUEST)
    async def request(self, document: documents.EventDocument) -> str:
        """Take what somebody asks for; return why not, or nothing."""
        event = documents.read_event(document)
        if self._run.is_final:
            return machine.advance(self._run, event).refusal
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._inbox.append(_Message(event, answer))
        return await answer

    @workflow.signal(name=documents.REPORT)
    def report(self, document: documents.EventDocument) -> None:
        """Take a fact; what is none to this version is left out, as one that comes too late is."""
        try:
            event = documents.read_event(document)
        except (LookupError, msgspec.ValidationError) as error:
            workflow.logger.warning("run %s does not understand a report: %s", self._run.id, error)
            return
        self._inbox.append(_Message(event))

    @workflow.signal(name=documents.ORDERS)
    def renew_orders(self, orders: documents.Orders) -> None:
        """Take orders that are new, or take the place of others."""
        self._orders.update(orders)

    @workflow.query(name=documents.STORED)
    def stored(self) -> run_records.StoredRun:
        """Return the run as it was kept last."""
        return self._stored

    @workflow.query(name=documents.STOP_ORDER)
    def stop_order(self, stage: str, target: str, attempt: int) -> documents.StopOrder:
        """Return how a task has to stop; one that is not under way, at once."""
        task = self._tasks.get((stage, target, attempt))
        return task.order if task else documents.StopOrder(state.Stopping.NOW, "not under way")

    async def _begin(self) -> None:
        if self._given.continues:
            self._carry_out_commands(machine.outstanding(self._run))
        elif self._run.status is statuses.RunStatus.PLANNED:
            self._inbox.append(_Message(events.Start(workflow.now())))
        else:
            # Activities of a workflow that was ended hear of that with their next heartbeat.
            stage = self._run.current
            self._inherited = frozenset(
                (stage.id, task.target, task.attempt) for task in stage.running
            )
            if self._inherited:
                self._hold_tasks()
            await self._record([events.TakenOver(workflow.now())])
            self._carry_out_commands(machine.outstanding(self._run))

    async def _next(self) -> list[_Message]:
        """Return what is to be taken next: one event, or all reports that are waiting."""
        await workflow.wait_condition(lambda: bool(self._inbox))
        messages = [self._inbox.popleft()]
        tasks = sum(len(group.tasks) for group in self._run.current.groups)
        most = min(_MOST_AT_ONCE, _MOST_LOOKED_AT // max(tasks, 1))
        while (
            self._inbox
            and len(messages) < most
            and _is_report(messages[0])
            and _is_report(self._inbox[0])
        ):
            messages.append(self._inbox.popleft())
        return messages

    async def _take(self, messages: Sequence[_Message]) -> None:
        step, kept = await self._record([message.event for message in messages])
        if kept.clock_jumped:
            self._inbox.extendleft(reversed(messages))
            self._note_jump(timedelta(seconds=kept.clock_jumped))
            return
        for message in messages:
            if message.answer is not None:
                message.answer.set_result(kept.answered or step.refusal)
        if kept.answered:
            return
        if await self._may_begin_anew():
            self._begins_anew = True
            return
        self._carry_out_commands(step.commands)

    def _note_jump(self, by: timedelta) -> None:
        """Have limits moved before anything else, as nobody had that time, or has it once more."""
        self._inbox.appendleft(_Message(events.ClockJumped(workflow.now(), by)))
        if by > timedelta():
            # A worker may count as gone that had a moment of its time only.
            self._hold_tasks()

    def _hold_tasks(self) -> None:
        """Begin no task before nobody writes any more who may not have heard that it is over."""
        self._free_at = workflow.now() + timedelta(seconds=self._given.heartbeat_seconds)

    async def _record(
        self, happened: Sequence[events.Event]
    ) -> tuple[machine.Step, documents.StepAnswer]:
        """Take events and have the step kept; return it, and what became of it."""
        before = self._run
        taken, step = self._advance(happened)
        if step.run is before:
            return step, documents.StepAnswer()
        made = transitions.step_transition(
            before,
            taken,
            step.run,
            observer_events.between(before, step.run, happened[-1].at),
            self._stored.version,
        )
        kept: documents.StepAnswer = await workflow.execute_activity(
            documents.KEEP_STEP,
            documents.StepInput(self._run.id, made),
            result_type=documents.StepAnswer,
            start_to_close_timeout=timedelta(seconds=_KEEP_SECONDS),
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_seconds),
            retry_policy=common.RetryPolicy(maximum_interval=timedelta(seconds=10)),
        )
        if not (kept.answered or kept.clock_jumped):
            self._run, self._stored = step.run, pieces.after(self._stored, made)
        return step, kept

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
            workflow.logger.exception("run %s: %s is refused because of a bug", self._run.id, asked)
            why = f"internal error ({type(error).__name__}), see the log; nothing was changed"
            return (), machine.Step(self._run, refusal=why)

    def _carry_out_commands(self, orders: machine.Commands) -> None:
        for command in orders:
            match command:
                case commands.StartTask():
                    key = (command.stage, command.target, command.attempt)
                    self._tasks[key], self._waiting[key] = _Task(), command
                case commands.StopTask():
                    key = (command.stage, command.target, command.attempt)
                    self._stop(key, documents.StopOrder(command.how, command.reason))
                case commands.WakeAt():
                    self._wake_at = command.at
                case commands.Release():
                    workflow.logger.debug("run %s ended: %s", self._run.id, command.status)
                case _:
                    assert_never(command)

    def _stop(self, key: _Key, order: documents.StopOrder) -> None:
        """Have a task stop; one that waits for its turn has ended by that."""
        is_now = order.how is state.Stopping.NOW
        if key in self._waiting and (is_now or key not in self._inherited):
            del self._waiting[key], self._tasks[key]
            self._inbox.append(_Message(events.TaskFinished(workflow.now(), *key, _NOT_BEGUN)))
        elif key in self._tasks:
            self._tasks[key].stop(order)

    async def _keep_beginning(self, group: asyncio.TaskGroup) -> None:
        """Begin tasks in the order in which they were ordered, whenever there is room for some."""
        while True:
            await workflow.wait_condition(lambda: self._room > 0)
            some = min(self._room, _MOST_BEGUN)
            for _ in range(some):
                key, command = self._waiting.popitem(last=False)
                group.create_task(self._perform(key, self._input(command)))
            if some == _MOST_BEGUN:
                await workflow.sleep(_NEXT_TASKS)

    @property
    def _room(self) -> int:
        """How many of the tasks that wait can be begun."""
        under_way = len(self._tasks) - len(self._waiting)
        return min(self._given.most_tasks - under_way, len(self._waiting))

    def _input(self, command: commands.StartTask) -> documents.TaskInput:
        return documents.TaskInput(
            documents.write_context(task_contexts.of_command(self._run, command)),
            task_contexts.stage_name(self._run, command),
            self._given.heartbeat_seconds,
            max(_TICK, float(sum(1 for _ in self._run.current.tasks))),
        )

    async def _perform(self, key: _Key, given: documents.TaskInput) -> None:
        if self._is_apart(key[1], given) and documents.undoes_scripts(given):
            outcome = await self._roll_back(key, given)
        else:
            outcome = await self._outcome(key, given)
        del self._tasks[key]
        self._inbox.append(_Message(events.TaskFinished(workflow.now(), *key, outcome)))

    async def _roll_back(self, key: _Key, given: documents.TaskInput) -> statuses.Outcome:
        """Have a cluster taken back by who works beside it, and then its scripts run here.

        Nobody beside a cluster has the files of an application, so scripts stay with who opened
        the run.
        """
        ended = await self._outcome(key, documents.without_scripts(given))
        if ended.status in (statuses.TaskStatus.UNREACHABLE, statuses.TaskStatus.CANCELLED):
            return ended
        undone = await self._outcome(key, documents.scripts_alone(given, ended))
        return replace(undone, touched=True)

    async def _outcome(self, key: _Key, given: documents.TaskInput) -> statuses.Outcome:
        """Have a task carried out; begin it again, by the machine's rule, when its worker is gone.

        Temporal itself retries nothing: that somebody else goes on with a task is a step of the
        run, after which its cluster stays touched for good.
        """
        task, losses, asked = self._tasks[key], 0, _Asked()
        await self._until_free(task)
        while task.order.how is not state.Stopping.NOW:
            is_apart = self._is_apart(key[1], given)
            order = self._orders[key[1]] if is_apart else {}
            if is_apart and not order:
                return _unreachable(f"no agent or worker of {key[1]} has joined")
            began = workflow.now()
            task.handle = self._start(key, documents.begun(given, task.order, order))
            try:
                return await task.handle
            except exceptions.ActivityError as error:
                if _is_untaken(error):
                    return _unreachable(
                        f"no agent or worker of {key[1]} takes tasks: none did for"
                        f" {self._given.untaken_seconds:g} s"
                    )
                lost = error.cause
            if _is_for_others(lost):
                task.handle = None
                if not await self._have_newer_order(asked, key[1], order, task):
                    return _unreachable(
                        f"who takes tasks of {key[1]} has joined since the orders were given, and"
                        f" had no newer ones for {self._newer_orders.total_seconds():g} s"
                    )
                continue
            asked = _Asked()
            if isinstance(lost, exceptions.CancelledError) and (
                task.order.how is not state.Stopping.NOT
            ):
                break
            task.handle = None
            losses = losses + 1 if workflow.now() - began < _LONG else 1
            if losses >= self._given.most_losses:
                return state.lost_outcome(
                    f"given up: it lost its worker {losses} times in a row, the last time: {lost}"
                )
            workflow.logger.warning("task %s %s %s is begun again: %s", *key, lost)
            await self._take_over(key[1])
            await self._wait_before_again(task, _AGAIN.after(losses))
            await self._until_free(task)
        return _NOT_BEGUN

    def _is_apart(self, target: str, given: documents.TaskInput) -> bool:
        """Say whether others than who opened the run carry a task out."""
        if target not in self._orders or given.context["rolled_back"] is not None:
            return False
        return catalog.of(given.context["stage"]["name"]).writes_to_cluster

    def _queue(self, target: str, given: documents.TaskInput) -> str:
        queues = self._given.queues
        return queues.cluster(target) if self._is_apart(target, given) else queues.central

    def _start(
        self, key: _Key, given: documents.TaskInput
    ) -> "workflow.ActivityHandle[statuses.Outcome]":
        stage, target, attempt = key
        return workflow.start_activity(
            documents.PERFORM_TASK,
            given,
            result_type=statuses.Outcome,
            task_queue=self._queue(target, given),
            schedule_to_start_timeout=timedelta(seconds=self._given.untaken_seconds)
            if given.order
            else None,
            start_to_close_timeout=_LONGEST_TASK,
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_seconds),
            retry_policy=common.RetryPolicy(maximum_attempts=1),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"{stage} on {target}, attempt {attempt}",
        )

    async def _conclude(self) -> None:
        """Have clusters let go of what they keep for a way back, where others work in them.

        Where that cannot be done, they keep it until the next run.
        """
        if self._run.status not in statuses.GOOD_ENDS:
            return
        names = [
            cluster.name
            for cluster in self._run.clusters
            if cluster.touched and not cluster.left_out and self._orders.get(cluster.name)
        ]
        for first in range(0, len(names), self._given.most_tasks):
            some = names[first : first + self._given.most_tasks]
            await asyncio.gather(*map(self._conclude_on, some))

    async def _conclude_on(self, target: str) -> None:
        seconds, asked = self._given.untaken_seconds, _Asked()
        while True:
            order = self._orders[target]
            try:
                await workflow.execute_activity(
                    documents.CONCLUDE,
                    documents.ConclusionInput(self._run.id, target, order, seconds),
                    task_queue=self._given.queues.cluster(target),
                    schedule_to_start_timeout=timedelta(seconds=seconds),
                    start_to_close_timeout=timedelta(seconds=seconds),
                    retry_policy=common.RetryPolicy(maximum_attempts=1),
                )
            except exceptions.ActivityError as error:
                why = error.cause
            else:
                return
            if not (_is_for_others(why) and await self._have_newer_order(asked, target, order)):
                workflow.logger.warning("%s keeps objects as they were before: %s", target, why)
                return

    async def _have_newer_order(
        self,
        asked: "_Asked",
        target: str,
        order: json.JsonObject,
        task: _Task | None = None,
    ) -> bool:
        """Wait for an order that is also for who has joined since this one, or a while.

        Returns:
            Whether what it was for can be begun again, of which nothing was.
        """
        asked.times += 1
        asked.since = asked.since or workflow.now()
        left = asked.since + self._newer_orders - workflow.now()
        if left <= timedelta():
            return False
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: (
                    self._orders.get(target) != order
                    or (task is not None and task.order.how is state.Stopping.NOW)
                ),
                timeout=min(left, _AGAIN.after(asked.times)),
            )
        return True

    @property
    def _newer_orders(self) -> timedelta:
        """How long newer orders are waited for: a leader gives them, which may have to be found."""
        return _ORDERS_SHARE * timedelta(seconds=self._given.untaken_seconds)

    async def _take_over(self, target: str) -> None:
        """Write down that nobody is left who knows what a task has written."""
        if self._run.is_final:
            return
        kept: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._inbox.append(_Message(events.TakenOver(workflow.now(), target), kept))
        await kept

    async def _until_free(self, task: _Task) -> None:
        """Return when tasks may be begun, or this one is to stop at once."""
        while (
            self._free_at is not None
            and (left := self._free_at - workflow.now()) > timedelta()
            and task.order.how is not state.Stopping.NOW
        ):
            await self._wait_before_again(task, left)

    async def _wait_before_again(self, task: _Task, pause: timedelta) -> None:
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: task.order.how is state.Stopping.NOW, timeout=pause
            )

    async def _keep_time(self) -> None:
        """Report each time that was set, when it has come."""
        while True:
            await self._until_time()
            self._wake_at = None
            self._inbox.append(_Message(events.TimePassed(workflow.now())))

    async def _until_time(self) -> None:
        """Return when the time has come that was set last."""
        while self._wake_at is None or self._wake_at > workflow.now():
            at = self._wake_at
            left = None if at is None else at - workflow.now()
            with contextlib.suppress(TimeoutError):
                await workflow.wait_condition(
                    functools.partial(self._is_set_anew, at), timeout=left
                )

    def _is_set_anew(self, at: datetime | None) -> bool:
        return self._wake_at != at

    async def _may_begin_anew(self) -> bool:
        """Say whether the history is long, and nothing is under way that belongs to it.

        Asked after a step was kept and before its commands are carried out: those that are
        outstanding follow from the run. Stages go one after another, so each of them ends in
        such a moment.
        """
        known = workflow.info()
        is_long = known.is_continue_as_new_suggested() or (
            known.get_current_history_length() >= self._given.most_events
        )
        if not is_long or self._tasks or self._run.is_final:
            return False
        # Who asked meanwhile is answered by the next step: nobody waits for them here.
        await workflow.wait_condition(lambda: bool(self._inbox) or workflow.all_handlers_finished())
        return not self._inbox

    def _next_input(self) -> documents.RunInput:
        return documents.continued(self._given, self._stored, self._orders)

    def _answer_the_rest(self) -> None:
        """Answer those who asked after the end."""
        while self._inbox:
            message = self._inbox.popleft()
            if message.answer is not None:
                message.answer.set_result(machine.advance(self._run, message.event).refusal)


def _first(failures: ExceptionGroup) -> Exception:
    """Return what went wrong first, however it is wrapped; of an activity, what it said."""
    error: Exception = failures
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, exceptions.FailureError):
        return error
    return exceptions.ApplicationError(f"{type(error).__name__}: {error}", type="Bug")


def _is_for_others(cause: BaseException | None) -> bool:
    """Say whether nothing was begun, as who took it has joined since the order was given."""
    return (
        isinstance(cause, exceptions.ApplicationError) and cause.type == documents.OTHER_RECIPIENTS
    )


def _is_untaken(error: exceptions.ActivityError) -> bool:
    """Say whether a task was not begun, as nobody takes any on its cluster."""
    cause = error.cause
    return (
        isinstance(cause, exceptions.TimeoutError)
        and cause.type is exceptions.TimeoutType.SCHEDULE_TO_START
    )


def _unreachable(why: str) -> statuses.Outcome:
    return statuses.Outcome(statuses.TaskStatus.UNREACHABLE, why)


def _is_report(message: _Message) -> bool:
    return isinstance(message.event, events.Fact) and not isinstance(
        message.event, events.TimePassed
    )
