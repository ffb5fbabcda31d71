"""Canary, baseline and primary: what each of the three comparisons adds."""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from verdict_world import PROPORTION, judge, measured, series
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.verdicts import fleet_verdicts, three_ways
from volary.analysis.verdicts.three_ways import Finding
from volary.model import analysis
from volary.model.analysis import Decider, Kind, Result, Role, Strategy

PAGE = Path(__file__).parents[4] / "docs/explanation/how-volary-decides.md"
RULE = replace(PROPORTION, strategy=Strategy.CANARY_BASELINE_PRIMARY)


def rows() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the rows of the page's table: what fits, the verdict, and why."""
    found = re.search("<!-- three sides -->(.*?)<!-- end", PAGE.read_text(), re.DOTALL)
    assert found is not None
    for line in found[1].strip().splitlines()[2:]:
        *pattern, verdict, why = line.strip("| ").split(" | ")
        yield tuple(pattern), verdict, why


def test_every_combination_is_decided_as_the_page_says() -> None:
    for combination in itertools.product(Finding, repeat=3):
        verdict, why = next(
            (verdict, why)
            for pattern, verdict, why in rows()
            if all(
                wanted in ("any", found) for wanted, found in zip(pattern, combination, strict=True)
            )
        )
        decision = three_ways.decide(*combination)
        assert (decision.result, decision.reason) == (verdict, why), combination


def test_no_release_passes_or_fails_for_want_of_data() -> None:
    for change, age in itertools.product(Finding, repeat=2):
        assert three_ways.decide(Finding.UNKNOWN, change, age).result is Result.INCONCLUSIVE
    for release in (Finding.ALIKE, Finding.UNKNOWN):
        for age in Finding:
            found = three_ways.decide(release, Finding.UNKNOWN, age)
            assert found.result is Result.INCONCLUSIVE


def test_more_against_canary_never_makes_it_better() -> None:
    order = (Result.PASS, Result.INCONCLUSIVE, Result.FAIL)
    for change, age in itertools.product(Finding, repeat=2):
        alike = three_ways.decide(Finding.ALIKE, change, age).result
        worse = three_ways.decide(Finding.WORSE, change, age).result
        assert order.index(worse) >= order.index(alike)


def history(
    canary: int, baseline: int, primary: int, looks: int = 20, *, beside: int = 9000
) -> analysis.Series:
    """Return errors of a thousand requests a look, of primary's of `beside`."""
    found = []
    for at in range(1, looks + 1):
        found.append(measured(at, [canary], totals=[1000]))
        found.append(measured(at, [baseline], Role.REFERENCE, [1000]))
        found.append(replace(measured(at, [primary], Role.CONTROL, [beside]), variant="primary"))
    return series(found, 20)


@pytest.mark.parametrize(
    ("errors", "result", "why"),
    [
        ((10, 10, 90), Result.PASS, "worse than neither"),
        ((50, 50, 90), Result.PASS, "and so is baseline, which is as new: not the release"),
        ((50, 10, 90), Result.FAIL, "worse than both, so it is the release"),
        ((16, 12, 90), Result.INCONCLUSIVE, "which is not known to be worse itself"),
        ((50, 10, 450), Result.INCONCLUSIVE, "worse than baseline, and not known to be worse"),
    ],
)
def test_a_release_is_judged_by_three_comparisons(
    errors: tuple[int, int, int], result: Result, why: str
) -> None:
    found = judge(RULE, history(*errors))

    assert found.result is result
    assert why in found.sentence
    assert found.is_condemned == (result is Result.FAIL)
    assert found.is_final == (result is not Result.INCONCLUSIVE)
    assert "canary has" in found.sentence
    assert "primary" in found.sentence


def test_the_failure_has_the_weaker_of_both_proofs() -> None:
    found = judge(RULE, history(50, 10, 90))
    pair = replace(RULE, strategy=Strategy.CANARY_BASELINE)

    assert (found.numbers.p_value or 0) >= (judge(pair, history(50, 10, 90)).numbers.p_value or 0)
    assert (found.numbers.p_value or 1) <= RULE.significance


def test_what_is_in_between_fails_at_the_deadline_and_condemns_nobody() -> None:
    seen = history(50, 10, 450)
    late = judge(RULE, replace(seen, deadline=seen.ends))

    assert (late.result, late.is_final, late.is_condemned) == (Result.FAIL, True, False)


def test_a_side_that_is_silent_is_no_pass() -> None:
    whole = history(10, 10, 90)
    without = tuple(each for each in whole.measurements if each.role is not Role.CONTROL)
    found = judge(RULE, replace(whole, measurements=without))

    assert found.result is Result.INCONCLUSIVE
    assert "no measurement of the control side" in found.sentence


def test_values_are_compared_three_ways_too() -> None:
    rule = replace(RULE, kind=Kind.VALUE, total_query="")
    generator = random.Random(1)

    def values(level: float) -> list[float]:
        return [level + generator.random() for _ in range(5)]

    def of(canary: float, baseline: float) -> Result:
        found = []
        for at in range(1, 21):
            found.append(measured(at, values(canary)))
            found.append(measured(at, values(baseline), Role.REFERENCE))
            found.append(replace(measured(at, values(0), Role.CONTROL), variant="primary"))
        return judge(rule, series(found, 20)).result

    assert of(0, 0) is Result.PASS
    assert of(2, 2) is Result.PASS
    assert of(2, 0) is Result.FAIL


def test_clusters_decide_together() -> None:
    rule = replace(RULE, decider=Decider.POOLED)
    fleet = {
        name: replace(history(50, baseline, 90), target=name)
        for name, baseline in (("eu", 50), ("us", 50))
    }
    found = fleet_verdicts.judge(rule, fleet, history(1, 1, 1).ends)

    assert found.pooled.result is Result.PASS
    assert "not the release" in found.pooled.sentence


def test_simulated_releases_keep_the_chance() -> None:
    """Healthy ones pass or wait; five times the errors are found."""
    setting = rule_plans.Setting(
        traffic.Traffic(10, 90, errors=0.02), timedelta(minutes=10), runs=40
    )
    healthy, bad = rule_plans.outcomes(RULE, setting, (1.0, 5.0))

    assert healthy.failed <= 0.05
    assert healthy.passed > 0.5
    assert bad.failed > 0.95
