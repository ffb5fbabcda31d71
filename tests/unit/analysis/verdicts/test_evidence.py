"""Which test a rule gets, and that p-values keep what they promise at both ends."""

from dataclasses import replace

import pytest

from volary.analysis.statistics import counts, sequential
from volary.analysis.verdicts import evidence, samples
from volary.model import analysis
from volary.model.analysis import Deviation, Judgement, Kind, Range, Strategy

VALUES = analysis.Rule("m", "p", "q", strategy=Strategy.CANARY_BASELINE, minimum_effect=0)
SHARES = replace(VALUES, kind=Kind.PROPORTION, total_query="t")
RATES = replace(VALUES, kind=Kind.RATE)


def valued(first: tuple[float, ...], second: tuple[float, ...]) -> samples.Cell:
    return samples.Cell("eu", samples.Sample(first), samples.Sample(second))


def counted(drawn: float, first: float, rest: float, second: float) -> samples.Cell:
    return samples.Cell(
        "eu",
        samples.Sample(count=counts.Count(drawn, first)),
        samples.Sample(count=counts.Count(rest, second)),
    )


HIGHER = [[valued((5, 6, 7, 8), (1, 2, 3, 4))]]
MORE = [[counted(30, 1_000, 40, 9_000)]]


@pytest.mark.parametrize("rule", [VALUES, SHARES, RATES])
@pytest.mark.parametrize("test", [evidence.p_value, evidence.p_value_so_far])
def test_only_the_named_direction_counts(rule: analysis.Rule, test: object) -> None:
    assert callable(test)
    blocks = HIGHER if rule.kind is Kind.VALUE else MORE

    high = test(replace(rule, deviation=Deviation.HIGH), blocks)
    low = test(replace(rule, deviation=Deviation.LOW), blocks)
    either = test(replace(rule, deviation=Deviation.EITHER), blocks)

    assert high < either < low
    assert either == pytest.approx(2 * high, rel=0.2)


def test_shares_and_rates_have_tests_of_their_own() -> None:
    """Taken for a rate, a share of errors would look less certain than it is."""
    high, pairs = Deviation.HIGH, evidence.paired(MORE)
    scale = evidence.measured(SHARES, MORE).weather.scale
    of_rates = evidence.measured(RATES, MORE).weather.scale

    for rule, tails, so_far in (
        (
            SHARES,
            counts.proportion_tails(pairs[0]),
            sequential.from_proportions(pairs, high, scale=scale),
        ),
        (RATES, counts.rate_tails(pairs[0]), sequential.from_rates(pairs, high, scale=of_rates)),
        (
            replace(SHARES, ratio_limit=1.1),
            counts.rate_tails(pairs[0], ratio=1.1),
            sequential.from_rates(pairs, high, ratio=1.1, scale=scale),
        ),
    ):
        one_sided = replace(rule, deviation=high)
        assert evidence.p_value(one_sided, MORE) == tails.p_value(high)
        assert evidence.p_value_so_far(one_sided, MORE) == so_far.p_value


@pytest.mark.parametrize("rule", [SHARES, RATES])
@pytest.mark.parametrize("test", [evidence.p_value, evidence.p_value_so_far])
def test_a_ratio_in_both_directions_shares_the_chance(rule: analysis.Rule, test: object) -> None:
    assert callable(test)
    either = replace(rule, ratio_limit=2.0)
    high = replace(either, deviation=Deviation.HIGH)
    low = replace(either, deviation=Deviation.LOW, ratio_limit=0.5)
    fewer = [[counted(2, 1_000, 90, 9_000)]]

    assert test(either, MORE) == pytest.approx(2 * test(high, MORE))
    assert test(either, fewer) == pytest.approx(min(1, 2 * test(low, fewer)))
    assert test(replace(either, ratio_limit=0.5), MORE) == test(either, MORE)


def test_a_ratio_of_values_stretches_the_other_side() -> None:
    rule = replace(VALUES, deviation=Deviation.HIGH, ratio_limit=3.0)

    assert evidence.p_value_so_far(replace(rule, ratio_limit=None), HIGHER * 5) < 0.05
    assert evidence.p_value_so_far(rule, HIGHER * 5) > 0.05
    assert evidence.comparison_numbers(rule, HIGHER, 1.0).effect == 1


@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        (Kind.PROPORTION, (sequential.above_proportion, sequential.below_proportion)),
        (Kind.RATE, (sequential.above_rate, sequential.below_rate)),
    ],
)
def test_two_limits_share_the_chance(kind: Kind, limits: tuple[object, object]) -> None:
    above, below = limits
    assert callable(above)
    assert callable(below)
    rule = replace(VALUES, kind=kind, strategy=Strategy.THRESHOLD, judgement=Judgement.SEQUENTIAL)
    range_ = Range(0.02, 0.05)
    many, few = counted(90, 1_000, 0, 1), counted(1, 1_000, 0, 1)

    for cell, one_sided, limit in ((many, above, 0.05), (few, below, 0.02)):
        blocks = [[cell]] * 5
        found = evidence.p_value_so_far(replace(rule, expected=range_), blocks)
        scale = evidence.measured(rule, blocks).weather.scale
        alone = one_sided([[cell.judged.count]] * 5, limit, scale=scale)
        assert found == pytest.approx(2 * alone.p_value)
        assert found < 0.05
