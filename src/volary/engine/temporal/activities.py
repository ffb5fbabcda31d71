"""What a run workflow has done for it: its steps kept, its tasks carried out.

An activity knows nothing of the workflow's process: what it needs comes with it, or from what its
own process has of the run (`hosted_runs`).
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import msgspec
from temporalio import activity, client, exceptions, service

from volary.concurrency import background_tasks
from volary.engine import executor
from volary.engine.execution import runners, task_outcomes, task_reporter
from volary.engine.observers import feed
from volary.engine.persistence import pieces
from volary.engine.runs import state
from volary.engine.state_machine import commands, events
from volary.engine.temporal import connections, documents, hosted_runs, leases
from volary.model import errors, json, statuses
from volary.model.runs import run_records
from volary.telemetry import spans

_LOG = logging.getLogger(__name__)
#: Heartbeats in the time after which a worker counts as gone.
_BEATS = 5
#: A task that takes long says less often how far it is: at such a share of its time.
_TICK_SHARE = 0.02
#: How often the last word of a task on how far it is is tried to be told.
_TRIES = 3


class Activities:
    """The activities on clusters that this process carries out."""

    def __init__(self, known: hosted_runs.TaskHosts, elapsed: Callable[[], float]) -> None:
        """Take the runs of `known`; `elapsed` are seconds that never stand still."""
        self._hosts = known
        self._elapsed = elapsed

    @activity.defn(name=documents.PERFORM_TASK)
    async def perform_task(self, given: documents.TaskInput) -> statuses.Outcome:
        """Carry out one stage on one cluster."""
        context = documents.read_context(given.context)
        about: dict[str, str | int] = {
            "volary.cluster": context.target,
            "volary.attempt": context.attempt,
        }
        with (
            _span(context.run_id, context.stage_id, about=about),
            _in_a_sentence(),
            _left_to_recipients(),
        ):
            return await self._perform(context, given)

    async def _perform(
        self, context: executor.TaskContext, given: documents.TaskInput
    ) -> statuses.Outcome:
        try:
            async with background_tasks.in_background(_stay(given.heartbeat_seconds / _BEATS)):
                hosted = await self._hosts.of_task(context, given.order)
        except hosted_runs.RefusedError as error:
            return statuses.Outcome(statuses.TaskStatus.FAILED, str(error))
        if given.stop.how is not state.Stopping.NOT:
            context.stop.raise_flag(given.stop.reason)
        lease = leases.Lease(self._elapsed, given.heartbeat_seconds)
        performance = _Performance(hosted, context, lease, given)
        with _under(hosted):
            async with asyncio.TaskGroup() as group:
                return await _heedless(group.create_task(performance.perform()), hosted)

    @activity.defn(name=documents.CONCLUDE)
    async def conclude(self, given: documents.ConclusionInput) -> None:
        """Have a cluster let go of what it keeps for a way back."""
        lease = leases.Lease(self._elapsed, given.seconds)
        # The service gives it up after the whole of that time, and nobody begins it again before.
        lease.extend(self._elapsed())
        try:
            with _left_to_recipients():
                hosted = await self._hosts.of_conclusion(given)
        except hosted_runs.RefusedError as error:
            raise exceptions.ApplicationError(str(error), non_retryable=True) from error
        with _in_a_sentence(), _under(hosted), hosted.writing_under(lease):
            await hosted.conclude()


@contextlib.contextmanager
def _span(run: str, *path: str, about: spans.Attributes | None = None) -> Iterator[None]:
    """Trace an activity, with its names in Temporal and how long it waited to be taken."""
    info = activity.info()
    waited = info.started_time - info.current_attempt_scheduled_time
    attributes = {
        "temporalWorkflowID": info.workflow_id or "",
        "temporalActivityID": info.activity_id,
        "volary.queue": info.task_queue,
        "volary.queued_ms": round(waited.total_seconds() * 1000),
        **(about or {}),
    }
    with spans.span(info.activity_type, attributes, within=spans.Place(run, path)):
        yield


@contextlib.contextmanager
def _in_a_sentence() -> Iterator[None]:
    """Have an activity that cannot be carried out say so once, without where in the code.

    Raises:
        exceptions.ApplicationError: It cannot; for the service, which counts it as lost.
    """
    try:
        yield
    except* errors.VolaryError as failures:
        error: BaseException = failures
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        _LOG.warning("%s is given up here: %s", activity.info().activity_type, error)
        quiet = exceptions.ApplicationErrorCategory.BENIGN
        raise exceptions.ApplicationError(str(error), category=quiet) from None


@contextlib.contextmanager
def _left_to_recipients() -> Iterator[None]:
    """Have the workflow know that nothing was begun, as the order is for others.

    Raises:
        exceptions.ApplicationError: It is.
    """
    try:
        yield
    except* hosted_runs.OtherRecipientsError as failures:
        raise exceptions.ApplicationError(
            str(failures.exceptions[0]),
            type=documents.OTHER_RECIPIENTS,
            category=exceptions.ApplicationErrorCategory.BENIGN,
        ) from None


async def _stay(pause: float) -> None:
    """Say again and again that the task is being prepared, until cancelled."""
    while True:
        activity.heartbeat("is made ready")
        await asyncio.sleep(pause)


class StepKeeping:
    """The activity that keeps steps, of the runs that this process has opened."""

    def __init__(self, known: hosted_runs.HostedRuns, elapsed: Callable[[], float]) -> None:
        """Take the runs of `known`; `elapsed` are seconds that never stand still."""
        self._hosted_runs = known
        self._elapsed = elapsed

    @activity.defn(name=documents.KEEP_STEP)
    async def keep_step(self, given: documents.StepInput) -> documents.StepAnswer:
        """Keep a step, and tell the observers of this process."""
        elapsed = self._elapsed()
        try:
            async with asyncio.TaskGroup() as group:
                saying = group.create_task(_keep_saying())
                answer = await self._keep_step(given, elapsed)
                saying.cancel()
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return answer

    async def _keep_step(self, given: documents.StepInput, elapsed: float) -> documents.StepAnswer:
        with _span(given.run_id):
            return await self._keep_checked(given, elapsed)

    async def _keep_checked(
        self, given: documents.StepInput, elapsed: float
    ) -> documents.StepAnswer:
        hosted = await self._hosted_runs.of(given.run_id)
        jump = _clock_jump(hosted, elapsed)
        if jump:
            return documents.StepAnswer(clock_jumped=jump.total_seconds())
        with _under(hosted):
            return await _keep(hosted, given)


async def _keep_saying() -> None:
    """Say that this process is there: another one keeps the step when it is not."""
    timeout = activity.info().heartbeat_timeout
    while timeout is not None:
        activity.heartbeat()
        await asyncio.sleep(timeout.total_seconds() / _BEATS)


def _clock_jump(hosted: hosted_runs.HostedRun, elapsed: float) -> timedelta:
    """Return how far the service's clock was set since the run's last step in this process.

    Raises:
        exceptions.ApplicationError: It looks so for the first time; the activity is tried again.
    """
    info = activity.info()
    jump = hosted.jumps.look(info.started_time, elapsed, is_sure=info.attempt > 1)
    if jump is None:
        raise exceptions.ApplicationError("the clock of Temporal seems to have been set")
    return jump


async def _keep(hosted: hosted_runs.HostedRun, given: documents.StepInput) -> documents.StepAnswer:
    step = given.step
    told = [json.convert(event.document, feed.AnyEvent) for event in step.feed]
    try:
        await hosted.keeper.keep_step(step, told)
    except runners.AlreadyAnswered as error:
        return documents.StepAnswer(str(error))
    except errors.PermanentError as error:
        raise exceptions.ApplicationError(str(error), non_retryable=True) from error
    if hosted.stored.version >= step.version:
        return documents.StepAnswer()  # told before
    if hosted.stored.version < step.expected_version:
        hosted.stored = await _ask_stored()
    hosted.stored = pieces.after(hosted.stored, step)
    for event in told:
        hosted.tell(event)
    return documents.StepAnswer()


async def _ask_stored() -> run_records.StoredRun:
    """Return the run before the step: other processes have kept some of its steps."""
    stored: run_records.StoredRun = await _workflow().query(
        documents.STORED, result_type=run_records.StoredRun
    )
    return stored


def _workflow() -> client.WorkflowHandle[object, object]:
    workflow_id = activity.info().workflow_id
    assert workflow_id is not None
    return activity.client().get_workflow_handle(workflow_id)


@contextlib.contextmanager
def _under(hosted: hosted_runs.TaskHost) -> Iterator[None]:
    """Be broken off with the run, as this process has it."""
    task = asyncio.current_task()
    assert task is not None
    hosted.tasks.add(task)
    try:
        yield
    finally:
        hosted.tasks.discard(task)


async def _heedless(
    work: asyncio.Task[statuses.Outcome], hosted: hosted_runs.TaskHost
) -> statuses.Outcome:
    """Return what work comes to, also when the run wants it to stop: how, its heartbeats hear.

    Only a process that lets go of the run, or ends, breaks it off here.

    Raises:
        leases.Overtaken: The service has given it to somebody else.
    """
    while True:
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if work.done() or hosted.is_closed or activity.is_worker_shutdown() or this is None:
                raise
            details = activity.cancellation_details()
            if details is not None and (details.not_found or details.timed_out):
                raise leases.Overtaken("its worker was not heard of in time") from None
            if details is None or not details.cancel_requested:
                raise
            this.uncancel()


class _Performance:
    """One task being carried out: the task itself, its heartbeats, what it says."""

    def __init__(
        self,
        hosted: hosted_runs.TaskHost,
        context: executor.TaskContext,
        lease: leases.Lease,
        given: documents.TaskInput,
    ) -> None:
        self._hosted = hosted
        self._context = context
        # Its limit is a moment of the service's clock, and this machine may have another time.
        ahead = hosted.clock.now() - activity.info().started_time
        self._deadline = context.deadline + ahead
        self._lease = lease
        self._pause = given.heartbeat_seconds / _BEATS
        self._handle = activity.client().get_async_activity_handle(
            task_token=activity.info().task_token
        )
        self._workflow = _workflow()
        self._task: asyncio.Task[statuses.Outcome] | None = None
        self._is_broken_off = False
        self._began = lease.elapsed()
        self._sentence = ""
        #: None: that was all.
        self._said: asyncio.Queue[events.TaskProgressed | None] = asyncio.Queue()
        key = (context.stage_id, context.target, context.attempt)
        self._key = key
        self._reporter = task_reporter.TaskReporter(
            context.run_id,
            given.stage_name,
            commands.StartTask(*key, context.deadline),
            hosted.clock,
            hosted.tell,
            self._said.put_nowait,
            tick=given.tick_seconds,
        )

    async def perform(self) -> statuses.Outcome:
        """Carry it out while its lease holds.

        Raises:
            leases.Overtaken: It is not this activity's any more.
        """
        try:
            async with asyncio.TaskGroup() as group:
                await self._until_heard()
                beating = group.create_task(self._keep_beating())
                telling = group.create_task(self._keep_telling())
                self._task = group.create_task(self._carry_out())
                outcome = await self._task
                self._reporter.close()
                self._said.put_nowait(None)
                await telling
                beating.cancel()
        except* leases.Overtaken as overtaken:
            raise leases.Overtaken(str(overtaken.exceptions[0])) from None
        document = self._hosted.clean(msgspec.to_builtins(outcome))
        return json.convert(document, statuses.Outcome)

    async def _carry_out(self) -> statuses.Outcome:
        with self._hosted.writing_under(self._lease):
            context = replace(self._context, deadline=self._deadline)
            return await task_outcomes.outcome_of(
                self._hosted.performer, context, self._reporter, self._was_broken_off
            )

    def _was_broken_off(self) -> bool:
        """Say whether a cancellation came from the run's order alone, and then take it back."""
        task = asyncio.current_task()
        return self._is_broken_off and task is not None and task.uncancel() == 0

    async def _until_heard(self) -> None:
        """Return when the server knows the task to be here: nothing is begun before."""
        while True:
            if await self._beat():
                return
            await asyncio.sleep(self._pause)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            await self._beat()

    async def _beat(self) -> bool:
        """Say that the task is being carried out, and hear how it has to go on.

        Returns:
            Whether the server answered.

        Raises:
            leases.Overtaken: The task is not this activity's any more.
        """
        asked = self._lease.elapsed()
        has_to_stop = False
        try:
            await self._handle.heartbeat(
                self._sentence, rpc_timeout=timedelta(seconds=max(self._pause, 1.0))
            )
        except client.AsyncActivityCancelledError as error:
            has_to_stop = error.details is None or error.details.cancel_requested
        except service.RPCError as error:
            if connections.is_away(error) or error.status is not service.RPCStatusCode.NOT_FOUND:
                return False
            self._lease.end()
            raise leases.Overtaken(f"{' '.join(map(str, self._key))}: {error.message}") from error
        self._lease.extend(asked)
        # The SDK counts as well, and breaks off what it hears nothing of.
        activity.heartbeat(self._sentence)
        if has_to_stop:
            await self._heed_order()
        return True

    async def _heed_order(self) -> None:
        """Ask the run how to stop; where it does not answer, the next heartbeat asks again."""
        try:
            order: documents.StopOrder = await self._workflow.query(
                documents.STOP_ORDER,
                args=self._key,
                result_type=documents.StopOrder,
                rpc_timeout=timedelta(seconds=max(self._pause, 1.0)),
            )
        except (service.RPCError, client.WorkflowQueryFailedError):
            return
        self._context.stop.raise_flag(order.reason)
        if order.how is state.Stopping.NOW and not self._is_broken_off and self._task is not None:
            self._is_broken_off = True
            self._task.cancel()

    async def _keep_telling(self) -> None:
        """Tell the run how far the task is, until there is nothing more to say."""
        while (said := await self._said.get()) is not None:
            await self._tell(self._reporter.newest(said))

    async def _tell(self, event: events.TaskProgressed) -> None:
        """Tell the run how far the task is; what cannot be told is told with the next word."""
        self._sentence = event.progress.sentence
        taken = self._lease.elapsed() - self._began
        self._reporter.tick = max(self._reporter.tick, taken * _TICK_SHARE)
        document = documents.write_event(event)
        document = documents.EventDocument(document.event, self._hosted.clean(document.fields))
        for _ in range(_TRIES):
            try:
                return await self._workflow.signal(documents.REPORT, document)
            except service.RPCError:
                await asyncio.sleep(self._pause)
        return None
