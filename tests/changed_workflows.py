"""The workflow of a later version, which does something first that the one before it did not."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from volary.engine.temporal import documents, workflows


@workflow.defn(name=documents.WORKFLOW)
class RunWorkflow(workflows.RunWorkflow):
    """Waits a moment before all else: no history of the other one can be replayed by it."""

    @workflow.init
    def __init__(self, given: documents.RunInput) -> None:
        super().__init__(given)

    @workflow.run
    async def carry_out(self, given: documents.RunInput) -> documents.RunResult:
        await workflow.sleep(timedelta(milliseconds=1))
        return await super().carry_out(given)
