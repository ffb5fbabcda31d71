"""The end of a wave, and which clusters its analysis compares with."""

from datetime import UTC, datetime, timedelta

from volary.engine import gate, plan, rules, state, update
from volary.model import placement, stage
from volary.placement import steps, waves

START = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())
CLEAN = stage.Stage(stage.StageName.CANARY_CLEAN, stage.CleanOptions(), index=1)
JUDGED = placement.Gate(
    approval=stage.ApprovalOptions(("bo",)),
    analysis=stage.AnalysisOptions(timedelta(minutes=5)),
)


def run(*sizes: int, over: placement.WavesOver = placement.WavesOver.PIPELINE) -> state.Run:
    """Given: waves of so many clusters, ``1a`` and ``1b`` in the first one."""
    named = [
        waves.PlannedWave(
            placement.Wave(str(number), gate=JUDGED),
            tuple(f"{number}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"[:size]),
        )
        for number, size in enumerate(sizes, start=1)
    ]
    sequence = steps.sequence((SYNC, CLEAN), waves.Division(tuple(named)), over)
    made = plan.Plan(
        "shop",
        "new",
        (plan.Group(tuple(name for each in named for name in each.targets)),),
        (SYNC, CLEAN),
        waves=tuple(rules.WaveRule(each.wave.name, each.targets) for each in named),
        steps=tuple(
            plan.Step(each.stage, plan.Group(each.wave.targets), each.wave.wave.name)
            for each in sequence
        ),
    )
    return plan.new_run("run", made, START)


def test_a_wave_ends_with_health_then_numbers_then_people() -> None:
    given = run(1, 1)
    names = [given.stages[each].stage.name.value for each in sorted(gate.positions(given))]
    assert names == ["WAVE_GATE", "ANALYSIS", "WAIT_APPROVAL"]


def test_what_every_wave_does_after_the_gates_is_none_of_them() -> None:
    given = run(1, 1, over=placement.WavesOver.STAGE)
    ids = [given.stages[each].id for each in sorted(gate.positions(given))]
    assert ids == ["1/3-WAVE_GATE", "1/4-ANALYSIS", "1/5-WAIT_APPROVAL"]


def test_others_are_dealt_out_so_that_no_two_are_compared_with_the_same() -> None:
    given = run(2, 2, 3)
    assert gate.not_updated(given, "1a") == ("2a", "3a", "3c")
    assert gate.not_updated(given, "1b") == ("2b", "3b")
    assert gate.not_updated(given, "2b") == ("3b",)
    assert gate.not_updated(given, "3a") == ()
    assert len(gate.not_updated(run(1, 26), "1a")) == 10


def test_with_fewer_left_than_the_wave_has_they_are_shared() -> None:
    given = run(3, 1)
    assert {gate.not_updated(given, each) for each in ("1a", "1b", "1c")} == {("2a",)}


def test_a_cluster_that_is_left_out_says_nothing_about_the_old_release() -> None:
    given = update.leave_out(run(1, 2), "2a", "it is broken")
    assert gate.not_updated(given, "1a") == ("2b",)
