"""The engine in this process: its connection to Temporal, and the workers it holds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent import futures
from dataclasses import dataclass, field

from temporalio import client, worker
from temporalio.worker import workflow_sandbox

from volary.engine.temporal import activities, documents, hosted_runs, workflows

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
#: And on all clusters of the process that opens runs.
_MOST_CENTRAL_TASKS = 10_000


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
        """Take runs in the block, and the tasks of clusters that nobody else works beside."""
        with futures.ThreadPoolExecutor(thread_name_prefix="run workflows") as threads:
            async with asyncio.TaskGroup() as group:
                workers = (self._of_runs(threads), self._of_tasks())
                for each in workers:
                    group.create_task(each.run(), name=f"worker of {each.task_queue}")
                try:
                    yield
                finally:
                    await asyncio.gather(*(each.shutdown() for each in workers))

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
        )


def task_worker(
    connection: client.Client,
    queue: str,
    known: hosted_runs.TaskHosts,
    elapsed: Callable[[], float],
    *,
    most_tasks: int = _MOST_TASKS,
) -> worker.Worker:
    """Return what takes tasks from a queue, and carries them out by what is `known`."""
    performing = activities.Activities(known, elapsed)
    return worker.Worker(
        connection,
        task_queue=queue,
        activities=[performing.perform_task, performing.conclude],
        max_concurrent_activities=most_tasks,
        max_concurrent_activity_task_polls=1,
    )


def sandbox() -> workflow_sandbox.SandboxedWorkflowRunner:
    """Return what runs workflows without clock, randomness, input or output."""
    restrictions = workflow_sandbox.SandboxRestrictions.default.with_passthrough_modules(*PURE)
    return workflow_sandbox.SandboxedWorkflowRunner(restrictions=restrictions)
