"""How improbable what was seen is for a healthy release: the test, its p-value, its numbers.

Looks are tested together with each cluster of each look as a block of its own. `p_value`
takes them as all there will ever be; `p_value_so_far` may be asked again at every further look.
`power` asks both what worse releases would have shown.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import TypeVar

from volary.analysis.statistics import counts, dispersion, ranks, sequential
from volary.analysis.verdicts import samples
from volary.model import analysis
from volary.model.analysis import Deviation, Kind

#: A cell per cluster, in a list per look.
Blocks = Sequence[Sequence[samples.Cell]]

_Block = TypeVar("_Block")


def all_cells(blocks: Blocks) -> list[samples.Cell]:
    """Return all cells of all looks."""
    return [cell for cells in blocks for cell in cells]


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, as the tests of a rule's kind take it: blocks in a list per look."""

    #: Of values that are compared.
    ranked: Sequence[Sequence[ranks.RankSum]] = ()
    #: Of counts that are compared.
    paired: Sequence[Sequence[counts.Pair]] = ()
    #: Of counts against a range.
    counted: Sequence[Sequence[counts.Count]] = ()
    #: How many times the variance of independent events there is, from look to look.
    scale: float = 1.0


def measured(rule: analysis.Rule, blocks: Blocks) -> Measured:
    """Return what a rule tests; it compares, or counts."""
    if not rule.strategy.compares:
        counted = [[cell.judged.count for cell in cells] for cells in blocks]
        return Measured(counted=counted, scale=_scale(blocks, _of_count(rule, counted), counted))
    if rule.kind is Kind.VALUE:
        rank_sums = ranked(rule, blocks)
        return Measured(ranked=rank_sums, scale=_scale(blocks, of_ranks, rank_sums))
    pairs = paired(blocks)
    return Measured(paired=pairs, scale=_scale(blocks, of_pairs(pairs), pairs))


def _scale(
    blocks: Blocks, unit: Callable[[_Block], dispersion.Unit], items: Sequence[Sequence[_Block]]
) -> float:
    series: dict[str, list[dispersion.Unit]] = {}
    for cells, look in zip(blocks, items, strict=True):
        for cell, item in zip(cells, look, strict=True):
            series.setdefault(cell.target, []).append(unit(item))
    return dispersion.scale(list(series.values()))


def of_ranks(block: ranks.RankSum) -> dispersion.Unit:
    """Return what a comparison by rank adds up, and its variance."""
    total = block.first + block.second + 1
    return dispersion.Unit((block.u - block.mean) / total, block.first * block.second / 12 / total)


def of_pairs(
    paired: Sequence[Sequence[counts.Pair]],
) -> Callable[[counts.Pair], dispersion.Unit]:
    """Return what a pair has more than its events let expect at the ratio of all of them.

    At that ratio: where one side has more events than it should, their variance is another one.
    """
    logarithm, _ = counts.log_ratio(_flat(paired))
    ratio = math.exp(logarithm)

    def unit(pair: counts.Pair) -> dispersion.Unit:
        chance = pair.chance(ratio)
        excess = pair.first.events - pair.events * chance
        return dispersion.Unit(excess, pair.events * chance * (1 - chance))

    return unit


def _of_count(
    rule: analysis.Rule, counted: Sequence[Sequence[counts.Count]]
) -> Callable[[counts.Count], dispersion.Unit]:
    level = counts.total(_flat(counted)).rate
    others = max(0.0, 1 - level) if rule.kind is Kind.PROPORTION else 1.0

    def unit(count: counts.Count) -> dispersion.Unit:
        mean = count.exposure * level
        return dispersion.Unit(count.events - mean, mean * others)

    return unit


#: Of what was measured to a p-value.
Test = Callable[[analysis.Rule, Measured], float]


def p_value(rule: analysis.Rule, blocks: Blocks) -> float:
    """Test the looks of a rule that compares, as if there were no others."""
    return both_sides(rule, lambda sided: at_once(sided, measured(sided, blocks)))


def p_value_so_far(rule: analysis.Rule, blocks: Blocks) -> float:
    """Test all looks so far, so that the test may be repeated at every further one."""
    return both_sides(rule, lambda sided: so_far(sided, measured(sided, blocks)))


def at_once(rule: analysis.Rule, seen: Measured) -> float:
    """Test what was measured as if there was nothing else; a range is a plain threshold."""
    if not rule.strategy.compares:
        rate = counts.total(_flat(seen.counted)).rate
        return float(rate in (rule.expected or analysis.Range()))
    if rule.kind is Kind.VALUE:
        tails = ranks.tails(_flat(seen.ranked))
    elif _has_ratio_of_shares(rule):
        tails = counts.proportion_tails(_flat(seen.paired), odds=rule.allowed_ratio)
    else:
        tails = counts.rate_tails(_flat(seen.paired), ratio=rule.allowed_ratio)
    return tails.p_value(rule.deviation)


