"""Thresholds that are made of the same hour of the weeks before."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict_world import MINUTE, THRESHOLD, Values, alone, judge, measured, series
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.verdicts import fleet_verdicts, histories
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Judgement, Kind, NoData, Result, Role

RULE = replace(
    THRESHOLD, expected=None, deviation=Deviation.HIGH, history=analysis.History(tolerance=0.2)
)
COUNTED = replace(RULE, kind=Kind.PROPORTION, total_query="t", judgement=Judgement.SEQUENTIAL)


def before(*weeks: Values, totals: Sequence[float] = ()) -> tuple[analysis.Measurement, ...]:
    """Return what was measured of the weeks before, at the first look."""
    return tuple(
        replace(measured(1, week, Role.HISTORY, totals), variant=f"{7 * number} days before")
        for number, week in enumerate(weeks, 1)
    )


def seen(values: Sequence[Values], *weeks: Values) -> analysis.Series:
    now = alone(values)
    return replace(now, measurements=(*before(*weeks), *now.measurements))


def test_the_middle_week_is_usual_and_the_tolerance_is_added() -> None:
    history = seen([[11.9], [12.0]], [9, 10, 11], [10], [10], [500])
    good = judge(RULE, history)
    bad = judge(RULE, seen([[12.1]], [9, 10, 11], [10], [10], [500]))

    assert good.result is Result.PASS
    assert good.sentence == (
        "errors on eu: 0 of 2 looks failed; the last good one: 12 is within the expected ≤ 12; "
        "10 is usual, by 4 of 4 times 7 days apart"
    )
    assert (bad.result, bad.is_condemned) == (Result.FAIL, True)
    assert "12.1 is outside the expected ≤ 12" in bad.sentence


@pytest.mark.parametrize(
    ("deviation", "value", "result"),
    [
        (Deviation.HIGH, 1.0, Result.PASS),
        (Deviation.LOW, 1.0, Result.FAIL),
        (Deviation.LOW, 100.0, Result.PASS),
        (Deviation.EITHER, 1.0, Result.FAIL),
        (Deviation.EITHER, 100.0, Result.FAIL),
        (Deviation.EITHER, 11.0, Result.PASS),
    ],
)
def test_only_worse_is_worse(deviation: Deviation, value: float, result: Result) -> None:
    rule = replace(RULE, deviation=deviation)

    assert judge(rule, seen([[value]], [10], [10])).result is result


def test_a_level_below_zero_has_its_tolerance_on_the_right_side() -> None:
    found = histories.resolved(replace(RULE, deviation=Deviation.EITHER), [seen([], [-10])])

    assert found.expected == analysis.Range(-12, -8)


def test_some_weeks_are_enough_and_the_sentence_says_how_many() -> None:
    found = judge(RULE, seen([[10.0]], "down", [10], [float("nan")], []))

    assert found.result is Result.PASS
    assert "by 1 of 4 times 7 days apart" in found.sentence


@pytest.mark.parametrize(
    ("policy", "result"),
    [
        (NoData.HOLD, Result.INCONCLUSIVE),
        (NoData.FAIL, Result.FAIL),
        (NoData.PASS, Result.PASS),
    ],
)
def test_what_nobody_knows_is_no_data(policy: NoData, result: Result) -> None:
    found = judge(replace(RULE, no_data=policy), seen([[1.0], [1.0]], "down", "down"))

    assert found.result is result
    assert not found.is_condemned
    assert "what was usual is not known: down" in found.sentence or policy is NoData.FAIL


def test_an_answer_that_says_nothing_is_no_history() -> None:
    found = judge(RULE, seen([[1.0]], [float("inf")]))

    assert "what was usual is not known: the answer says nothing" in found.sentence


def test_nobody_was_asked() -> None:
    found = judge(RULE, alone([[1.0]]))

    assert found.result is Result.INCONCLUSIVE
    assert "what was usual is not known: nobody was asked" in found.sentence


def counted(errors: int, *weeks: int, looks: int = 20) -> analysis.Series:
    now = [measured(at, [errors], totals=[1000]) for at in range(1, looks + 1)]
    early = [each for week in weeks for each in before([week], totals=[60_000])]
    return series([*early, *now], looks)


def test_shares_are_tested_against_what_was_usual() -> None:
    assert judge(COUNTED, counted(10, 600, 580, 620)).result is Result.PASS
    bad = judge(COUNTED, counted(30, 600, 580, 620))
    assert bad.is_condemned
    assert "where ≤ 0.0120" in bad.sentence
    assert "1.0 % is usual, by 3 of 4 times" in bad.sentence


def test_half_an_event_is_added_to_what_was_counted() -> None:
    history = analysis.History()
    of = before([9.0], totals=[99.0])

    assert histories.usual(COUNTED, history, series(of, 1)) == pytest.approx(9.5 / 100)
    rate = replace(COUNTED, kind=Kind.RATE)
    assert histories.usual(rate, history, series(before([9.0]), 1)) == pytest.approx(9.5 / 3600)


@pytest.mark.parametrize(
    ("events", "total"), [(0.0, 0.0), (-5.0, 99.0), (5.0, float("inf")), (float("nan"), 99.0)]
)
def test_what_was_no_measurement_then_is_none_now(events: float, total: float) -> None:
    of = before([events], totals=[total])

    assert histories.usual(COUNTED, analysis.History(), series(of, 1)) is None


def test_none_so_far_does_not_mean_never() -> None:
    """Without any error in the weeks before one or two are no proof."""
    history = counted(0, 0, 0, 0, looks=3)
    one = (*history.measurements, measured(3, [1], totals=[1000]))

    assert judge(COUNTED, replace(history, measurements=one)).result is not Result.FAIL


def test_clusters_have_their_own_history_and_the_pool_the_middle_one() -> None:
    rule = replace(RULE, decider=Decider.BOTH)
    fleet = {
        name: replace(seen([[value]] * 3, [usual]), target=name)
        for name, value, usual in (("eu", 10, 10), ("us", 100, 100), ("asia", 55, 50))
    }
    found = fleet_verdicts.judge(rule, fleet, alone([[1]] * 3).ends)

    assert {name: verdict.result for name, verdict in found.own.items()} == {
        name: Result.PASS for name in fleet
    }
    assert found.pooled.result is Result.PASS
    assert "55 is within the expected ≤ 60" in found.pooled.sentence


def test_an_outlier_is_one_by_its_own_history() -> None:
    fleet = {
        name: replace(seen([[value]] * 3, [usual]), target=name)
        for name, value, usual in (("eu", 20, 10), ("us", 100, 100), ("asia", 50, 50))
    }
    found = fleet_verdicts.judge(RULE, fleet, alone([[1]] * 3).ends)

    assert found.pooled.outliers == ("eu",)


levels = st.floats(-1e6, 1e6)


@given(st.lists(levels, min_size=1, max_size=8), st.floats(0, 10), st.sampled_from(Deviation))
def test_the_range_holds_what_is_usual_and_moves_no_further_than_its_tolerance(
    weeks: list[float], tolerance: float, deviation: Deviation
) -> None:
    rule = replace(RULE, deviation=deviation, history=analysis.History(tolerance=tolerance))
    history = seen([], *([week] for week in weeks))
    expected = histories.resolved(rule, [history]).expected

    assert expected is not None
    assert (
        sorted(weeks)[(len(weeks) - 1) // 2]
        <= (histories.usual(rule, rule.history or analysis.History(), history) or 0)
        <= sorted(weeks)[len(weeks) // 2]
    )
    assert histories.usual(rule, analysis.History(), history) in expected
    assert (expected.maximum is None) == (deviation is Deviation.LOW)
    assert (expected.minimum is None) == (deviation is Deviation.HIGH)


def test_simulated_releases_keep_what_a_tolerance_promises() -> None:
    rule = replace(COUNTED, interval=MINUTE, history=analysis.History(tolerance=0.5))
    setting = rule_plans.Setting(traffic.Traffic(20, 20), timedelta(minutes=20), runs=40)
    healthy, bad = rule_plans.outcomes(rule, setting, (1.0, 5.0))

    assert healthy.failed <= 0.05
    assert bad.failed > 0.95
