"""From a history of measurements to a verdict: a release in a few lines per test."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis import checks, verdict
from volary.model import analysis
from volary.model.analysis import (
    Deviation,
    FailureCount,
    Judgement,
    Kind,
    NoData,
    Range,
    Reading,
    Result,
    Role,
    Strategy,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

THRESHOLD = analysis.Rule("errors", "prom", "q", expected=Range(maximum=0.05))
COMPARED = analysis.Rule(
    "latency", "prom", "q", strategy=Strategy.CANARY_BASELINE, deviation=Deviation.HIGH
)
PROPORTION = analysis.Rule(
    "errors",
    "prom",
    "q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)

Values = Sequence[float] | str


def measured(
    number: int, values: Values, role: Role = Role.JUDGED, totals: Sequence[float] = ()
) -> analysis.Measurement:
    """Return what was measured at look `number`; text: an error."""
    return analysis.Measurement(
        "metric",
        "q",
        START + number * MINUTE,
        target="eu",
        variant="canary" if role is Role.JUDGED else "baseline",
        role=role,
        values=() if isinstance(values, str) else tuple(values),
        totals=tuple(totals),
        reading=Reading.ERROR if isinstance(values, str) else Reading.VALUES,
        message=values if isinstance(values, str) else "",
    )


def series(measurements: Iterable[analysis.Measurement], planned: int) -> analysis.Series:
    return analysis.Series(
        START,
        START + planned * MINUTE,
        START + 10 * planned * MINUTE,
        target="eu",
        measurements=tuple(measurements),
    )


def alone(values: Sequence[Values], planned: int | None = None) -> analysis.Series:
    """Return a history of the new version only, a look a minute."""
    found = [measured(at, each) for at, each in enumerate(values, 1)]
    return series(found, len(values) if planned is None else planned)


def beside(pairs: Sequence[tuple[Values, Values]]) -> analysis.Series:
    """Return a history of both sides."""
    return series(
        [
            each
            for at, (one, other) in enumerate(pairs, 1)
            for each in (measured(at, one), measured(at, other, Role.REFERENCE))
        ],
        len(pairs),
    )


def counted(pairs: Sequence[tuple[float, float, float, float]]) -> analysis.Series:
    """Return a history of errors and requests of both sides."""
    found = []
    for at, (errors, requests, others, other_requests) in enumerate(pairs, 1):
        found.append(measured(at, [errors], totals=[requests]))
        found.append(measured(at, [others], Role.REFERENCE, [other_requests]))
    return series(found, len(pairs))


def judge(rule: analysis.Rule, history: analysis.Series, minute: int = -1) -> analysis.Verdict:
    """Judge at the end of the analysis, or at a minute of it."""
    now = history.ends if minute < 0 else START + minute * MINUTE
    return verdict.judge(rule, history, now)


def test_all_looks_in_range_pass_once_the_analysis_is_over() -> None:
    history = alone([[0.01], [0.02], [0.05]])

    midway, at_the_end = judge(THRESHOLD, history, 2), judge(THRESHOLD, history)

    assert (midway.result, midway.is_final) == (Result.PASS, False)
    assert (at_the_end.result, at_the_end.is_final) == (Result.PASS, True)
    assert at_the_end.sentence == (
        "errors on eu: 0 of 3 looks failed; the last good one: 0.05 is within the expected ≤ 0.05"
    )


def test_one_value_of_one_series_out_of_range_fails_at_once() -> None:
    found = judge(THRESHOLD, alone([[0.01, 0.07]], planned=5), 1)

    assert (found.result, found.is_final, found.is_condemned) == (Result.FAIL, True, True)
    assert found.sentence == (
        "errors on eu: 1 of 1 look failed, 0 allowed; the last: 0.07 is outside the expected ≤ 0.05"
    )


def test_the_limit_of_failures_is_strict() -> None:
    """PipeCD and Flagger's `>`: a limit of one tolerates one."""
    rule = replace(THRESHOLD, failure_limit=1)

    assert judge(rule, alone([[9], [0], [0]])).result is Result.PASS
    assert judge(rule, alone([[9], [0], [9]])).result is Result.FAIL


