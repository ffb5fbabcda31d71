"""What holds for every history of measurements."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_world import PROPORTION, THRESHOLD, Values, alone, counted, judge
from volary.analysis.verdicts import checks, rule_verdicts
from volary.model import analysis
from volary.model.analysis import FailureCount, Judgement, NoData, Result


@pytest.mark.parametrize("judgement", Judgement)
def test_the_level_is_where_it_is_said_to_be(judgement: Judgement) -> None:
    """Condemned at exactly that p-value, and not at a level below it."""
    rule = replace(PROPORTION, judgement=judgement)
    history = counted([(9, 100, 20, 900)] * (1 if judgement is Judgement.EACH else 2))
    p_value = judge(replace(rule, significance=0.2), history).numbers.p_value or 0

    assert 0 < p_value < 0.2
    assert judge(replace(rule, significance=p_value), history).result is Result.FAIL
    assert judge(replace(rule, significance=p_value * 0.999), history).result is not Result.FAIL


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
    inconclusive_limit=st.sampled_from([None, 0, 2]),
    consecutive_error_limit=st.sampled_from([None, 0, 2]),
    minimum_samples=st.integers(1, 2),
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

    assert rule_verdicts.worst([passing, failing, unknown]) == failing
    assert rule_verdicts.worst([passing, unknown, waiting]) == unknown
    assert rule_verdicts.worst([passing, waiting]) == waiting
    assert rule_verdicts.worst([passing, dry]) == passing
    assert dry.result is Result.FAIL
    assert rule_verdicts.worst([dry]) is None
