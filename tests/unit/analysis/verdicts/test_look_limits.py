"""How many looks a metric takes, and how many of them may say nothing or not be answered."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_world import MINUTE, PROPORTION, THRESHOLD, Values, alone, counted, judge
from volary.model import analysis
from volary.model.analysis import NoData, Result

DOWN = "connection refused"
#: Inconclusive: there are data, and they are too few.
TWO = replace(THRESHOLD, minimum_samples=2)
THIN, GOOD, BAD, SILENT = [0.0], [0.0, 0.0], [9.0, 9.0], list[float]()


def test_so_many_looks_take_whole_intervals_after_the_warm_up() -> None:
    rule = replace(THRESHOLD, interval=MINUTE, count=5)

    assert rule.length == 5 * MINUTE
    assert replace(rule, warm_up=timedelta(seconds=90)).length == 7 * MINUTE
    assert replace(rule, delay=3 * MINUTE).length == 8 * MINUTE
    assert replace(rule, count=None).length is None


def test_fewer_looks_raise_fewer_false_alarms() -> None:
    each = replace(PROPORTION, judgement=analysis.Judgement.EACH)

    assert analysis.false_alarms(replace(each, count=3), 20 * MINUTE) == pytest.approx(1 - 0.95**3)


def test_so_many_looks_in_a_row_without_an_answer_fail_and_say_why() -> None:
    rule = replace(THRESHOLD, consecutive_error_limit=2)
    found = judge(rule, alone([[0.0], DOWN, DOWN, [0.0], DOWN, DOWN, DOWN], planned=20), 7)

    assert (found.result, found.is_final, found.is_condemned) == (Result.FAIL, True, False)
    assert found.sentence == (
        "errors on eu: 3 looks in a row had no answer, 2 allowed; the last: "
        "canary: the query failed: connection refused"
    )
    assert judge(rule, alone([DOWN, DOWN, [0.0], [0.0]] * 3)).result is Result.PASS


def test_no_data_is_no_error() -> None:
    rule = replace(THRESHOLD, consecutive_error_limit=0)

    assert judge(rule, alone([[0.0], SILENT, SILENT, [0.0]])).result is Result.PASS


def test_what_lets_missing_data_pass_need_not_let_a_silent_provider_pass() -> None:
    rule = replace(THRESHOLD, no_data=NoData.PASS, consecutive_error_limit=1)

    assert judge(rule, alone([SILENT, SILENT, SILENT])).result is Result.PASS
    assert judge(rule, alone([DOWN, DOWN])).result is Result.FAIL


def test_a_sequential_rule_has_the_limit_too_and_its_data_go_first() -> None:
    rule = replace(PROPORTION, consecutive_error_limit=1)
    bad = counted([(50, 100, 1, 100)] * 3).measurements
    silent = [replace(each, reading=analysis.Reading.ERROR, message=DOWN) for each in bad[:4]]
    only = replace(counted([]), ends=counted([]).started + 9 * MINUTE, measurements=tuple(silent))

    assert "2 looks in a row had no answer, 1 allowed" in judge(rule, only, 3).sentence
    assert judge(rule, replace(only, measurements=bad), 3).is_condemned


def test_more_inconclusive_looks_than_allowed_fail() -> None:
    found = judge(replace(TWO, inconclusive_limit=1), alone([THIN, GOOD, THIN], planned=20), 3)

    assert (found.result, found.is_final, found.is_condemned) == (Result.FAIL, True, False)
    assert found.sentence == (
        "errors on eu: 2 of 3 looks were inconclusive, 1 allowed; the last: "
        "too few samples to say anything: 1 of 2 values"
    )


def test_as_many_as_are_allowed_hold_nothing_up() -> None:
    history = alone([GOOD, GOOD, THIN])

    assert judge(replace(TWO, inconclusive_limit=1), history).result is Result.PASS
    waiting = judge(TWO, history)
    assert (waiting.result, waiting.is_final) == (Result.INCONCLUSIVE, False)


def test_a_limit_does_not_let_silence_pass() -> None:
    rule = replace(TWO, inconclusive_limit=9)

    assert judge(rule, alone([THIN, THIN])).result is not Result.PASS
    assert judge(rule, alone([GOOD, THIN, THIN, THIN])).result is not Result.PASS
    assert judge(rule, alone([GOOD, GOOD, SILENT])).result is not Result.PASS


answers = st.sampled_from([THIN, GOOD, BAD, SILENT, DOWN])


@given(st.lists(answers, max_size=9), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_exactly_the_limits_decide(
    values: Sequence[Values], failed: int, neither: int, silent: int
) -> None:
    """Whatever is seen before the end: it fails when one of the three is exceeded."""
    rule = replace(
        TWO, failure_limit=failed, inconclusive_limit=neither, consecutive_error_limit=silent
    )
    rows = [len(list(row)) for answer, row in itertools.groupby(values) if answer == DOWN]
    is_exceeded = (
        values.count(BAD) > failed or values.count(THIN) > neither or max(rows, default=0) > silent
    )
    found = judge(rule, alone(values, planned=20), len(values))

    assert (found.result is Result.FAIL) == is_exceeded
    assert found.is_condemned == (values.count(BAD) > failed)


@given(st.lists(answers, min_size=1, max_size=8))
def test_without_limits_they_change_nothing(values: Sequence[Values]) -> None:
    many = replace(TWO, consecutive_error_limit=99)

    assert judge(many, alone(values)) == judge(TWO, alone(values))