def test_failures_within_the_limit_and_nothing_else_do_not_pass() -> None:
    """PipeCD lets three of three failures pass when three are allowed."""
    found = judge(replace(THRESHOLD, failure_limit=3), alone([[9], [9], [9]]))

    assert found.result is Result.FAIL
    assert "no look was good" in found.sentence


def test_failures_in_a_row_begin_again_after_a_good_look() -> None:
    rule = replace(THRESHOLD, failure_limit=1, failure_count=FailureCount.CONSECUTIVE)

    assert judge(rule, alone([[9], [0], [9], [0]])).result is Result.PASS
    assert judge(rule, alone([[9], [9], [0], [0]])).result is Result.FAIL


def test_a_look_without_an_answer_does_not_mend_a_row_of_failures() -> None:
    rule = replace(THRESHOLD, failure_limit=1, failure_count=FailureCount.CONSECUTIVE)

    assert judge(rule, alone([[9], "timeout", [9], [0]])).result is Result.FAIL


# Nothing to judge: never a silent pass.

NOTHING: list[tuple[Values, str]] = [
    ([], "no values"),
    ([math.nan], "NaN"),
    ([0.01, math.nan], "NaN"),
    ([-math.inf], "-Inf"),
    ("the provider is down", "the provider is down"),
]


@pytest.mark.parametrize(("values", "reason"), NOTHING)
def test_what_says_nothing_is_held_until_the_deadline_and_then_fails(
    values: Values, reason: str
) -> None:
    history = alone([values, values])

    before, at_the_end = judge(THRESHOLD, history, 1), judge(THRESHOLD, history)
    overdue = verdict.judge(THRESHOLD, history, history.deadline)

    assert (before.result, before.is_final) == (Result.INCONCLUSIVE, False)
    assert (at_the_end.result, at_the_end.is_final) == (Result.INCONCLUSIVE, False)
    assert (overdue.result, overdue.is_final) == (Result.FAIL, True)
    assert not overdue.is_condemned
    assert reason in overdue.sentence


@pytest.mark.parametrize(("values", "_reason"), NOTHING)
def test_the_policy_says_what_nothing_means(values: Values, _reason: str) -> None:
    history = alone([values, values])
    strict = judge(replace(THRESHOLD, no_data=NoData.FAIL), history, 1)
    lenient = judge(replace(THRESHOLD, no_data=NoData.PASS), history)

    assert (strict.result, strict.is_condemned) == (Result.FAIL, False)
    assert lenient.result is Result.PASS
    assert "lets that pass" in lenient.sentence


def test_infinity_above_the_maximum_fails_and_below_none_says_nothing() -> None:
    open_above = replace(THRESHOLD, expected=Range(minimum=0))

    assert judge(THRESHOLD, alone([[math.inf]])).result is Result.FAIL
    assert judge(open_above, alone([[math.inf]])).result is Result.INCONCLUSIVE


def test_no_look_at_all_is_no_pass() -> None:
    """PipeCD succeeds when the interval is longer than the analysis."""
    empty = alone([], planned=5)

    for policy, result in (
        (NoData.HOLD, Result.INCONCLUSIVE),
        (NoData.FAIL, Result.FAIL),
        (NoData.PASS, Result.PASS),
    ):
        assert judge(replace(THRESHOLD, no_data=policy), empty).result is result


def test_traffic_that_stops_holds_the_release() -> None:
    """Good looks at first do not vouch for what came after them."""
    found = judge(THRESHOLD, alone([[0], [0], [0], "no traffic"]))

    assert (found.result, found.is_final) == (Result.INCONCLUSIVE, False)
    assert "no traffic" in found.sentence


def test_most_looks_missing_hold_the_release_until_enough_came() -> None:
    history = alone(["x", "x", "x", "x", "x", "x", [0]])

    assert "only 1 of 7 looks" in judge(THRESHOLD, history).sentence
    longer = alone([*["x"] * 6, [0], [0], [0], [0]], planned=7)
    assert judge(THRESHOLD, longer, 9).result is Result.INCONCLUSIVE
    assert judge(THRESHOLD, longer, 10).result is Result.PASS


