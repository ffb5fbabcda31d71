"""Which function carries out which stage. Add a stage: a file, its name, a line here."""

from collections.abc import Awaitable, Callable, Mapping

from volary.model import outcome, stage
from volary.stages import (
    aftermath,
    analysis,
    baseline_rollout,
    blue_green,
    canary_rollout,
    clean,
    guarding,
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
from volary.stages import context as contexts

Run = Callable[[contexts.StageContext], Awaitable[outcome.Outcome]]

RUNS: Mapping[stage.StageName, Run] = {
    stage.StageName.SYNC: sync.run,
    stage.StageName.CANARY_ROLLOUT: canary_rollout.run,
    stage.StageName.CANARY_CLEAN: clean.run_canary,
    stage.StageName.BASELINE_ROLLOUT: baseline_rollout.run,
    stage.StageName.BASELINE_CLEAN: clean.run_baseline,
    stage.StageName.PRIMARY_ROLLOUT: primary_rollout.run,
    stage.StageName.TRAFFIC_ROUTING: traffic_routing.run,
    stage.StageName.ROLLBACK: rollback.run,
    stage.StageName.WAIT: wait.run,
    stage.StageName.WAIT_APPROVAL: wait_approval.run,
    stage.StageName.ANALYSIS: analysis.run,
    stage.StageName.PROGRESSIVE_TRAFFIC: progressive_traffic.run,
    stage.StageName.BLUE_GREEN: blue_green.run,
    stage.StageName.WEBHOOK_GATE: webhook_gate.run,
    stage.StageName.SCRIPT_RUN: script_run.run,
    stage.StageName.WAVE_GATE: wave_gate.run,
    stage.StageName.PLACEMENT_SYNC: placement.run_sync,
    stage.StageName.PLACEMENT_REMOVE: placement.run_remove,
}


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the context's stage on its cluster and say how it ended."""
    beside, carry_out = context.stage.beside, RUNS[context.stage.name]
    if beside is not None:
        ended = await guarding.run(context, beside, carry_out)
    else:
        ended = await carry_out(context)
    return await aftermath.follow(context, ended)
