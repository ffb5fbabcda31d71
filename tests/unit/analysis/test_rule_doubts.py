"""What speaks against rules by a few simulated releases, and what does not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from volary.analysis.planning import rule_doubts, rule_plans, traffic
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Range, Strategy

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
    ERRORS,
    name="request-duration",
    built_in="request-duration",
    kind=Kind.VALUE,
    ratio_limit=1.1,
    judgement=Judgement.EACH,
)
SUCCESS = analysis.Rule(
    "request-success-rate", built_in="request-success-rate", expected=Range(minimum=99)
)


def doubts(rule: analysis.Rule, rate: float, *, minutes: int = 10, clusters: int = 1) -> list[str]:
    made = traffic.Traffic(rate, rate, errors=0.01)
    setting = rule_plans.Setting(made, timedelta(minutes=minutes), clusters)
    return [doubt.message for doubt in rule_doubts.doubts(rule, setting)]


def test_a_rule_that_keeps_its_promise_and_finds_bad_releases_is_not_doubted() -> None:
    assert doubts(ERRORS, 20) == []


def test_what_fails_healthy_releases_is_doubted() -> None:
    (alarms,) = doubts(DURATION, 10)
    (threshold,) = doubts(SUCCESS, 1)

    assert alarms.endswith("simulated healthy releases fail, where 5 % are accepted")
    assert int(alarms.split(" of 40 ")[0]) > 30
    assert threshold.endswith("of 40 simulated healthy releases fail, where 5 % are accepted")


def test_what_sees_too_little_to_find_twice_the_errors_is_doubted() -> None:
    (missed,) = doubts(ERRORS, 0.5)

    found, _, rest = missed.partition(" of 40 ")
    assert rest == "simulated releases with twice the errors or latency would be found within 10m"
    assert int(found) < 10


@pytest.mark.parametrize(
    "rule",
    [
        replace(ERRORS, ratio_limit=2.0),
        replace(ERRORS, minimum_effect=1.5),
        replace(ERRORS, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.05)),
    ],
)
def test_nobody_has_to_find_what_the_rule_allows(rule: analysis.Rule) -> None:
    assert doubts(rule, 0.5) == []


def test_the_promise_is_that_of_the_rule() -> None:
    """By each look of ten at 20 %, nine in ten fail; that much is not accepted."""
    careless = replace(ERRORS, judgement=Judgement.EACH, significance=0.2)

    assert "where 20 % are accepted" in doubts(careless, 20)[0]


def test_what_would_take_long_is_left_to_the_plan() -> None:
    (said,) = doubts(ERRORS, 20, minutes=40, clusters=3)
    counted = doubts(replace(ERRORS, count=5), 100, minutes=200)

    assert said == "40 looks on 3 clusters are too many to be simulated here"
    assert counted == [], "only five of them are looked at"


def test_a_rule_is_simulated_once_whatever_it_is_called() -> None:
    first = doubts(ERRORS, 30)
    simulated = rule_doubts._outcome.cache_info().misses

    assert doubts(replace(ERRORS, name="others", arguments={"x": "y"}), 30) == first
    assert rule_doubts._outcome.cache_info().misses == simulated
    doubts(ERRORS, 31)
    assert rule_doubts._outcome.cache_info().misses > simulated


@pytest.mark.parametrize(
    ("rule", "can"),
    [
        (ERRORS, True),
        (DURATION, True),
        (SUCCESS, True),
        (replace(ERRORS, kind=Kind.RATE, strategy=Strategy.THRESHOLD), True),
        (analysis.Rule("memory", query="q", expected=Range(maximum=5)), False),
        (analysis.Rule("memory", query="q", history=analysis.History()), True),
        (analysis.Rule("pods", built_in="pod-cpu", strategy=Strategy.CANARY_BASELINE), False),
    ],
)
def test_only_what_traffic_says_something_about_is_simulated(
    rule: analysis.Rule, can: bool
) -> None:
    assert rule_plans.can_be_simulated(rule) is can