def test_what_is_measured_during_the_warm_up_does_not_count() -> None:
    rule = replace(THRESHOLD, warm_up=3 * MINUTE)

    assert judge(rule, alone([[9], [9], [0], [0]])).result is Result.PASS
    assert "since the warm-up" in judge(rule, alone([[9], [9]], planned=9), 2).sentence


def test_a_look_with_too_few_samples_says_nothing() -> None:
    rule = replace(THRESHOLD, minimum_samples=3)

    assert judge(rule, alone([[0, 0, 0]])).result is Result.PASS
    assert judge(rule, alone([[0, 0]])).result is Result.INCONCLUSIVE


# Both sides compared.


def test_values_that_are_higher_than_the_others_fail() -> None:
    found = judge(COMPARED, beside([([5, 6, 7, 8], [1, 2, 3, 4])]))

    assert found.result is Result.FAIL
    assert found.numbers.samples == found.numbers.reference_samples == 4
    assert found.numbers.effect == 1
    assert found.numbers.p_value == pytest.approx(1 / 70)
    assert "canary has a median of 6.5 (4 values), baseline 2.5 (4)" in found.sentence
    assert judge(replace(COMPARED, deviation=Deviation.LOW), beside([([5], [1])] * 5)).result is (
        Result.PASS
    )


def test_a_look_too_small_to_show_anything_takes_those_before_it() -> None:
    """One value a look: five looks in a row are the first that can show 5 %."""
    worse = beside([([2], [1])] * 8)

    for minute in range(1, 5):
        assert judge(COMPARED, worse, minute).result is Result.INCONCLUSIVE
    assert judge(COMPARED, worse, 5).result is Result.FAIL
    assert judge(COMPARED, beside([([1], [2])] * 8)).result is Result.PASS


