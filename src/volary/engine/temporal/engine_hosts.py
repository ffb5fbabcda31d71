"""The engine in this process: its connection to Temporal, and the workers it holds."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from concurrent import futures
from dataclasses import dataclass, field

from temporalio import client, worker
from temporalio.worker import workflow_sandbox

from volary.engine.temporal import activities, documents, hosted_runs, workflows
from volary.model import errors

#: Workflows may import these as they are: they are pure, and need no copy in each run.
PURE = (
    "msgspec",
    "volary.engine.execution",
    "volary.engine.executor",
    "volary.engine.observers",
    "volary.engine.persistence",
    "volary.engine.runs",
    "volary.engine.state_machine",
    "volary.engine.temporal.documents",
    "volary.model",
)
#: Seconds without a heartbeat after which a task's worker counts as gone.
HEARTBEAT_SECONDS = 30.0
#: Seconds in which somebody who works beside a cluster takes a task, where somebody is there.
UNTAKEN_SECONDS = 60.0
#: Temporal allows 51,200 events, and warns from 10,240 on.
MOST_EVENTS = 4_000
#: Tasks of one run that are begun at once: Temporal takes 2,000, and more were never tried.
MOST_UNDER_WAY = 1_000
#: Tasks that a process carries out at once on one cluster that it works beside.
_MOST_TASKS = 100
#: And on all clusters of the process that opens runs, which asks for as many at the same time.
_MOST_CENTRAL_TASKS, _CENTRAL_POLLS = 10_000, 5


class WorkerFailed(errors.TemporaryError):
    """Temporal does not let this process take tasks; says why in one sentence."""


def _is_news(record: logging.LogRecord) -> bool:
    """Say whether the SDK tells what is not raised as well: why a worker ended."""
    return "Worker failed" not in str(record.msg)


logging.getLogger("temporalio.worker._worker").addFilter(_is_news)


@dataclass(slots=True)
class EngineHost:
    """What every run of this process shares."""

    connection: client.Client
    elapsed: Callable[[], float]
    queues: documents.Queues = field(default_factory=documents.Queues)
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    most_events: int = MOST_EVENTS
    #: Seconds after which a task that nobody has taken says that its cluster is not reached.
    untaken_seconds: float = UNTAKEN_SECONDS
    #: Tasks of one run that are begun and have not ended; the others wait for their turn.
    most_tasks: int = MOST_UNDER_WAY
    known: hosted_runs.HostedRuns = field(default_factory=hosted_runs.HostedRuns)

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Take runs in the block, and the tasks of clusters that nobody else works beside.

        Raises:
            WorkerFailed: Temporal does not let it; the block is broken off.
        """
        with futures.ThreadPoolExecutor(thread_name_prefix="run workflows") as threads:
            async with working_with(self._of_runs(threads), self._of_tasks()):
                yield

    def _of_runs(self, threads: futures.ThreadPoolExecutor) -> worker.Worker:
        return worker.Worker(
            self.connection,
            task_queue=self.queues.runs,
            workflows=[workflows.RunWorkflow],
            activities=[activities.StepKeeping(self.known, self.elapsed).keep_step],
            workflow_task_executor=threads,
            workflow_runner=sandbox(),
            # Whatever goes wrong ends the workflow, and so does a history that this version cannot
            # go on with: the run goes on from what was kept. By itself Temporal would try the same
            # again, without end.
            workflow_failure_exception_types=[Exception],
        )

    def _of_tasks(self) -> worker.Worker:
        return task_worker(
            self.connection,
            self.queues.central,
            self.known,
            self.elapsed,
            most_tasks=_MOST_CENTRAL_TASKS,
            polls=_CENTRAL_POLLS,
        )


@contextlib.asynccontextmanager
async def working_with(*workers: worker.Worker) -> AsyncIterator[None]:
    """Have workers take tasks in the block; at its end they have ended too.

    Raises:
        WorkerFailed: One of them cannot go on; the block is broken off.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for each in workers:
                group.create_task(_work(each), name=f"worker of {each.task_queue}")
            try:
                yield
            finally:
                # Also of one that has failed: it has ended.
                await asyncio.gather(*(each.shutdown() for each in workers))
    except* WorkerFailed as failed:
        first: BaseException = failed
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


async def _work(made: worker.Worker) -> None:
    try:
        await made.run()
    except Exception as error:  # the SDK names none: whatever it was, nothing is taken any more
        raise WorkerFailed(f"tasks of {made.task_queue} cannot be taken: {error}") from error


def task_worker(
    connection: client.Client,
    queue: str,
    known: hosted_runs.TaskHosts,
    elapsed: Callable[[], float],
    *,
    most_tasks: int = _MOST_TASKS,
    polls: int = 1,
) -> worker.Worker:
    """Return what takes tasks from a queue, and carries them out by what is `known`."""
    performing = activities.Activities(known, elapsed)
    return worker.Worker(
        connection,
        task_queue=queue,
        activities=[performing.perform_task, performing.conclude],
        max_concurrent_activities=most_tasks,
        max_concurrent_activity_task_polls=polls,
    )


def sandbox() -> workflow_sandbox.SandboxedWorkflowRunner:
    """Return what runs workflows without clock, randomness, input or output."""
    restrictions = workflow_sandbox.SandboxRestrictions.default.with_passthrough_modules(*PURE)
    return workflow_sandbox.SandboxedWorkflowRunner(restrictions=restrictions)
