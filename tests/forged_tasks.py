"""Somebody who may start what they like in Temporal, as a thief of its credentials could."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import client, common, worker, workflow

from volary.engine.temporal import documents, payloads
from volary.model import statuses

_QUEUE = "of-a-thief"


@workflow.defn(name="forged")
class ForgedWorkflow:
    """Has a task carried out that no run has asked for."""

    @workflow.run
    async def carry_out(self, queue: str, given: documents.TaskInput) -> statuses.Outcome:
        return await workflow.execute_activity(
            documents.PERFORM_TASK,
            given,
            result_type=statuses.Outcome,
            task_queue=queue,
            start_to_close_timeout=timedelta(minutes=2),
            retry_policy=common.RetryPolicy(maximum_attempts=1),
        )


@dataclass
class Thief:
    """Has access to Temporal, and to no key."""

    client: client.Client

    async def stolen(self, run: str) -> documents.RunInput:
        """Return what the workflow of a run began with, as its history has it."""
        handle = self.client.get_workflow_handle(documents.Queues().workflow_id(run))
        history = await handle.fetch_history()
        begun = history.events[0].workflow_execution_started_event_attributes
        decoded = await payloads.CONVERTER.decode(list(begun.input.payloads), [documents.RunInput])
        given: documents.RunInput = decoded[0]
        return given

    async def tasks(self, run: str) -> list[documents.TaskInput]:
        """Return the tasks of a run, as its history has them."""
        handle = self.client.get_workflow_handle(documents.Queues().workflow_id(run))
        found: list[documents.TaskInput] = []
        async for event in handle.fetch_history_events():
            begun = event.activity_task_scheduled_event_attributes
            if begun.activity_type.name == documents.PERFORM_TASK:
                given = list(begun.input.payloads)
                found += await payloads.CONVERTER.decode(given, [documents.TaskInput])
        return found

    async def has_done(self, cluster: str, given: Any) -> statuses.Outcome:
        """Have a task carried out by whoever works in a cluster."""
        outcome: statuses.Outcome = await self.client.execute_workflow(
            ForgedWorkflow.carry_out,
            args=[documents.Queues().cluster(cluster), given],
            id=f"forged-{id(given)}",
            task_queue=_QUEUE,
        )
        return outcome


@asynccontextmanager
async def thief(address: str) -> AsyncIterator[Thief]:
    connected = await client.Client.connect(address, data_converter=payloads.CONVERTER)
    async with worker.Worker(
        connected,
        task_queue=_QUEUE,
        workflows=[ForgedWorkflow],
        workflow_runner=worker.UnsandboxedWorkflowRunner(),
    ):
        yield Thief(connected)
