"""How improbable what was seen is for a healthy release: the test, its p-value, its
numbers.

Looks are tested together with each cluster of each look as a block of its own. `p_value`
takes them as all there will ever be; `p_value_so_far` may be asked again at every further look.
The `least` of both says what the most extreme answer could have shown: looks that could not
have condemned anything acquit of nothing.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import median

from volary.analysis.statistics import binomial, counts, ranks, sequential
from volary.analysis.verdicts import samples
from volary.model import analysis
from volary.model.analysis import Deviation, Kind

#: A cell per cluster, in a list per look.
Blocks = Sequence[Sequence[samples.Cell]]


def all_cells(blocks: Blocks) -> list[samples.Cell]:
    """Return all cells of all looks."""
    return [cell for cells in blocks for cell in cells]


def p_value(rule: analysis.Rule, blocks: Blocks) -> float:
    """Test the looks of a rule that compares, as if there were no others."""
    return _two_sided(rule, lambda sided_rule: _p_value(sided_rule, blocks))


def _p_value(rule: analysis.Rule, blocks: Blocks) -> float:
    cells = [all_cells(blocks)]
    if rule.kind is Kind.VALUE:
        return ranks.tails(ranked(rule, cells)[0]).p_value(rule.deviation)
    if _is_plain(rule):
        return counts.proportion_tails(paired(cells)[0]).p_value(rule.deviation)
    tails = counts.rate_tails(paired(cells)[0], ratio=rule.ratio_limit or 1.0)
    return tails.p_value(rule.deviation)


def least_p_value(rule: analysis.Rule, cells: Sequence[samples.Cell]) -> float:
    """Return the smallest `p_value` that looks of these sizes could have."""
    least = math.exp(sum(_least_logarithm(rule, cell) for cell in cells))
    return min(1.0, 2 * least) if rule.deviation is Deviation.EITHER else least


def _least_logarithm(rule: analysis.Rule, cell: samples.Cell) -> float:
    """Return the logarithm of the chance of the most extreme answer.

    Every value above all others; every request of the new version an error and no other one. A
    rate has no greatest number of events: one per second is taken for it.
    """
    if rule.kind is Kind.VALUE:
        first, second = len(cell.judged.values), len(cell.reference.values)
        return -binomial.log_choose(first + second, first)
    pair = counts.Pair(cell.judged.count, cell.reference.count)
    first, second = (max(1, round(count.exposure)) for count in (pair.first, pair.second))
    is_low = rule.deviation is Deviation.LOW
    if _is_plain(rule):
        return -binomial.log_choose(first + second, second if is_low else first)
    chance = pair.chance(rule.ratio_limit or 1.0)
    return second * math.log1p(-chance) if is_low else first * math.log(chance)


def p_value_so_far(rule: analysis.Rule, blocks: Blocks) -> float:
    """Test all looks so far, so that the test may be repeated at every further one."""
    if not rule.strategy.compares:
        return _limit_p_value(rule, _judged_counts(blocks))
    if rule.kind is Kind.VALUE:
        return _two_sided(
            rule,
            lambda sided_rule: (
                sequential.from_ranks(ranked(sided_rule, blocks), sided_rule.deviation).p_value
            ),
        )
    return _two_sided(rule, lambda sided_rule: _bets(sided_rule, paired(blocks)).p_value)


def least_p_value_so_far(rule: analysis.Rule, blocks: Blocks) -> float:
    """Return the smallest `p_value_so_far` that looks of these sizes could have."""
    if not rule.strategy.compares:
        judged_counts = _judged_counts(blocks)
        every = [
            [counts.Count(count.exposure, count.exposure) for count in look]
            for look in judged_counts
        ]
        none = [[counts.Count(0, count.exposure) for count in look] for look in judged_counts]
        return min(_limit_p_value(rule, every), _limit_p_value(rule, none))
    if rule.kind is Kind.VALUE:
        apart = [[_wholly_apart(rule, cell) for cell in cells] for cells in blocks]
        return sequential.from_ranks(apart, rule.deviation).p_value
    worst = [[_wholly_bad(rule, pair) for pair in look] for look in paired(blocks)]
    return _two_sided(rule, lambda sided_rule: _bets(sided_rule, worst).p_value)


def ranked(rule: analysis.Rule, blocks: Blocks) -> list[list[ranks.RankSum]]:
    """Rank both sides of every cell; the other side counts `ratio_limit` times."""
    ratio = 1.0 if rule.ratio_limit is None else rule.ratio_limit
    return [[_rank_sum(cell, ratio) for cell in cells] for cells in blocks]


def _rank_sum(cell: samples.Cell, ratio: float) -> ranks.RankSum:
    reference: Sequence[float] = cell.reference.values
    if ratio != 1:
        reference = [ratio * value for value in reference]
    return ranks.rank_sum(cell.judged.values, reference)


def _wholly_apart(rule: analysis.Rule, cell: samples.Cell) -> ranks.RankSum:
    first, second = len(cell.judged.values), len(cell.reference.values)
    u = 0.0 if rule.deviation is Deviation.LOW else float(first * second)
    return ranks.RankSum(first, second, u)


def paired(blocks: Blocks) -> list[list[counts.Pair]]:
    """Return both counts of every cell."""
    return [
        [counts.Pair(cell.judged.count, cell.reference.count) for cell in cells] for cells in blocks
    ]


def _wholly_bad(rule: analysis.Rule, pair: counts.Pair) -> counts.Pair:
    first, second = pair.first.exposure, pair.second.exposure
    if rule.deviation is Deviation.LOW:
        return counts.Pair(counts.Count(0, first), counts.Count(second, second))
    return counts.Pair(counts.Count(first, first), counts.Count(0, second))


def _bets(rule: analysis.Rule, pairs: Sequence[Sequence[counts.Pair]]) -> sequential.Evidence:
    if _is_plain(rule):
        return sequential.from_proportions(pairs, rule.deviation)
    return sequential.from_rates(pairs, rule.deviation, ratio=rule.ratio_limit or 1.0)


def _is_plain(rule: analysis.Rule) -> bool:
    """Say whether two proportions have to be the same: the one case with a test of its own."""
    return rule.kind is Kind.PROPORTION and rule.ratio_limit is None


def _two_sided(rule: analysis.Rule, test: Callable[[analysis.Rule], float]) -> float:
    """Ask about both ends of an allowed ratio where both count; they share the chance."""
    if rule.ratio_limit is None or rule.deviation is not Deviation.EITHER:
        return test(rule)
    ratio = max(rule.ratio_limit, 1 / rule.ratio_limit)
    sides = ((Deviation.HIGH, ratio), (Deviation.LOW, 1 / ratio))
    p_values = [
        test(dataclasses.replace(rule, deviation=deviation, ratio_limit=limit))
        for deviation, limit in sides
    ]
    return min(1.0, 2 * min(p_values))


def _judged_counts(blocks: Blocks) -> list[list[counts.Count]]:
    return [[cell.judged.count for cell in cells] for cells in blocks]


def _limit_p_value(rule: analysis.Rule, looks: Sequence[Sequence[counts.Count]]) -> float:
    expected = rule.expected or analysis.Range()
    is_proportion = rule.kind is Kind.PROPORTION
    p_values = []
    if expected.maximum is not None:
        above = sequential.above_proportion if is_proportion else sequential.above_rate
        p_values.append(above(looks, expected.maximum).p_value)
    if expected.minimum is not None:
        below = sequential.below_proportion if is_proportion else sequential.below_rate
        p_values.append(below(looks, expected.minimum).p_value)
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
    plain = rule if rule.ratio_limit is None else dataclasses.replace(rule, ratio_limit=None)
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
