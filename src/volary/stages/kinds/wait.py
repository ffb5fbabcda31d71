"""``WAIT``: nothing happens for a while.

Where canary gets traffic meanwhile its pods are watched: when none is ready any more the stage
fails, so that its users do not wait for the end of it.
"""

from volary.model import phrases
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import cluster_judges
from volary.stages.runtime import execution, stage_runners
from volary.stages.traffic import readiness_watch


async def run(work: execution.Work, options: waiting_stages.WaitOptions) -> str:
    """Carry out the stage; it looks at a cluster only where a canary runs."""
    if cluster_judges.new_version(work.context.begun) is not variant.Variant.CANARY:
        return await _wait(work, options)
    source = await work.load(work.context.target_source)
    return await readiness_watch.while_ready(work, source, lambda: _wait(work, options))


async def _wait(work: execution.Work, options: waiting_stages.WaitOptions) -> str:
    length = phrases.duration(options.duration)
    if options.duration > work.remaining:
        raise execution.StageFailedError(
            f"a wait of {length} does not fit into what is left of the stage"
        )
    work.context.progress(f"waiting for {length}")
    await work.pause(options.duration)
    return f"waited for {length}"


RUNNER = stage_runners.StageRunner(kind=waiting_stages.WAIT, run=run)
