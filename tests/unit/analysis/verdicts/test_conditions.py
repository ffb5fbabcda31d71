"""Rules whose conditions in CEL say what the answers have to be."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_world import START, THRESHOLD, Values, alone, judge
from volary.analysis.verdicts import checks, conditions, fleet_verdicts
from volary.model import analysis
from volary.model.analysis import Decider, NoData, Result

SUCCESS, FAILURE = "result < 1.0", "result >= 2.0"
RULE = replace(THRESHOLD, expected=None)


def with_(success: str = "", failure: str = "") -> analysis.Rule:
    return replace(RULE, success_condition=success, failure_condition=failure)


@pytest.mark.parametrize(
    ("success", "failure", "value", "result", "sentence"),
    [
        (SUCCESS, "", 0.5, Result.PASS, "successCondition result < 1.0 holds of 0.5"),
        (SUCCESS, "", 1.5, Result.FAIL, "successCondition result < 1.0 does not hold of 1.5"),
        ("", FAILURE, 1.5, Result.PASS, "failureCondition result >= 2.0 does not hold of 1.5"),
        ("", FAILURE, 2.0, Result.FAIL, "failureCondition result >= 2.0 holds of 2"),
        (SUCCESS, FAILURE, 0.5, Result.PASS, "successCondition result < 1.0 holds of 0.5"),
        (
            SUCCESS,
            FAILURE,
            1.5,
            Result.INCONCLUSIVE,
            "neither successCondition nor failureCondition holds of 1.5",
        ),
        (SUCCESS, FAILURE, 2.5, Result.FAIL, "failureCondition result >= 2.0 holds of 2.5"),
    ],
)
def test_the_conditions_mean_what_they_mean_to_argo_rollouts(
    success: str, failure: str, value: float, result: Result, sentence: str
) -> None:
    found = conditions.evaluate(with_(success, failure), [value])

    assert (found.result, found.sentence) == (result, sentence)


def test_of_many_values_some_are_shown() -> None:
    rule = with_("result.all(each, each < 1.0)")

    assert conditions.evaluate(rule, [0.5, 0.25, 0.125]).sentence.endswith("of 0.5, 0.25, 0.125")
    found = conditions.evaluate(rule, [0.5, 0.25, 0.125, 9.0]).sentence
    assert found.endswith("does not hold of 0.5, 0.25, 0.125 and 1 more")


def test_when_both_hold_it_has_failed() -> None:
    assert conditions.evaluate(with_("result > 0.0", FAILURE), [3.0]).result is Result.FAIL


def test_a_release_is_judged_by_them() -> None:
    rule = with_(SUCCESS, FAILURE)
    good, bad = judge(rule, alone([[0.5], [0.5]])), judge(rule, alone([[0.5], [2.5]]))

    assert (good.result, good.is_final) == (Result.PASS, True)
    assert "0 of 2 looks failed; the last good one: successCondition" in good.sentence
    assert (bad.result, bad.is_condemned) == (Result.FAIL, True)
    assert "the last: failureCondition result >= 2.0 holds of 2.5" in bad.sentence


def test_neither_is_inconclusive_and_limited_by_its_own_limit() -> None:
    rule, history = with_(SUCCESS, FAILURE), alone([[0.5], [0.5], [1.5]])

    assert judge(rule, history).result is Result.INCONCLUSIVE
    assert judge(replace(rule, inconclusive_limit=1), history).result is Result.PASS
    found = judge(replace(rule, inconclusive_limit=0), history)
    assert found.result is Result.FAIL
    assert "1 of 3 looks were inconclusive, 0 allowed" in found.sentence


def test_what_cannot_be_asked_is_an_error_of_the_look_and_no_pass() -> None:
    rule = with_("result[1] < 1.0")
    found = judge(replace(rule, consecutive_error_limit=1), alone([[0.5], [0.5]]))

    assert judge(rule, alone([[0.5]])).result is Result.INCONCLUSIVE
    assert found.result is Result.FAIL
    assert not found.is_condemned
    assert "successCondition cannot be asked of 0.5: index out of bounds: 1" in found.sentence


@pytest.mark.parametrize("values", [[float("nan")], [], "down"])
def test_silence_is_no_pass(values: Values) -> None:
    history = alone([values])

    assert judge(with_("", FAILURE), history).result is Result.INCONCLUSIVE
    assert judge(replace(with_("", FAILURE), no_data=NoData.FAIL), history).result is Result.FAIL


def test_of_many_clusters_most_decide() -> None:
    rule = replace(with_(SUCCESS), decider=Decider.POOLED)

    def pooled(*values: float) -> analysis.Verdict:
        fleet = {str(at): replace(alone([[value]]), target=str(at))
                 for at, value in enumerate(values)}  # fmt: skip
        return fleet_verdicts.judge(rule, fleet, alone([[0.0]]).ends).pooled

    assert pooled(0, 0, 5).result is Result.PASS
    assert "on 2 of 3 clusters" in pooled(0, 0, 5).sentence
    assert pooled(0, 5, 5).result is Result.FAIL
    assert pooled(0, 5).result is Result.FAIL


@given(st.lists(st.floats(0, 3), min_size=1, max_size=5), st.floats(0, 3))
def test_a_condition_says_what_the_range_says(values: Sequence[float], bound: float) -> None:
    """A range and the condition that says the same judge every answer alike."""
    history = alone([values]).measurements
    ranged = replace(THRESHOLD, expected=analysis.Range(maximum=round(bound, 3)))
    asked = with_(f"result.all(each, each <= {bound:.3f})")

    assert checks.check(ranged, history).result is checks.check(asked, history).result
    assert history[0].time > START
