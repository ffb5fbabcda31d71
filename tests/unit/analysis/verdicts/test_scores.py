"""The score of several metrics: what it is made of, its bounds, and what may never happen to it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.analysis.verdicts import scores
from volary.model import analysis
from volary.model.analysis import Result

PASS, FAIL, OPEN = Result.PASS, Result.FAIL, Result.INCONCLUSIVE
THRESHOLDS = analysis.ScoreThresholds(80, 50)
EVEN = analysis.Scoring(THRESHOLDS)
WEIGHED = analysis.Scoring(THRESHOLDS, {"errors": 60, "latency": 40})


def rule(name: str, group: str = "", **more: object) -> analysis.Rule:
    return replace(analysis.Rule(name, group=group), **more)  # type: ignore[arg-type]


def verdict(
    name: str, result: Result, *, is_final: bool = True, looks: int = 3
) -> analysis.Verdict:
    return analysis.Verdict(
        result,
        f"{name} on us: as it was",
        name,
        target="us",
        is_final=is_final,
        is_condemned=result is FAIL,
        numbers=analysis.Numbers(looks=looks),
    )


def judge(
    scoring: analysis.Scoring, rules: Sequence[analysis.Rule], results: Mapping[str, Result]
) -> analysis.Verdict:
    verdicts = {
        name: verdict(name, result, is_final=result is not OPEN) for name, result in results.items()
    }
    return scores.judge(scoring, rules, verdicts, target="us")


RULES = (rule("4xx", "errors"), rule("5xx", "errors", weight=3.0), rule("p99", "latency"))


def test_all_that_pass_have_100() -> None:
    found = judge(WEIGHED, RULES, {"4xx": PASS, "5xx": PASS, "p99": PASS})

    assert (found.result, found.is_final, found.numbers.value) == (PASS, True, pytest.approx(100))
    assert found.sentence == (
        "score on us: 100 of 100, 80 passes: errors 60 of 60; latency 40 of 40"
    )


def test_the_verdict_says_what_each_group_adds_and_what_the_score_is_held_to() -> None:
    found = judge(WEIGHED, RULES, {"4xx": PASS, "5xx": FAIL})

    assert found.score == analysis.Score(
        THRESHOLDS,
        (
            analysis.ScorePart("errors", pytest.approx(15), pytest.approx(60)),
            analysis.ScorePart("latency", pytest.approx(40), pytest.approx(40)),
        ),
    )


def test_between_two_words_the_score_is_what_it_was() -> None:
    first, second = (datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (1, 3))
    looks = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(5)]

    said = [(first, "first"), (second, "overtaken"), (second, "second")]
    found = scores.at_looks(said, looks)

    assert found == list(zip(looks[1:], ["first", "first", "second", "second"], strict=True))
    assert scores.at_looks([], looks) == []
    assert scores.at_looks(said, []) == [(first, "first"), (second, "second")]


def test_a_metric_counts_with_its_part_of_its_group() -> None:
    found = judge(WEIGHED, RULES, {"4xx": FAIL, "5xx": PASS, "p99": PASS})

    assert (found.result, found.numbers.value) == (PASS, pytest.approx(85))
    assert "85 of 100, 80 passes: errors 45 of 60 (4xx failed)" in found.sentence


def test_what_is_marginal_is_measured_to_the_end_and_fails_then() -> None:
    on = judge(WEIGHED, RULES, {"4xx": PASS, "5xx": OPEN, "p99": FAIL})
    ended = judge(WEIGHED, RULES, {"4xx": PASS, "5xx": PASS, "p99": FAIL})

    assert (on.result, on.is_final) == (OPEN, False)
    assert on.sentence == (
        "score on us: at most 60 of 100 is marginal, 80 passes: "
        "errors 60 of 60 (5xx not decided); latency 0 of 40 (p99 failed)"
    )
    assert (ended.result, ended.is_final, ended.is_condemned) == (FAIL, True, True)
    assert "on us: 60 of 100 is marginal, 80 passes" in ended.sentence


def test_what_cannot_become_marginal_any_more_fails_at_once() -> None:
    found = judge(WEIGHED, RULES, {"5xx": FAIL, "4xx": OPEN})

    assert (found.result, found.numbers.value) == (OPEN, pytest.approx(55))
    worse = judge(WEIGHED, RULES, {"5xx": FAIL, "4xx": FAIL})
    assert (worse.result, worse.is_final) == (FAIL, True)
    assert "at most 40 of 100 is below the marginal 50" in worse.sentence


def test_without_marginal_nothing_is_waited_for_that_cannot_pass() -> None:
    scoring = analysis.Scoring(analysis.ScoreThresholds(80), WEIGHED.group_weights)
    found = judge(scoring, RULES, {"p99": FAIL})

    assert (found.result, found.is_final) == (FAIL, True)
    assert "at most 60 of 100 is below the 80" in found.sentence


def test_one_critical_metric_is_enough() -> None:
    rules = (*RULES[:2], replace(RULES[2], critical=True))
    found = judge(WEIGHED, rules, {"4xx": PASS, "5xx": PASS, "p99": FAIL})

    assert (found.result, found.is_final, found.numbers.value) == (FAIL, True, 0)
    assert found.sentence == (
        "score on us: 0 of 100, as p99 is critical and failed: p99 on us: as it was"
    )


def test_silence_that_a_rule_lets_pass_earns_and_costs_nothing() -> None:
    verdicts = {
        "4xx": verdict("4xx", PASS),
        "5xx": verdict("5xx", FAIL),
        "p99": verdict("p99", PASS, looks=0),
    }
    found = scores.judge(WEIGHED, RULES, verdicts, target="us")

    assert found.numbers.value == pytest.approx(25)
    assert found.sentence.endswith("; without p99, where nothing could be judged")
    nothing = scores.judge(WEIGHED, RULES[2:], {"p99": verdicts["p99"]})
    assert (nothing.result, nothing.numbers.value) == (PASS, None)


def test_a_pass_is_final_only_when_all_of_it_is() -> None:
    verdicts = {
        "4xx": verdict("4xx", PASS),
        "5xx": verdict("5xx", PASS, is_final=False),
        "p99": verdict("p99", PASS),
    }
    found = scores.judge(WEIGHED, RULES, verdicts, target="us")

    assert (found.result, found.is_final) == (PASS, False)
    assert "so far 100 of 100" in found.sentence


def test_a_dry_run_does_not_count() -> None:
    rules = (RULES[0], rule("tried", dry_run=True))
    found = judge(EVEN, rules, {"4xx": PASS, "tried": FAIL})

    assert (found.result, found.numbers.value) == (PASS, pytest.approx(100))
    assert "tried" not in found.sentence


def test_what_all_clusters_show_together_is_nobodys_own() -> None:
    pooled = replace(verdict("p99", FAIL), target="")
    found = scores.judge(EVEN, (RULES[2],), {"p99": pooled}, target="us")

    assert (found.result, found.target) == (FAIL, "")


NAMES = ("a", "b", "c", "d", "e")
POSITIVE = st.floats(0.01, 1000)


@st.composite
def analyses(draw: st.DrawFn) -> tuple[analysis.Scoring, list[analysis.Rule]]:
    rules = [
        rule(
            name,
            draw(st.sampled_from(["", "x", "y"])),
            weight=draw(POSITIVE),
            critical=draw(st.booleans()),
        )
        for name in draw(st.sets(st.sampled_from(NAMES), min_size=1))
    ]
    groups = sorted(EVEN.points(rules))
    parts = [draw(POSITIVE) for _ in groups]
    weights = {
        name: 100 * part / math.fsum(parts) for name, part in zip(groups, parts, strict=True)
    }
    least = draw(st.floats(0.1, 100))
    thresholds = analysis.ScoreThresholds(least, draw(st.none() | st.floats(0, least)))
    return analysis.Scoring(thresholds, draw(st.sampled_from([weights, {}]))), rules


RESULTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([PASS, FAIL, OPEN]))
#: From the worst to the best.
ORDER = (FAIL, OPEN, PASS)


@given(analyses(), RESULTS)
def test_a_score_is_between_0_and_100(
    made: tuple[analysis.Scoring, list[analysis.Rule]], results: dict[str, Result]
) -> None:
    found = judge(*made, results)

    assert found.numbers.value is not None
    assert -1e-9 <= found.numbers.value <= 100 + 1e-9


@given(analyses(), RESULTS, st.sampled_from(NAMES))
def test_a_metric_that_gets_better_never_makes_the_score_worse(
    made: tuple[analysis.Scoring, list[analysis.Rule]], results: dict[str, Result], name: str
) -> None:
    at = [judge(*made, {**results, name: result}) for result in ORDER]
    values = [found.numbers.value or 0.0 for found in at]

    assert values == pytest.approx(sorted(values))
    # In between it is not known yet, also where a failure would not have mattered.
    worst, _, best = at
    assert ORDER.index(worst.result) <= ORDER.index(best.result)


@given(analyses(), RESULTS)
def test_a_final_failure_stays_one_whatever_is_still_decided(
    made: tuple[analysis.Scoring, list[analysis.Rule]], results: dict[str, Result]
) -> None:
    found = judge(*made, results)
    best = {name: FAIL if results.get(name) is FAIL else PASS for name in NAMES}

    if found.result is FAIL:
        assert judge(*made, best).result is FAIL


def test_what_is_worth_nothing_moves_no_score_and_may_be_critical_all_the_same() -> None:
    pods = rule("pod-restarts", weight=0.0, critical=True)
    good = {"4xx": PASS, "5xx": PASS, "p99": PASS}
    without = judge(EVEN, RULES, good)

    assert EVEN.points((*RULES, pods)) == EVEN.points(RULES)
    assert judge(EVEN, (*RULES, pods), {**good, "pod-restarts": PASS}) == without
    failed = judge(EVEN, (*RULES, pods), {**good, "pod-restarts": FAIL})
    assert (failed.result, failed.numbers.value) == (FAIL, 0)
    assert "pod-restarts is critical and failed" in failed.sentence
