"""The engine in this process: its connection to Temporal, and the workers it holds."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent import futures
from dataclasses import dataclass, field

from temporalio import client, worker
from temporalio.worker import workflow_sandbox

from volary.engine.temporal import activities, desks, documents, payloads, workflows

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
#: Temporal allows 51,200 events, and warns from 10,240 on.
MOST_EVENTS = 4_000
#: Tasks that a worker carries out at once on one cluster.
_MOST_TASKS = 100


@dataclass(slots=True)
class EngineHost:
    """What every run of this process shares."""

    connection: client.Client
    elapsed: Callable[[], float]
    queues: documents.Queues = field(default_factory=documents.Queues)
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    most_events: int = MOST_EVENTS
    known: desks.Desks = field(default_factory=desks.Desks)

    @contextlib.asynccontextmanager
    async def working(self, clusters: Iterable[str]) -> AsyncIterator[None]:
        """Hold the workers of all runs, and of the tasks on these clusters, in the block."""
        performing = activities.Activities(self.known, self.elapsed)
        async with contextlib.AsyncExitStack() as stack:
            threads = stack.enter_context(
                futures.ThreadPoolExecutor(thread_name_prefix="run workflows")
            )
            workers = [self._of_runs(performing, threads)]
            workers += [self._of_cluster(performing, name) for name in clusters]
            for each in workers:
                await stack.enter_async_context(each)
            yield

    def _of_runs(
        self, performing: activities.Activities, threads: futures.ThreadPoolExecutor
    ) -> worker.Worker:
        return worker.Worker(
            self.connection,
            task_queue=self.queues.runs,
            workflows=[workflows.RunWorkflow],
            activities=[performing.keep_step],
            workflow_task_executor=threads,
            workflow_runner=sandbox(),
        )

    def _of_cluster(self, performing: activities.Activities, name: str) -> worker.Worker:
        return worker.Worker(
            self.connection,
            task_queue=self.queues.cluster(name),
            activities=[performing.perform_task],
            max_concurrent_activities=_MOST_TASKS,
            max_concurrent_activity_task_polls=1,
        )


def sandbox() -> workflow_sandbox.SandboxedWorkflowRunner:
    """Return what runs workflows without clock, randomness, input or output."""
    restrictions = workflow_sandbox.SandboxRestrictions.default.with_passthrough_modules(*PURE)
    return workflow_sandbox.SandboxedWorkflowRunner(restrictions=restrictions)


async def connect(address: str, namespace: str = "default") -> client.Client:
    """Return a client of a server that may be away for now."""
    return await client.Client.connect(
        address, namespace=namespace, data_converter=payloads.CONVERTER
    )
