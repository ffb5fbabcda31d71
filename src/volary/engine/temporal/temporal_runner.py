"""Has one run carried out by Temporal, for whoever would carry it out in this process.

The face of `execution.runners.Runner`: the run's workflow is started, or found under way, and what
is asked goes to it. Being cancelled from outside is *shutting down*: the workflow goes on.
"""

import asyncio
import functools
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta
from typing import TypeVar

from temporalio import client, common, exceptions, service

from volary.engine.execution import runners
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.engine.state_machine import events, machine
from volary.engine.temporal import connections, documents, engine_hosts, hosted_runs
from volary.model import backoffs, errors
from volary.model.runs import run_records

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")

#: How often it is looked whether orders have to be given anew.
_ORDERS_SECONDS = 15.0
_AGAIN = backoffs.Backoff(timedelta(seconds=0.5), timedelta(seconds=15))


class TemporalRunner:
    """Has one run carried out; make one per run.

    Args:
        hosted: The run as it was kept, and what this process carries it out with.
        host: The engine of this process.
    """

    def __init__(self, hosted: hosted_runs.HostedRun, host: engine_hosts.EngineHost) -> None:
        self._hosted = hosted
        self._host = host
        self._id = hosted.run.id
        #: Facts, and requests that nobody waits for.
        self._outbox: asyncio.Queue[events.Event] = asyncio.Queue()
        self._is_started = asyncio.Event()
        self._reachable: set[str] = set()
        self._interrupts = 0
        self._is_over = False

    @property
    def run(self) -> state.Run:
        """The run as it was kept last, so far as this process knows."""
        return self._hosted.run

    async def carry_out(self) -> state.Run:
        """Have the run carried out to its end and return it; call it once.

        Raises:
            runners.Interrupted: Its workflow was ended from outside, or failed: the run stays as
                it was kept last.
        """
        try:
            with self._host.known.opened(self._id, self._hosted):
                return await self._carry_out()
        finally:
            self._is_over = True
            self._is_started.set()

    async def _carry_out(self) -> state.Run:
        orders = await self._hosted.orders()
        handle = await self._until_there(lambda: self._start(orders))
        self._is_started.set()
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(self._keep_sending()),
                group.create_task(self._keep_ordering(orders)),
            ]
            result = await self._result(handle)
            for task in beside:
                task.cancel()
        if isinstance(result, client.WorkflowFailureError):
            why = f"the workflow of run {self._id} ended: {_reason(result)}"
            raise runners.Interrupted(why) from result
        if self._hosted.stored.version != result.version:
            self._hosted.stored = await self._until_there(
                lambda: handle.query(documents.STORED, result_type=run_records.StoredRun)
            )
        return self._hosted.run

    async def _result(
        self, handle: client.WorkflowHandle[object, documents.RunResult]
    ) -> documents.RunResult | client.WorkflowFailureError:
        try:
            return await self._until_there(handle.result)
        except client.WorkflowFailureError as error:
            return error

    async def request(self, event: events.Event) -> str:
        """Ask for something in somebody's name.

        Returns:
            Why it cannot be done, in one sentence; empty when it was taken.

        Raises:
            runners.Interrupted: The run's workflow ended; it may have been taken or not.
        """
        await self._is_started.wait()
        # Also its id in Temporal: sent twice, it is taken once.
        update = getattr(event, "id", "") or str(uuid.uuid4())
        try:
            refusal: str = await self._until_there(
                lambda: self._handle().execute_update(
                    documents.REQUEST,
                    self._written(event),
                    id=update,
                    result_type=str,
                )
            )
        except (service.RPCError, client.WorkflowUpdateFailedError) as error:
            if self.run.is_final:
                return machine.advance(self.run, event).refusal
            raise runners.Interrupted(f"run {self._id} was interrupted: {error}") from error
        if refusal:
            self._hosted.tell(feed.RequestRefused(at=event.at, run=self._id, reason=refusal))
        return refusal

    def submit(self, event: events.Event) -> None:
        """Ask for something without waiting; observers are notified when it cannot be done."""
        self._outbox.put_nowait(event)

    @property
    def awaited(self) -> tuple[str, ...]:
        """The clusters that did not answer and are tried again."""
        return tuple(task.target for task in self.run.current.unreachable_tasks)

    def report_reachable(self, clusters: Collection[str]) -> None:
        """Say that clusters answer, so that what waits for one of them is tried again at once."""
        for cluster in self.awaited:
            if cluster in clusters and cluster not in self._reachable:
                self._reachable.add(cluster)
                self.submit(events.ClusterReachable(self._hosted.clock.now(), cluster))

    def interrupt(self, by: str, *, rollback: bool = False) -> None:
        """Cancel politely the first time, at once from the second time on (Ctrl-C)."""
        self._interrupts += 1
        now = self._interrupts > 1
        self.submit(events.Cancel(self._hosted.clock.now(), by, rollback=rollback, now=now))

    def _written(self, event: events.Event) -> documents.EventDocument:
        """Return an event as it goes into a history: without the secrets that people wrote."""
        document = documents.write_event(event)
        return documents.EventDocument(document.event, self._hosted.clean(document.fields))

    def _handle(self) -> client.WorkflowHandle[object, documents.RunResult]:
        return self._host.connection.get_workflow_handle(
            self._host.queues.workflow_id(self._id), result_type=documents.RunResult
        )

    async def _start(
        self, orders: documents.Orders
    ) -> client.WorkflowHandle[object, documents.RunResult]:
        """Start the workflow of the run; the one that is under way goes on."""
        return await self._host.connection.start_workflow(
            documents.WORKFLOW,
            documents.RunInput(
                self._hosted.stored,
                self._host.queues,
                self._host.heartbeat_seconds,
                self._host.most_events,
                orders=orders,
                untaken_seconds=self._host.untaken_seconds,
                most_tasks=self._host.most_tasks,
            ),
            id=self._host.queues.workflow_id(self._id),
            task_queue=self._host.queues.runs,
            result_type=documents.RunResult,
            id_conflict_policy=common.WorkflowIDConflictPolicy.USE_EXISTING,
            id_reuse_policy=common.WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary=f"{self.run.application} {self.run.commit[:7]}",
        )

    async def _keep_ordering(self, orders: documents.Orders) -> None:
        """Have the workflow know the orders: it may have been under way with older ones."""
        while True:
            try:
                if orders:
                    await self._until_there(functools.partial(self._send_orders, orders))
            except service.RPCError as error:  # it has ended meanwhile
                _LOG.debug("run %s does not hear of its orders: %s", self._id, error)
            await asyncio.sleep(_ORDERS_SECONDS)
            try:
                orders = await self._hosted.orders()
            except errors.VolaryError as error:
                _LOG.warning("run %s has no new orders: %s", self._id, error)
                orders = {}

    async def _send_orders(self, orders: documents.Orders) -> None:
        await self._handle().signal(documents.ORDERS, dict(orders))

    async def _keep_sending(self) -> None:
        while True:
            event = await self._outbox.get()
            try:
                await self._send(event)
            except (runners.Interrupted, service.RPCError) as error:
                _LOG.warning("run %s does not hear of %s: %s", self._id, event, error)

    async def _send(self, event: events.Event) -> None:
        if isinstance(event, events.Request):
            await self.request(event)
            return
        document = self._written(event)
        await self._until_there(lambda: self._handle().signal(documents.REPORT, document))
        if isinstance(event, events.ClusterReachable):
            self._reachable.discard(event.cluster)

    async def _until_there(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Return what the server says to something that may be said twice; wait while it is away.

        Raises:
            service.RPCError: It refuses.
        """
        failures = 0
        while True:
            try:
                return await call()
            except (service.RPCError, client.WorkflowUpdateRPCTimeoutOrCancelledError) as error:
                if self._is_over or not connections.is_away(error):
                    raise
                failures += 1
                _LOG.warning("Temporal does not answer for run %s: %s", self._id, error)
            await asyncio.sleep(_AGAIN.after(failures).total_seconds())


def _reason(failure: client.WorkflowFailureError) -> str:
    """Return what a workflow failed of: of an activity, what that said."""
    error: BaseException = failure.cause
    while isinstance(error, exceptions.ActivityError) and error.cause is not None:
        error = error.cause
    return str(error)
