"""What people see of a run's waves."""

from datetime import UTC, datetime

from volary.controller.api import conversions
from volary.engine.runs import policies, run_builder, state, updates
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
CLUSTERS = ("us", "eu", "asia")
RULE = policies.WaveRule(
    "all", CLUSTERS, failures=2, unreachable=1, on_failure=policies.OnFailure.ROLLBACK_WAVE
)


def test_a_wave_counts_what_it_goes_on_without_by_its_kind() -> None:
    """Skipped by a person is neither failed nor unreachable."""
    group = run_builder.Group(CLUSTERS, "all")
    spec = run_builder.RunSpec(
        "shop",
        "new",
        (group,),
        (SYNC,),
        waves=(RULE,),
        steps=(run_builder.WaveStep(SYNC, group, "all"),),
    )
    run = run_builder.new_run("run", spec, START)
    run = updates.leave_out(run, "us", "out of memory", state.LeftOut.FAILED)
    run = updates.leave_out(run, "eu", "no answer", state.LeftOut.UNREACHABLE)
    run = updates.leave_out(run, "asia", "not today", state.LeftOut.SKIPPED)

    shown = conversions.of_wave(run, RULE)

    assert (shown.name, shown.clusters) == ("all", CLUSTERS)
    assert (shown.failures, shown.failed) == (2, 1)
    assert (shown.unreachable, shown.lost) == (1, 1)
    assert shown.on_failure == "rollback-wave"