def test_a_canary_that_was_never_compared_does_not_pass() -> None:
    found = judge(COMPARED, beside([([1], [1])] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert "too little to show any difference" in found.sentence


def test_a_side_without_data_is_named() -> None:
    found = judge(COMPARED, beside([([1, 2, 3, 4], "the target is gone")] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert "baseline: the query failed: the target is gone" in found.sentence
    without = alone([[1, 2, 3]] * 3)
    assert "no measurement of the reference side" in judge(COMPARED, without).sentence


def test_the_chance_of_a_false_alarm_is_said() -> None:
    """One bad look of twenty at 5 % is nothing: two of three healthy releases have one."""
    history = beside([([1, 2, 3, 4], [1, 2, 3, 4])] * 19 + [([5, 6, 7, 8], [1, 2, 3, 4])])

    assert "of healthy releases 64.2 % come to this" in judge(COMPARED, history).sentence


@pytest.mark.parametrize(
    ("value", "deviation", "limit", "result"),
    [
        (1.1, Deviation.HIGH, 1.1, Result.PASS),
        (1.2, Deviation.HIGH, 1.1, Result.FAIL),
        (0.1, Deviation.HIGH, 1.1, Result.PASS),
        (0.8, Deviation.LOW, 0.9, Result.FAIL),
        (0.95, Deviation.LOW, 0.9, Result.PASS),
        (0.5, Deviation.EITHER, 1.5, Result.FAIL),
        (0.7, Deviation.EITHER, 1.5, Result.PASS),
        (1.6, Deviation.EITHER, 1.5, Result.FAIL),
    ],
)
def test_a_ratio_holds_the_medians_of_a_look(
    value: float, deviation: Deviation, limit: float, result: Result
) -> None:
    rule = replace(COMPARED, deviation=deviation, ratio_limit=limit)

    assert judge(rule, beside([([value], [1.0])])).result is result


def test_nothing_against_nothing_is_within_any_ratio() -> None:
    rule = replace(COMPARED, ratio_limit=1.1)

    assert judge(rule, beside([([0], [0])])).result is Result.PASS
    assert judge(rule, beside([([1], [0])])).result is Result.FAIL
    assert judge(rule, beside([([-1], [1])])).result is Result.INCONCLUSIVE


def test_the_median_of_a_look_is_one_value() -> None:
    """Four values a look show it at once, their medians after five looks."""
    rule = replace(COMPARED, median_per_look=True)
    worse = beside([([5, 6, 7, 8], [1, 2, 3, 4])] * 5)

    assert judge(rule, worse, 4).result is Result.INCONCLUSIVE
    assert judge(rule, worse, 5).result is Result.FAIL
    assert judge(rule, worse, 5).numbers.samples == 5


# All looks together.


def test_errors_in_excess_fail_as_soon_as_they_are_certain() -> None:
    history = counted([(5, 100, 9, 900)] * 10)
    found = [judge(PROPORTION, history, minute) for minute in range(1, 11)]
    first = next(at for at, each in enumerate(found, 1) if each.result is Result.FAIL)

    assert 1 < first < 4
    assert all(each.result is Result.FAIL for each in found[first - 1 :])
    assert all(each.is_final for each in found[first - 1 :])
    last = found[-1]
    assert (last.numbers.samples, last.numbers.reference_samples) == (1_000, 9_000)
    assert (last.numbers.value, last.numbers.reference) == (0.05, 0.01)
    assert last.numbers.effect == pytest.approx(5)
    assert last.numbers.looks == 10
    assert "canary has 5.0 % (1000 requests), baseline 1.0 % (9000)" in last.sentence


def test_the_same_share_of_errors_passes() -> None:
    found = judge(PROPORTION, counted([(1, 100, 9, 900)] * 10))

    assert (found.result, found.is_final) == (Result.PASS, True)
    assert found.numbers.p_value == pytest.approx(1, abs=0.3)


def test_minimum_samples_hold_a_pass_but_not_a_failure() -> None:
    rule = replace(PROPORTION, minimum_samples=10_000)

    assert "1000 of 10000 samples on each side" in (
        judge(rule, counted([(1, 100, 9, 900)] * 10)).sentence
    )
    assert judge(rule, counted([(50, 100, 9, 900)] * 10)).result is Result.FAIL


def test_a_few_requests_cannot_pass() -> None:
    """Even if all had been errors it would have shown nothing."""
    found = judge(PROPORTION, counted([(0, 1, 0, 1)]))

    assert found.result is Result.INCONCLUSIVE


def test_a_ratio_is_allowed_before_it_counts() -> None:
    twice = replace(PROPORTION, ratio_limit=2.5)
    history = counted([(20, 1_000, 90, 9_000)] * 10)

    assert judge(PROPORTION, history).result is Result.FAIL
    assert judge(twice, history).result is Result.PASS
    assert judge(replace(twice, deviation=Deviation.EITHER), history).result is Result.PASS
    assert "2.5 times is allowed" in judge(twice, history).sentence


@pytest.mark.parametrize(
    ("errors", "requests", "reason"),
    [
        (0, 0, "the total is zero"),
        (5, 1, "do not fit together"),
        (-1, 10, "below zero"),
        (math.nan, 10, "NaN"),
        (1, math.inf, "+Inf"),
        (1, 1e300, "so large"),
    ],
)
def test_counts_that_say_nothing(errors: float, requests: float, reason: str) -> None:
    found = judge(PROPORTION, counted([(errors, requests, 1, 100)] * 3))

    assert found.result is Result.INCONCLUSIVE
    assert reason in found.sentence


def test_looks_without_data_follow_the_policy_here_too() -> None:
    gaps = counted([(0, 0, 0, 0), (1, 100, 9, 900), (0, 0, 0, 0)])

    assert judge(PROPORTION, gaps).result is Result.INCONCLUSIVE
    assert judge(replace(PROPORTION, no_data=NoData.FAIL), gaps, 1).result is Result.FAIL
    assert judge(replace(PROPORTION, no_data=NoData.PASS), gaps).result is Result.PASS


def test_a_proportion_against_a_limit() -> None:
    rule = replace(PROPORTION, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))

    unlucky = judge(rule, series([measured(1, [2], totals=[100])], 9), 1)
    bad = judge(rule, series([measured(at, [5], totals=[100]) for at in range(1, 10)], 9))

    assert unlucky.result is Result.PASS
    assert bad.result is Result.FAIL
    assert "5.0 % of 900 requests where ≤ 0.01 is expected" in bad.sentence


def test_a_rate_against_a_limit_and_against_the_other_side() -> None:
    """60 seconds a look: events per second."""
    limit = replace(THRESHOLD, kind=Kind.RATE, judgement=Judgement.SEQUENTIAL)
    other = replace(PROPORTION, kind=Kind.RATE, total_query="")

    assert judge(limit, alone([[2]] * 5)).result is Result.PASS
    assert judge(limit, alone([[12]] * 5)).result is Result.FAIL
    assert judge(other, beside([([12], [10])] * 5)).result is Result.PASS
    assert judge(other, beside([([40], [10])] * 5)).result is Result.FAIL


def test_latency_looked_at_together() -> None:
    rule = replace(COMPARED, judgement=Judgement.SEQUENTIAL)

    assert judge(rule, beside([([1, 4, 2, 3], [3, 1, 4, 2])] * 10)).result is Result.PASS
    assert judge(rule, beside([([3, 5, 4, 6], [3, 1, 4, 2])] * 10)).result is Result.FAIL


@pytest.mark.parametrize("judgement", Judgement)
def test_the_level_is_where_it_is_said_to_be(judgement: Judgement) -> None:
    """Condemned at exactly that p-value, and not at a level below it."""
    rule = replace(PROPORTION, judgement=judgement)
    history = counted([(9, 100, 20, 900)])
    p_value = judge(replace(rule, significance=0.2), history).numbers.p_value or 0

    assert 0 < p_value < 0.2
    assert judge(replace(rule, significance=p_value), history).result is Result.FAIL
    assert judge(replace(rule, significance=p_value * 0.999), history).result is Result.PASS


# Properties.

answers = st.one_of(
    st.lists(st.floats(0, 0.1), max_size=3),
    st.just("down"),
    st.just([math.nan]),
)
rules = st.builds(
    replace,
    st.just(THRESHOLD),
    failure_limit=st.integers(0, 3),
    failure_count=st.sampled_from(FailureCount),
    no_data=st.sampled_from(NoData),
)


@given(rules, st.lists(answers, max_size=8))
def test_a_failure_is_never_taken_back(rule: analysis.Rule, values: list[Values]) -> None:
    history = alone(values)
    found = [judge(rule, history, minute) for minute in range(len(values) + 1)]

    for before, after in itertools.pairwise(found):
        if before.result is Result.FAIL:
            assert after.result is Result.FAIL


@given(rules, st.lists(answers, max_size=8))
def test_only_a_policy_passes_without_a_good_look(
    rule: analysis.Rule, values: list[Values]
) -> None:
    history = alone(values)
    good = any(checks.check(rule, [each]).result is Result.PASS for each in history.measurements)
    found = judge(rule, history)

    if found.result is Result.PASS and rule.no_data is NoData.HOLD:
        assert good
    if found.is_final:
        assert found.result is not Result.INCONCLUSIVE
    if rule.no_data is NoData.FAIL and not good:
        assert found.result is Result.FAIL or rule.failure_limit


@given(rules, st.lists(answers, max_size=8))
def test_measurements_of_the_future_do_not_count(rule: analysis.Rule, values: list[Values]) -> None:
    half = len(values) // 2
    seen = replace(alone(values), measurements=alone(values).measurements[:half])

    assert judge(rule, alone(values), half) == judge(rule, seen, half)


def test_the_worst_verdict_decides_and_dry_runs_do_not() -> None:
    passing = judge(THRESHOLD, alone([[0]]))
    failing = judge(THRESHOLD, alone([[9]]))
    waiting = judge(THRESHOLD, alone([[0]], planned=2), 1)
    unknown = judge(THRESHOLD, alone(["x"]))
    dry = judge(replace(THRESHOLD, dry_run=True), alone([[9]]))

    assert verdict.worst([passing, failing, unknown]) == failing
    assert verdict.worst([passing, unknown, waiting]) == unknown
    assert verdict.worst([passing, waiting]) == waiting
    assert verdict.worst([passing, dry]) == passing
    assert dry.result is Result.FAIL
    assert verdict.worst([dry]) is None
