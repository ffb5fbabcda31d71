"""``WAIT_APPROVAL``: the engine asks people; what is left to do here is to say that they agreed."""

from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.runtime import execution, stage_runners


async def run(work: execution.Work, options: waiting_stages.ApprovalOptions) -> str:
    """Carry out the stage, which begins after the last approval; it looks at no cluster."""
    del options
    work.context.progress("approved")
    return "approved"


RUNNER = stage_runners.StageRunner(kind=waiting_stages.WAIT_APPROVAL, run=run)
