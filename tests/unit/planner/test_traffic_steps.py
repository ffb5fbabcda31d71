"""Stepping: Flagger's golden traces, and what has to hold for every plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.stages import progressive_rules
from volary.model.pipeline import traffic
from volary.model.pipeline.stage_kinds import traffic_stages
from volary.planner import traffic_steps

Options = traffic_stages.ProgressiveTrafficOptions
_LONG = 1000


def trace(options: Options, *, failing: tuple[int, ...] = (), most: int = _LONG) -> list[str]:
    """Run a plan with checks that fail in the given ticks; one entry per tick, as in the spec."""
    position, found = traffic_steps.Position(), ["100/0"]
    for number in range(1, most):
        answers = traffic_steps.Answers(passed=number not in failing)
        done = traffic_steps.tick(options, position, answers)
        if done.move is traffic_steps.Move.PROMOTE:
            return [*found, "promote"]
        if done.move is traffic_steps.Move.FAIL:
            return [*found, "fail"]
        position = done.position
        found.append(_entry(options, position))
    return found


def _entry(options: Options, position: traffic_steps.Position) -> str:
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
    done = traffic_steps.tick(options, traffic_steps.Position(weight=5), traffic_steps.Answers())
    assert done.position.weight == 10


def test_a_refused_increase_stays_without_a_failed_check() -> None:
    options = Options(step_weight=10)
    before = traffic_steps.Position(weight=10)
    done = traffic_steps.tick(options, before, traffic_steps.Answers(granted=False))
    assert (done.move, done.position) == (traffic_steps.Move.STAY, before)


def test_a_refused_promotion_waits_and_still_fails_by_its_checks() -> None:
    options = Options(step_weight=50, max_weight=50)
    waiting = traffic_steps.tick(
        options, traffic_steps.Position(weight=50), traffic_steps.Answers(granted=False)
    )
    assert (waiting.move, waiting.position.waiting) == (traffic_steps.Move.STAY, True)
    failed = traffic_steps.tick(
        options, waiting.position, traffic_steps.Answers(passed=False, granted=False)
    )
    ended = traffic_steps.tick(options, failed.position, traffic_steps.Answers())
    assert ended.move is traffic_steps.Move.FAIL


def test_a_refused_promotion_keeps_its_iterations() -> None:
    options = Options(iterations=1)
    before = traffic_steps.Position(iterations=1)
    done = traffic_steps.tick(options, before, traffic_steps.Answers(granted=False))
    assert done.position.iterations == 1
    assert not traffic_steps.is_first(done.position)


def test_a_rollback_that_is_asked_for_comes_before_everything() -> None:
    answers = traffic_steps.Answers(rollback=True, passed=True)
    done = traffic_steps.tick(Options(step_weight=10), traffic_steps.Position(weight=100), answers)
    assert done.move is traffic_steps.Move.FAIL


@pytest.mark.parametrize(
    ("position", "wanted"),
    [
        (traffic_steps.Position(), traffic_steps.Gate.TRAFFIC_INCREASE),
        (traffic_steps.Position(mirrored=True), None),
        (traffic_steps.Position(weight=20), traffic_steps.Gate.TRAFFIC_INCREASE),
        (traffic_steps.Position(weight=50), traffic_steps.Gate.PROMOTION),
        (traffic_steps.Position(weight=60), traffic_steps.Gate.PROMOTION),
    ],
)
def test_which_gate_is_asked(
    position: traffic_steps.Position, wanted: traffic_steps.Gate | None
) -> None:
    options = Options(step_weight=10, max_weight=50, mirror=True)
    assert traffic_steps.gate(options, position) is wanted


def test_blue_green_asks_before_the_switch_and_after_it() -> None:
    options = Options(iterations=2)
    gates = [
        traffic_steps.gate(options, traffic_steps.Position(weight=weight, iterations=count))
        for weight, count in ((0, 0), (0, 1), (0, 2), (100, 3))
    ]
    promotion = traffic_steps.Gate.PROMOTION
    assert gates == [None, None, promotion, promotion]


def test_traffic_returns_in_steps() -> None:
    options = Options(step_weight=10, step_weight_promotion=30)
    weights = [80]
    for _ in range(3):
        weights.append(traffic_steps.next_weight_back(options, weights[-1]))
    assert weights == [80, 50, 20, 0]
    assert traffic_steps.next_weight_back(Options(step_weight=10), 80) == 0
    assert traffic_steps.next_weight_back(Options(step_weight_promotion=1), 80) == 79


def test_canary_has_been_measured_once_it_got_weight_an_iteration_or_copies() -> None:
    assert traffic_steps.is_first(traffic_steps.Position())
    for begun in (
        traffic_steps.Position(weight=1),
        traffic_steps.Position(iterations=1),
        traffic_steps.Position(mirrored=True),
    ):
        assert not traffic_steps.is_first(begun)


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
    assert where in [name for name, _ in progressive_rules.problems(options)]


def test_a_fleet_goes_at_the_pace_of_the_slowest() -> None:
    positions = [
        traffic_steps.Position(weight=20, failed=1),
        traffic_steps.Position(weight=10, failed=2),
    ]
    assert traffic_steps.slowest_position(positions) == traffic_steps.Position(weight=10, failed=2)
    answers = [traffic_steps.Answers(), traffic_steps.Answers(passed=False)]
    assert traffic_steps.combined_answers(answers) == traffic_steps.Answers(passed=False)


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
    traffic_steps.Answers,
    rollback=st.just(False),
    passed=st.booleans(),
    conclusive=st.booleans(),
    granted=st.booleans(),
)


@given(plans(), st.lists(_ANSWERS, max_size=200))
def test_weights_stay_in_bounds_whatever_is_answered(
    options: Options, answers: list[traffic_steps.Answers]
) -> None:
    assert not list(progressive_rules.problems(options))
    position = traffic_steps.Position()
    top = traffic_steps.maximum(options) if not options.iterations else 100
    for each in answers:
        done = traffic_steps.tick(options, position, each)
        after = done.position
        assert 0 <= after.weight <= (100 if options.overshoot else top)
        assert after.weight >= position.weight
        assert after.failed >= position.failed
        assert after.failed <= options.threshold
        if done.move is traffic_steps.Move.PROMOTE:
            assert each == traffic_steps.Answers()
            assert after.weight >= top
            return
        if done.move is traffic_steps.Move.FAIL:
            assert after.failed == options.threshold
            return
        if each != traffic_steps.Answers():
            assert after.weight == position.weight
        position = after


def ticks(options: Options) -> int:
    """Return how many ticks a stage takes at least when every check passes."""
    position, count = traffic_steps.Position(), 1
    while (
        done := traffic_steps.tick(options, position, traffic_steps.Answers())
    ).move is not traffic_steps.Move.PROMOTE:
        position, count = done.position, count + 1
    return count


@given(plans())
def test_a_good_plan_always_ends(options: Options) -> None:
    assert trace(options)[-1] == "promote"
    assert ticks(options) <= 103


@given(plans(), st.integers(0, 100))
def test_any_live_weight_is_a_place_to_go_on_from(options: Options, weight: int) -> None:
    position = traffic_steps.Position(weight=weight, iterations=options.iterations + 1)
    for _ in range(110):
        done = traffic_steps.tick(options, position, traffic_steps.Answers())
        if done.move is traffic_steps.Move.PROMOTE:
            return
        position = done.position
    pytest.fail("the plan does not end")


@given(st.integers(0, 100), st.integers(0, 100))
def test_percentages_always_add_up(weight: int, baseline: int) -> None:
    found = traffic_steps.shares(traffic_steps.Position(weight=weight), baseline)
    assert sum(found) == 100
    assert min(found) >= 0
    assert found[1] == weight
    assert found[2] <= baseline


def test_too_little_to_judge_by_neither_moves_nor_counts() -> None:
    before = traffic_steps.Position(weight=10, failed=1)
    options = Options(step_weight=10, threshold=3)
    done = traffic_steps.tick(options, before, traffic_steps.Answers(conclusive=False))
    assert (done.move, done.position) == (traffic_steps.Move.STAY, before)


@given(plans())
def test_the_least_time_is_that_of_the_rounds(options: Options) -> None:
    assert progressive_rules.least_time(options) == options.interval * (ticks(options) - 1)


def test_who_is_let_on_waits_no_longer() -> None:
    options = Options(step_weight=10)
    waiting = traffic_steps.Position(weight=10, waiting=True)

    then = traffic_steps.tick(options, waiting, traffic_steps.Answers())

    assert (then.position.weight, then.position.waiting) == (20, False)


def test_blue_green_makes_its_mirror_once() -> None:
    options = Options(iterations=3, mirror=True)
    first = traffic_steps.tick(options, traffic_steps.Position(), traffic_steps.Answers())
    second = traffic_steps.tick(options, first.position, traffic_steps.Answers())

    assert (first.move, first.position.mirrored) == (traffic_steps.Move.ROUTE, True)
    assert (second.move, second.position.mirrored) == (traffic_steps.Move.STAY, True)


def test_what_a_tick_says() -> None:
    mirrored = Options(step_weight=50, mirror=True, mirror_weight=30)
    counted = Options(iterations=2)

    def sentence(options: Options, position: traffic_steps.Position) -> str:
        return traffic_steps.tick(options, position, traffic_steps.Answers()).sentence

    assert sentence(mirrored, traffic_steps.Position()) == (
        "a copy of 30 % of the requests goes to canary"
    )
    assert sentence(mirrored, traffic_steps.Position(mirrored=True)) == "canary weight 50"
    assert sentence(counted, traffic_steps.Position()) == "iteration 1/2"
    assert sentence(counted, traffic_steps.Position(iterations=2)) == "all traffic goes to canary"


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        (Options(step_weight=40), [40, 80, 100]),
        (Options(step_weight=40, max_weight=50), [40, 50]),
        (Options(step_weight=40, max_weight=1), [1]),
        (Options(step_weights=(5, 30), max_weight=50), [5, 30]),
        (Options(step_weights=(5, 130)), [5, 100]),
    ],
)
def test_weights_go_up_to_the_maximum(options: traffic_steps.Options, weights: list[int]) -> None:
    reached, weight = [], 0
    while weight < traffic_steps.maximum(options):
        weight = min(100, traffic_steps.next_weight(options, weight))
        reached.append(weight)

    assert reached == weights


def test_clusters_in_step_are_where_the_slowest_is_and_one_speaks_for_all() -> None:
    ahead = traffic_steps.Position(weight=20, failed=1, iterations=3, mirrored=True, waiting=False)
    behind = traffic_steps.Position(weight=10, failed=2, iterations=1, mirrored=False, waiting=True)

    assert traffic_steps.slowest_position([ahead, behind]) == behind
    assert traffic_steps.slowest_position([ahead, ahead]) == ahead
    good = traffic_steps.Answers(rollback=False, passed=True, conclusive=True, granted=True)
    assert traffic_steps.combined_answers([good, good]) == good
    for said in (
        {"rollback": True},
        {"passed": False},
        {"conclusive": False},
        {"granted": False},
    ):
        one = replace(good, **said)
        assert traffic_steps.combined_answers([good, one]) == one


def test_blue_green_switches_before_it_promotes_even_where_all_traffic_is_on_canary() -> None:
    position = traffic_steps.Position(weight=100, iterations=2)
    moves = []
    for _ in range(2):
        done = traffic_steps.tick(Options(iterations=2), position, traffic_steps.Answers())
        moves.append(done.move)
        position = done.position

    assert moves == [traffic_steps.Move.ROUTE, traffic_steps.Move.PROMOTE]
