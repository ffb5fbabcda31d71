"""One comparison or one count against its limit: which test, and its numbers.

`of_looks` tests looks together, each cluster of each look a stratum of its own. The numbers are
the same whichever test decides.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from volary.analysis import counts, looks, ranks, sequential
from volary.model import analysis
from volary.model.analysis import Deviation, Kind


@dataclass(frozen=True, slots=True)
class Finding:
    """What a test of some looks says."""

    numbers: analysis.Numbers
    #: The smallest p-value that samples of these sizes could have given.
    least_p_value: float


Strata = Sequence[Sequence[looks.Cell]]


def flat(strata: Strata) -> list[looks.Cell]:
    """Return all cells of all looks."""
    return [cell for cells in strata for cell in cells]


def of_looks(rule: analysis.Rule, strata: Strata) -> Finding:
    """Test the looks of a rule that compares, as if there were no others."""
    if rule.kind is Kind.VALUE:
        return _two_sided(rule, lambda each: _by_rank(each, strata, _tails_of_ranks))
    return _two_sided(rule, lambda each: _by_count(each, strata, _tails_of_counts))


def of_all_looks(rule: analysis.Rule, strata: Strata) -> Finding:
    """Test all looks so far, so that the test may be repeated at every further one."""
    if not rule.strategy.compares:
        return _against_limit(rule, strata)
    if rule.kind is Kind.VALUE:
        return _two_sided(rule, lambda each: _by_rank(each, strata, _bets_on_ranks))
    return _two_sided(rule, lambda each: _by_count(each, strata, _bets_on_counts))


def least_p_value(rule: analysis.Rule, cells: Sequence[looks.Cell]) -> float:
    """Return the smallest p-value that `of_looks` could give for samples of these sizes."""
    if rule.kind is Kind.VALUE:
        sizes = [(len(cell.judged.values), len(cell.reference.values)) for cell in cells]
        return ranks.least_p_value(sizes, rule.deviation)
    extreme = [_one_sided(rule, pair) for pair in paired([cells])[0]]
    return _count_tails(rule, extreme).p_value(rule.deviation)


def _two_sided(rule: analysis.Rule, test: Callable[[analysis.Rule], Finding]) -> Finding:
    """Ask about both ends of an allowed ratio where both count; they share the chance."""
    if rule.ratio_limit is None or rule.deviation is not Deviation.EITHER:
        return test(rule)
    ratio = max(rule.ratio_limit, 1 / rule.ratio_limit)
    sides = ((Deviation.HIGH, ratio), (Deviation.LOW, 1 / ratio))
    found = min(
        (
            test(dataclasses.replace(rule, deviation=deviation, ratio_limit=limit))
            for deviation, limit in sides
        ),
        key=lambda each: each.numbers.p_value or 0.0,
    )
    numbers = dataclasses.replace(found.numbers, p_value=min(1.0, 2 * (found.numbers.p_value or 0)))
    return Finding(numbers, min(1.0, 2 * found.least_p_value))


# Values: by rank.

RankStrata = list[list[ranks.RankSum]]


def ranked(rule: analysis.Rule, strata: Strata) -> RankStrata:
    """Rank both sides of every cell; the other side counts `ratio_limit` times."""
    ratio = 1.0 if rule.ratio_limit is None else rule.ratio_limit
    return [
        [
            ranks.rank_sum(
                cell.judged.values,
                cell.reference.values
                if ratio == 1
                else [ratio * value for value in cell.reference.values],
            )
            for cell in cells
        ]
        for cells in strata
    ]


def _tails_of_ranks(found: RankStrata, deviation: Deviation) -> tuple[float, float]:
    together = [each for look in found for each in look]
    sizes = [(each.first, each.second) for each in together]
    return ranks.tails(together).p_value(deviation), ranks.least_p_value(sizes, deviation)


def _bets_on_ranks(found: RankStrata, deviation: Deviation) -> tuple[float, float]:
    extreme = [[_wholly_apart(each, deviation) for each in look] for look in found]
    return (
        sequential.from_ranks(found, deviation).p_value,
        sequential.from_ranks(extreme, deviation).p_value,
    )


def _wholly_apart(each: ranks.RankSum, deviation: Deviation) -> ranks.RankSum:
    u = 0.0 if deviation is Deviation.LOW else float(each.first * each.second)
    return ranks.RankSum(each.first, each.second, u)


def _by_rank(
    rule: analysis.Rule,
    strata: Strata,
    test: Callable[[RankStrata, Deviation], tuple[float, float]],
) -> Finding:
    p_value, least = test(ranked(rule, strata), rule.deviation)
    plain = rule if rule.ratio_limit is None else dataclasses.replace(rule, ratio_limit=None)
    together = [each for look in ranked(plain, strata) for each in look]
    low, high = ranks.interval(together)
    cells = flat(strata)
    numbers = analysis.Numbers(
        samples=sum(each.first for each in together),
        reference_samples=sum(each.second for each in together),
        value=median(value for cell in cells for value in cell.judged.values),
        reference=median(value for cell in cells for value in cell.reference.values),
        effect=ranks.superiority(together),
        effect_low=low,
        effect_high=high,
        p_value=p_value,
    )
    return Finding(numbers, least)


# Proportions and rates: by count.

CountStrata = list[list[counts.Pair]]


def paired(strata: Strata) -> CountStrata:
    """Return both counts of every cell."""
    return [
        [counts.Pair(cell.judged.count, cell.reference.count) for cell in cells] for cells in strata
    ]


def _tails_of_counts(rule: analysis.Rule, found: CountStrata) -> tuple[float, float]:
    together = [pair for look in found for pair in look]
    extreme = [_one_sided(rule, pair) for pair in together]
    tails = [_count_tails(rule, each).p_value(rule.deviation) for each in (together, extreme)]
    return tails[0], tails[1]


def _count_tails(rule: analysis.Rule, pairs: Sequence[counts.Pair]) -> ranks.Tails:
    if rule.kind is Kind.PROPORTION and rule.ratio_limit is None:
        return counts.proportion_tails(pairs)
    return counts.rate_tails(pairs, ratio=rule.ratio_limit or 1.0)


def _bets_on_counts(rule: analysis.Rule, found: CountStrata) -> tuple[float, float]:
    extreme = [[_one_sided(rule, pair) for pair in look] for look in found]
    return _count_bets(rule, found).p_value, _count_bets(rule, extreme).p_value


def _count_bets(rule: analysis.Rule, found: CountStrata) -> sequential.Evidence:
    if rule.kind is Kind.PROPORTION and rule.ratio_limit is None:
        return sequential.from_proportions(found, rule.deviation)
    return sequential.from_rates(found, rule.deviation, ratio=rule.ratio_limit or 1.0)


def _one_sided(rule: analysis.Rule, pair: counts.Pair) -> counts.Pair:
    """Return the worst that could have been seen: every request of the new version an error.

    A rate has no greatest number of events; what limits it is how often one has looked.
    """
    first, second = pair.first.exposure, pair.second.exposure
    if rule.deviation is Deviation.LOW:
        return counts.Pair(counts.Count(0, first), counts.Count(second, second))
    return counts.Pair(counts.Count(first, first), counts.Count(0, second))


def _by_count(
    rule: analysis.Rule,
    strata: Strata,
    test: Callable[[analysis.Rule, CountStrata], tuple[float, float]],
) -> Finding:
    found = paired(strata)
    p_value, least = test(rule, found)
    together = [pair for look in found for pair in look]
    first = counts.total([pair.first for pair in together])
    second = counts.total([pair.second for pair in together])
    low, high = counts.ratio_interval(together)
    numbers = analysis.Numbers(
        samples=_samples(rule, first, len(together)),
        reference_samples=_samples(rule, second, len(together)),
        value=first.rate,
        reference=second.rate,
        effect=counts.ratio(together),
        effect_low=low,
        effect_high=high,
        p_value=p_value,
    )
    return Finding(numbers, least)


def _samples(rule: analysis.Rule, count: counts.Count, strata: int) -> int:
    return round(count.exposure) if rule.kind is Kind.PROPORTION else strata


def _against_limit(rule: analysis.Rule, strata: Strata) -> Finding:
    found = [[cell.judged.count for cell in cells] for cells in strata]
    expected = rule.expected or analysis.Range()
    p_value = _limit_p_value(rule, expected, found)
    worst = [[counts.Count(each.exposure, each.exposure) for each in look] for look in found]
    none = [[counts.Count(0, each.exposure) for each in look] for look in found]
    least = min(_limit_p_value(rule, expected, each) for each in (worst, none))
    together = counts.total([each for look in found for each in look])
    numbers = analysis.Numbers(
        samples=_samples(rule, together, sum(map(len, found))),
        value=together.rate,
        p_value=p_value,
    )
    return Finding(numbers, least)


def _limit_p_value(
    rule: analysis.Rule, expected: analysis.Range, found: Sequence[Sequence[counts.Count]]
) -> float:
    p_values = []
    is_proportion = rule.kind is Kind.PROPORTION
    if expected.maximum is not None:
        above = sequential.above_proportion if is_proportion else sequential.above_rate
        p_values.append(above(found, expected.maximum).p_value)
    if expected.minimum is not None:
        below = sequential.below_proportion if is_proportion else sequential.below_rate
        p_values.append(below(found, expected.minimum).p_value)
    # Two questions share the accepted chance of a false alarm.
    return min(1.0, len(p_values) * min(p_values, default=1.0))
