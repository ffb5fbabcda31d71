"""Rules that are simulated before they judge; what used to be advised fails healthy releases."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.analysis.planning import rule_plans, traffic
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Judgement, Kind, Range, Strategy

ERRORS = analysis.Rule(
    "errors",
    query="q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)
DURATION = replace(
    ERRORS, name="request-duration", built_in="request-duration", kind=Kind.VALUE, ratio_limit=1.1
)
SUCCESS = analysis.Rule(
    "request-success-rate", built_in="request-success-rate", expected=Range(minimum=99)
)
TEN = timedelta(minutes=10)


def healthy(rule: analysis.Rule, made: traffic.Traffic, **options: int) -> float:
    setting = rule_plans.Setting(made, TEN, **{"runs": 20, **options})
    return rule_plans.outcomes(rule, setting, (1.0,))[0].failed


def test_what_is_looked_at_one_by_one_fails_most_healthy_releases() -> None:
    one_by_one = replace(DURATION, judgement=Judgement.EACH)

    assert healthy(one_by_one, traffic.Traffic(10, 10)) > 0.7
    assert healthy(SUCCESS, traffic.Traffic(1, 1, errors=0.002)) > 0.5


def test_what_is_recommended_does_not() -> None:
    limit = replace(ERRORS, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))

    assert healthy(DURATION, traffic.Traffic(10, 10)) <= 0.05
    assert healthy(limit, traffic.Traffic(1, 1, errors=0.002)) <= 0.05


@pytest.mark.parametrize("decider", Decider)
def test_a_fleet_has_no_more_false_alarms_than_a_cluster(decider: Decider) -> None:
    rule = replace(ERRORS, decider=decider)

    assert healthy(rule, traffic.Traffic(3, 3), clusters=5, runs=6) <= 0.2


def test_worse_releases_are_found_the_sooner_the_worse_they_are() -> None:
    setting = rule_plans.Setting(traffic.Traffic(10, 10), timedelta(minutes=20), runs=10)
    same, twice, ten = rule_plans.outcomes(ERRORS, setting, (1.0, 2.0, 10.0))

    assert (same.failed, same.found_after) == (0, None)
    assert same.passed == 1
    assert twice.failed > 0.9
    assert ten.failed == 1
    assert ten.found_after is not None
    assert twice.found_after is not None
    assert ten.found_after <= timedelta(minutes=3) < twice.found_after


def test_a_rule_with_a_count_is_followed_no_further() -> None:
    counted = replace(ERRORS, count=4)
    setting = rule_plans.Setting(traffic.Traffic(10, 10), timedelta(minutes=20), runs=5)
    shorter = replace(setting, duration=timedelta(minutes=4))

    for effect in (1.0, 3.0):
        whole = rule_plans.outcomes(counted, setting, (effect,))
        assert whole == rule_plans.outcomes(ERRORS, shorter, (effect,))


def test_the_same_releases_come_out_again() -> None:
    setting = rule_plans.Setting(traffic.Traffic(1, 2), TEN, runs=5)

    first, second = (rule_plans.outcomes(ERRORS, setting, (1.0, 3.0)) for _ in range(2))
    assert first == second


def test_without_traffic_nothing_passes() -> None:
    setting = rule_plans.Setting(traffic.Traffic(0.005, 10), TEN, runs=20)
    (outcome,) = rule_plans.outcomes(ERRORS, setting, (1.0,))

    assert outcome.unknown == 1