def so_far(rule: analysis.Rule, seen: Measured) -> float:
    """Test what was measured so far, with more to come."""
    if not rule.strategy.compares:
        return _limit_p_value(rule, seen)
    if rule.kind is Kind.VALUE:
        return sequential.from_ranks(seen.ranked, rule.deviation, scale=seen.scale).p_value
    if _has_ratio_of_shares(rule):
        found = sequential.from_proportions(
            seen.paired, rule.deviation, odds=rule.allowed_ratio, scale=seen.scale
        )
    else:
        found = sequential.from_rates(
            seen.paired, rule.deviation, ratio=rule.allowed_ratio, scale=seen.scale
        )
    return found.p_value


def _flat(blocks: Sequence[Sequence[_Block]]) -> list[_Block]:
    return [block for look in blocks for block in look]


def ranked(rule: analysis.Rule, blocks: Blocks) -> list[list[ranks.RankSum]]:
    """Rank both sides of every cell; the other side's values count `allowed_ratio` times."""
    return [[_rank_sum(cell, rule.allowed_ratio) for cell in cells] for cells in blocks]


def _rank_sum(cell: samples.Cell, ratio: float) -> ranks.RankSum:
    reference: Sequence[float] = cell.reference.values
    if ratio != 1:
        # By so much of its size, so that a value below zero is moved the same way.
        reference = [value + (ratio - 1) * abs(value) for value in reference]
    return ranks.rank_sum(cell.judged.values, reference)


def paired(blocks: Blocks) -> list[list[counts.Pair]]:
    """Return both counts of every cell."""
    return [
        [counts.Pair(cell.judged.count, cell.reference.count) for cell in cells] for cells in blocks
    ]


def _has_ratio_of_shares(rule: analysis.Rule) -> bool:
    """Say whether odds are compared: of two proportions without a ratio that users wrote."""
    return rule.kind is Kind.PROPORTION and rule.ratio_limit is None


def both_sides(rule: analysis.Rule, test: Callable[[analysis.Rule], float]) -> float:
    """Ask about both ends of what is allowed where both count; they share the chance."""
    ratio = rule.allowed_ratio
    if rule.deviation is not Deviation.EITHER or ratio == 1:
        return test(rule)
    limit = rule.ratio_limit and max(ratio, 1 / ratio)
    high = dataclasses.replace(rule, deviation=Deviation.HIGH, ratio_limit=limit)
    low = dataclasses.replace(rule, deviation=Deviation.LOW, ratio_limit=limit and 1 / limit)
    return min(1.0, 2 * min(test(high), test(low)))


def _limit_p_value(rule: analysis.Rule, seen: Measured) -> float:
    expected = rule.expected or analysis.Range()
    is_proportion = rule.kind is Kind.PROPORTION
    p_values = []
    if expected.maximum is not None:
        above = sequential.above_proportion if is_proportion else sequential.above_rate
        p_values.append(above(seen.counted, expected.maximum, scale=seen.scale).p_value)
    if expected.minimum is not None:
        below = sequential.below_proportion if is_proportion else sequential.below_rate
        p_values.append(below(seen.counted, expected.minimum, scale=seen.scale).p_value)
    # Two questions share the accepted chance of a false alarm.
    return min(1.0, len(p_values) * min(p_values, default=1.0))


def comparison_numbers(rule: analysis.Rule, blocks: Blocks, p_value: float) -> analysis.Numbers:
    """Return the numbers of both sides; effects are those without the allowed ratio."""
    cells = all_cells(blocks)
    if rule.kind is Kind.VALUE:
        return _rank_numbers(rule, cells, p_value)
    pairs = paired([cells])[0]
    first = counts.total([pair.first for pair in pairs])
    second = counts.total([pair.second for pair in pairs])
    low, high = counts.ratio_interval(pairs)
    return analysis.Numbers(
        samples=_samples(rule, first, len(pairs)),
        reference_samples=_samples(rule, second, len(pairs)),
        value=first.rate,
        reference=second.rate,
        effect=counts.ratio(pairs),
        effect_low=low,
        effect_high=high,
        p_value=p_value,
    )


def _rank_numbers(
    rule: analysis.Rule, cells: Sequence[samples.Cell], p_value: float
) -> analysis.Numbers:
    plain = dataclasses.replace(rule, ratio_limit=1.0)
    rank_sums = ranked(plain, [cells])[0]
    low, high = ranks.interval(rank_sums)
    return analysis.Numbers(
        samples=sum(rank_sum.first for rank_sum in rank_sums),
        reference_samples=sum(rank_sum.second for rank_sum in rank_sums),
        value=median(value for cell in cells for value in cell.judged.values),
        reference=median(value for cell in cells for value in cell.reference.values),
        effect=ranks.superiority(rank_sums),
        effect_low=low,
        effect_high=high,
        p_value=p_value,
    )


def limit_numbers(rule: analysis.Rule, blocks: Blocks, p_value: float) -> analysis.Numbers:
    """Return the numbers of a count against its expected range."""
    cells = all_cells(blocks)
    count = counts.total([cell.judged.count for cell in cells])
    return analysis.Numbers(
        samples=_samples(rule, count, len(cells)), value=count.rate, p_value=p_value
    )


def _samples(rule: analysis.Rule, count: counts.Count, blocks: int) -> int:
    return round(count.exposure) if rule.kind is Kind.PROPORTION else blocks
