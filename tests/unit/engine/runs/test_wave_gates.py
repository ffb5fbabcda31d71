"""The end of a wave, and which clusters its analysis compares with."""

from datetime import UTC, datetime, timedelta

from volary.engine.runs import policies, run_builder, state, updates, wave_gates
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind, waiting_stages
from volary.model.placement import rollouts
from volary.placement.waves import planned_waves, wave_steps

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
CLEAN = pipelines.Stage(rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions(), index=1)
JUDGED = rollouts.Gate(
    approval=waiting_stages.ApprovalOptions(("bo",)),
    analysis=waiting_stages.AnalysisOptions(timedelta(minutes=5)),
)


def run(*sizes: int, over: rollouts.WavesOver = rollouts.WavesOver.PIPELINE) -> state.Run:
    """Given: waves of so many clusters, ``1a`` and ``1b`` in the first one."""
    named = [
        planned_waves.PlannedWave(
            rollouts.Wave(str(number), gate=JUDGED),
            tuple(f"{number}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"[:size]),
        )
        for number, size in enumerate(sizes, start=1)
    ]
    sequence = wave_steps.sequence((SYNC, CLEAN), planned_waves.Division(tuple(named)), over)
    made = run_builder.RunSpec(
        "shop",
        "new",
        (run_builder.Group(tuple(name for each in named for name in each.targets)),),
        (SYNC, CLEAN),
        waves=tuple(policies.WaveRule(each.wave.name, each.targets) for each in named),
        steps=tuple(
            run_builder.WaveStep(
                each.stage, run_builder.Group(each.wave.targets), each.wave.wave.name
            )
            for each in sequence
        ),
    )
    return run_builder.new_run("run", made, START)


def test_a_wave_ends_with_health_then_numbers_then_people() -> None:
    given = run(1, 1)
    names = [given.stages[each].stage.name for each in sorted(wave_gates.positions(given))]
    assert names == ["WAVE_GATE", "ANALYSIS", "WAIT_APPROVAL"]


def test_what_every_wave_does_after_the_gates_is_none_of_them() -> None:
    given = run(1, 1, over=rollouts.WavesOver.STAGE)
    ids = [given.stages[each].id for each in sorted(wave_gates.positions(given))]
    assert ids == ["1/3-WAVE_GATE", "1/4-ANALYSIS", "1/5-WAIT_APPROVAL"]


def test_others_are_dealt_out_so_that_no_two_are_compared_with_the_same() -> None:
    given = run(2, 2, 3)
    assert wave_gates.not_updated(given, "1a") == ("2a", "3a", "3c")
    assert wave_gates.not_updated(given, "1b") == ("2b", "3b")
    assert wave_gates.not_updated(given, "2b") == ("3b",)
    assert wave_gates.not_updated(given, "3a") == ()
    assert len(wave_gates.not_updated(run(1, 26), "1a")) == 10


def test_with_fewer_left_than_the_wave_has_they_are_shared() -> None:
    given = run(3, 1)
    assert {wave_gates.not_updated(given, each) for each in ("1a", "1b", "1c")} == {("2a",)}


def test_a_cluster_that_is_left_out_says_nothing_about_the_old_release() -> None:
    given = updates.leave_out(run(1, 2), "2a", "it is broken")
    assert wave_gates.not_updated(given, "1a") == ("2b",)
