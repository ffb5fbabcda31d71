"""Stepping: Flagger's golden traces, and what has to hold for every plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config import progression
from volary.model import stage, traffic
from volary.planner import stepping

Options = stage.ProgressiveTrafficOptions
_LONG = 1000


def trace(options: Options, *, failing: tuple[int, ...] = (), most: int = _LONG) -> list[str]:
    """Run a plan with checks that fail in the given ticks; one entry per tick, as in the spec."""
    position, found = stepping.Position(), ["100/0"]
    for number in range(1, most):
        answers = stepping.Answers(passed=number not in failing)
        done = stepping.tick(options, position, answers)
        if done.move is stepping.Move.PROMOTE:
            return [*found, "promote"]
        if done.move is stepping.Move.FAIL:
            return [*found, "fail"]
        position = done.position
        found.append(_entry(options, position))
    return found


def _entry(options: Options, position: stepping.Position) -> str:
    parts = []
    if position.weight or not options.iterations:
        parts.append(f"{100 - position.weight}/{position.weight}")
    if options.iterations:
        parts.append(f"i{position.iterations}")
    if position.failed:
        parts.append(f"f{position.failed}")
    if position.mirrored:
        parts.append("mirror")
    return " ".join(parts)


def test_weights_go_up_by_the_step_to_the_maximum() -> None:
    found = trace(Options(step_weight=10, max_weight=50))
    assert found == ["100/0", "90/10", "80/20", "70/30", "60/40", "50/50", "promote"]


def test_overshoot_only_when_it_is_asked_for() -> None:
    asked = Options(step_weight=20, max_weight=50, overshoot=True)
    assert trace(asked) == ["100/0", "80/20", "60/40", "40/60", "promote"]
    cut = replace(asked, overshoot=False)
    assert trace(cut) == ["100/0", "80/20", "60/40", "50/50", "promote"]


def test_listed_weights_are_met_exactly() -> None:
    found = trace(Options(step_weights=(1, 2, 10, 80)))
    assert found == ["100/0", "99/1", "98/2", "90/10", "20/80", "promote"]


def test_blue_green_counts_then_switches() -> None:
    found = trace(Options(iterations=3))
    assert found == ["100/0", "i1", "i2", "i3", "0/100 i4", "promote"]


def test_blue_green_mirrors_while_it_counts() -> None:
    found = trace(Options(iterations=2, mirror=True))
    assert found == ["100/0", "i1 mirror", "i2 mirror", "0/100 i3", "promote"]


def test_ab_test_sends_the_matched_requests_and_counts() -> None:
    match = traffic.RequestMatch(headers={"x-beta": traffic.TextMatch("1")})
    found = trace(Options(iterations=3, match=(match,)))
    assert found == ["100/0", "0/100 i1", "0/100 i2", "0/100 i3", "promote"]


def test_a_mirror_comes_one_tick_before_the_first_weight() -> None:
    found = trace(Options(step_weight=50, mirror=True))
    assert found == ["100/0", "100/0 mirror", "50/50", "0/100", "promote"]


def test_failures_add_up_and_fail_one_tick_later() -> None:
    options = Options(step_weight=10, threshold=2)
    found = trace(options, failing=(2, 4))
    assert found == ["100/0", "90/10", "90/10 f1", "80/20 f1", "80/20 f2", "fail"]


def test_immediate_fails_with_the_last_check() -> None:
    options = Options(step_weight=10, threshold=2, immediate=True)
    assert trace(options, failing=(2, 4)) == ["100/0", "90/10", "90/10 f1", "80/20 f1", "fail"]


def test_a_weight_set_by_hand_goes_on_to_the_next_of_the_list() -> None:
    options = Options(step_weights=(1, 2, 10, 80))
    done = stepping.tick(options, stepping.Position(weight=5), stepping.Answers())
    assert done.position.weight == 10


def test_a_refused_increase_stays_without_a_failed_check() -> None:
    options = Options(step_weight=10)
    before = stepping.Position(weight=10)
    done = stepping.tick(options, before, stepping.Answers(granted=False))
    assert (done.move, done.position) == (stepping.Move.STAY, before)


def test_a_refused_promotion_waits_and_still_fails_by_its_checks() -> None:
    options = Options(step_weight=50, max_weight=50)
    waiting = stepping.tick(options, stepping.Position(weight=50), stepping.Answers(granted=False))
    assert (waiting.move, waiting.position.waiting) == (stepping.Move.STAY, True)
    failed = stepping.tick(options, waiting.position, stepping.Answers(passed=False, granted=False))
    ended = stepping.tick(options, failed.position, stepping.Answers())
    assert ended.move is stepping.Move.FAIL


def test_a_refused_promotion_keeps_its_iterations() -> None:
    options = Options(iterations=1)
    before = stepping.Position(iterations=1)
    done = stepping.tick(options, before, stepping.Answers(granted=False))
    assert done.position.iterations == 1
    assert not stepping.is_first(done.position)


def test_a_rollback_that_is_asked_for_comes_before_everything() -> None:
    answers = stepping.Answers(rollback=True, passed=True)
    done = stepping.tick(Options(step_weight=10), stepping.Position(weight=100), answers)
    assert done.move is stepping.Move.FAIL


@pytest.mark.parametrize(
    ("position", "wanted"),
    [
        (stepping.Position(), stepping.Gate.TRAFFIC_INCREASE),
        (stepping.Position(mirrored=True), None),
        (stepping.Position(weight=20), stepping.Gate.TRAFFIC_INCREASE),
        (stepping.Position(weight=50), stepping.Gate.PROMOTION),
        (stepping.Position(weight=60), stepping.Gate.PROMOTION),
    ],
)
def test_which_gate_is_asked(position: stepping.Position, wanted: stepping.Gate | None) -> None:
    options = Options(step_weight=10, max_weight=50, mirror=True)
    assert stepping.gate(options, position) is wanted


def test_blue_green_asks_before_the_switch_and_after_it() -> None:
    options = Options(iterations=2)
    gates = [
        stepping.gate(options, stepping.Position(weight=weight, iterations=count))
        for weight, count in ((0, 0), (0, 1), (0, 2), (100, 3))
    ]
    promotion = stepping.Gate.PROMOTION
    assert gates == [None, None, promotion, promotion]


def test_traffic_returns_in_steps() -> None:
    options = Options(step_weight=10, step_weight_promotion=30)
    weights = [80]
    while weights[-1]:
        weights.append(stepping.returning(options, weights[-1]))
    assert weights == [80, 50, 20, 0]
    assert stepping.returning(Options(step_weight=10), 80) == 0


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (Options(), ""),
        (Options(step_weight=10, step_weights=(10, 20)), "stepWeights"),
        (Options(step_weight=10, iterations=3), "iterations"),
        (Options(step_weights=(10, 10)), "stepWeights"),
        (Options(step_weights=(20, 10)), "stepWeights"),
        (Options(step_weights=(10, 101)), "stepWeights"),
        (Options(step_weights=(0, 10)), "stepWeights"),
        (Options(step_weight=10, max_weight=101), "maxWeight"),
        (Options(step_weight=10, max_weight=0), "maxWeight"),
        (Options(step_weight=101), "stepWeight"),
        (Options(step_weights=(10,), overshoot=True), "overshoot"),
        (Options(step_weight=10, match=(traffic.RequestMatch(),)), "match"),
    ],
)
def test_plans_that_cannot_end_are_refused(options: Options, where: str) -> None:
    assert where in [name for name, _ in progression.problems(options)]


def test_a_fleet_goes_at_the_pace_of_the_slowest() -> None:
    positions = [stepping.Position(weight=20, failed=1), stepping.Position(weight=10, failed=2)]
    assert stepping.together(positions) == stepping.Position(weight=10, failed=2)
    answers = [stepping.Answers(), stepping.Answers(passed=False)]
    assert stepping.unanimous(answers) == stepping.Answers(passed=False)


@st.composite
def plans(draw: st.DrawFn) -> Options:
    threshold = draw(st.integers(1, 5))
    mirror = draw(st.booleans())
    shared = Options(threshold=threshold, mirror=mirror, immediate=draw(st.booleans()))
    way = draw(st.sampled_from(("step", "list", "iterations")))
    if way == "step":
        return replace(
            shared,
            step_weight=draw(st.integers(1, 100)),
            max_weight=draw(st.integers(1, 100)),
            overshoot=draw(st.booleans()),
        )
    if way == "list":
        weights = draw(st.sets(st.integers(1, 100), min_size=1, max_size=10))
        return replace(shared, step_weights=tuple(sorted(weights)))
    return replace(shared, iterations=draw(st.integers(1, 20)))


_ANSWERS = st.builds(
    stepping.Answers,
    rollback=st.just(False),
    passed=st.booleans(),
    conclusive=st.booleans(),
    granted=st.booleans(),
)


@given(plans(), st.lists(_ANSWERS, max_size=200))
def test_weights_stay_in_bounds_whatever_is_answered(
    options: Options, answers: list[stepping.Answers]
) -> None:
    assert progression.problems(options) == []
    position = stepping.Position()
    top = stepping.maximum(options) if not options.iterations else 100
    for each in answers:
        done = stepping.tick(options, position, each)
        after = done.position
        assert 0 <= after.weight <= (100 if options.overshoot else top)
        assert after.weight >= position.weight
        assert after.failed >= position.failed
        assert after.failed <= options.threshold
        if done.move is stepping.Move.PROMOTE:
            assert each == stepping.Answers()
            assert after.weight >= top
            return
        if done.move is stepping.Move.FAIL:
            assert after.failed == options.threshold
            return
        if each != stepping.Answers():
            assert after.weight == position.weight
        position = after


@given(plans())
def test_a_good_plan_always_ends(options: Options) -> None:
    assert trace(options)[-1] == "promote"
    assert stepping.ticks(options) <= 103


@given(plans(), st.integers(0, 100))
def test_any_live_weight_is_a_place_to_go_on_from(options: Options, weight: int) -> None:
    position = stepping.Position(weight=weight, iterations=options.iterations + 1)
    for _ in range(110):
        done = stepping.tick(options, position, stepping.Answers())
        if done.move is stepping.Move.PROMOTE:
            return
        position = done.position
    pytest.fail("the plan does not end")


@given(st.integers(0, 100), st.integers(0, 100))
def test_percentages_always_add_up(weight: int, baseline: int) -> None:
    found = stepping.shares(stepping.Position(weight=weight), baseline)
    assert sum(found) == 100
    assert min(found) >= 0
    assert found[1] == weight
    assert found[2] <= baseline


def test_too_little_to_judge_by_neither_moves_nor_counts() -> None:
    before = stepping.Position(weight=10, failed=1)
    options = Options(step_weight=10, threshold=3)
    done = stepping.tick(options, before, stepping.Answers(conclusive=False))
    assert (done.move, done.position) == (stepping.Move.STAY, before)


@given(plans())
def test_the_least_time_is_that_of_the_rounds(options: Options) -> None:
    assert progression.least_time(options) == options.interval * (stepping.ticks(options) - 1)
