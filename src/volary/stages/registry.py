"""Which function carries out which stage, and what its router must be able to do.

Add a stage: a file in `kinds`, its name, a line here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from volary.model import applications, statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.stages import completion_hooks
from volary.stages.judgement import analysis_runs
from volary.stages.kinds import (
    analysis,
    baseline_rollout,
    blue_green,
    canary_rollout,
    clean,
    placement,
    primary_rollout,
    progressive_traffic,
    rollback,
    script_run,
    sync,
    traffic_routing,
    wait,
    wait_approval,
    wave_gate,
    webhook_gate,
)
from volary.stages.runtime import contexts


def check_traffic(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: pipelines.StageOptions,
    target: str,
) -> None:
    """Refuse a stage that moves traffic, where its router cannot; any other stage is fine.

    Args:
        source: The manifests of the target source.
        application: The application.
        options: The stage's.
        target: The cluster; empty: as for one that nothing is said of.

    Raises:
        UserError: The router cannot divide traffic like this, or the manifests lack what it
            needs: the object that carries the routes, a route that is named, a Service.
    """
    if isinstance(options, pipelines.TrafficOptions):
        traffic_routing.plan(source, application, options.on(target))
    elif isinstance(options, pipelines.ProgressiveTrafficOptions | pipelines.BlueGreenOptions):
        traffic_routing.plan(source, application, pipelines.TrafficOptions(100))
    if isinstance(options, pipelines.ProgressiveTrafficOptions):
        progressive_traffic.plan(source, application, options)


Run = Callable[[contexts.StageContext], Awaitable[statuses.Outcome]]

RUNS: Mapping[pipelines.StageName, Run] = {
    pipelines.StageName.SYNC: sync.run,
    pipelines.StageName.CANARY_ROLLOUT: canary_rollout.run,
    pipelines.StageName.CANARY_CLEAN: clean.run_canary,
    pipelines.StageName.BASELINE_ROLLOUT: baseline_rollout.run,
    pipelines.StageName.BASELINE_CLEAN: clean.run_baseline,
    pipelines.StageName.PRIMARY_ROLLOUT: primary_rollout.run,
    pipelines.StageName.TRAFFIC_ROUTING: traffic_routing.run,
    pipelines.StageName.ROLLBACK: rollback.run,
    pipelines.StageName.WAIT: wait.run,
    pipelines.StageName.WAIT_APPROVAL: wait_approval.run,
    pipelines.StageName.ANALYSIS: analysis.run,
    pipelines.StageName.PROGRESSIVE_TRAFFIC: progressive_traffic.run,
    pipelines.StageName.BLUE_GREEN: blue_green.run,
    pipelines.StageName.WEBHOOK_GATE: webhook_gate.run,
    pipelines.StageName.SCRIPT_RUN: script_run.run,
    pipelines.StageName.WAVE_GATE: wave_gate.run,
    pipelines.StageName.PLACEMENT_SYNC: placement.run_sync,
    pipelines.StageName.PLACEMENT_REMOVE: placement.run_remove,
}


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the context's stage on its cluster and say how it ended."""
    beside, carry_out = context.stage.beside, RUNS[context.stage.name]
    if beside is not None:
        ended = await analysis_runs.run_in_background(context, beside, carry_out)
    else:
        ended = await carry_out(context)
    return await completion_hooks.complete(context, ended)
