"""The stages of a move, and for how long the reason for one was observed."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.model.pipeline.stage_kinds import added_stages
from volary.placement.failover import move_plans, observed_durations

START = datetime(2026, 1, 1, tzinfo=UTC)
GAP = timedelta(seconds=30)
SYNC, REMOVE = added_stages.PLACEMENT_SYNC.name, added_stages.PLACEMENT_REMOVE.name


def test_clusters_are_changed_in_the_order_of_the_plan() -> None:
    plan = move_plans.MovePlan(("lost",), ("us", "eu"), ("asia", "us"), ("old",))

    assert plan.clusters == ("lost", "us", "eu", "asia", "old")
    assert plan.leaves == ("lost", "old")
    assert not plan.fresh
    assert [
        (stage.index, stage.name, stage.targets, stage.timeout) for stage in move_plans.stages(plan)
    ] == [
        (0, REMOVE, ("lost",), timedelta(minutes=10)),
        (1, SYNC, ("us", "eu"), timedelta(minutes=10)),
        (2, SYNC, ("asia", "us"), timedelta(minutes=10)),
        (3, REMOVE, ("old",), timedelta(minutes=10)),
    ]


def test_what_concerns_nobody_has_no_stage() -> None:
    (placing, removing) = move_plans.stages(move_plans.MovePlan(place=("us",), last=("eu",)))

    assert (placing.index, placing.name, placing.targets) == (0, SYNC, ("us",))
    assert (removing.index, removing.name, removing.targets) == (1, REMOVE, ("eu",))
    assert placing.description == "Bring clusters what moves there, at the release they run"
    assert move_plans.stages(move_plans.MovePlan()) == ()


@pytest.mark.parametrize(
    ("passed", "lasted"),
    [
        (timedelta(0), timedelta(0)),
        (timedelta(seconds=10), timedelta(seconds=10)),
        (GAP, GAP),
        (GAP + timedelta(microseconds=1), timedelta(0)),
        (-timedelta(seconds=1), timedelta(0)),
    ],
)
def test_only_time_without_a_gap_counts(passed: timedelta, lasted: timedelta) -> None:
    first = observed_durations.observe(None, START, GAP)
    assert first == observed_durations.ObservedDuration(START, START, timedelta(0))

    second = observed_durations.observe(first, START + passed, GAP)

    assert second == observed_durations.ObservedDuration(START, START + passed, lasted)


def test_time_adds_up() -> None:
    clock = None
    for second in (0, 10, 20, 100, 110):
        clock = observed_durations.observe(clock, START + timedelta(seconds=second), GAP)

    assert clock is not None
    assert clock.since == START
    assert clock.lasted == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.25, "1.2 s"),
        (9.94, "9.9 s"),
        (10, "10 s"),
        (10.9, "10 s"),
        (119, "119 s"),
        (120, "2 min"),
        (179, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (10_799, "2 h"),
    ],
)
def test_a_duration_in_words(seconds: float, text: str) -> None:
    assert observed_durations.describe(timedelta(seconds=seconds)) == text
