"""How improbable what was seen is for a healthy release: the test, its p-value, its numbers.

Looks are tested together with each cluster of each look as a block of its own. `p_value`
takes them as all there will ever be; `p_value_so_far` may be asked again at every further look.
`power` asks both what worse releases would have shown.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from statistics import fmean as mean
from statistics import median
from typing import TypeVar

from volary.analysis.statistics import counts, dispersion, ranks, sequential, spectra
from volary.analysis.verdicts import samples
from volary.model import analysis
from volary.model.analysis import Deviation, Kind

#: A cell per cluster, in a list per look.
Blocks = Sequence[Sequence[samples.Cell]]

#: From this chance on a metric is taken to wander as slowly as the analysis is long.
_WANDERS = 0.5
#: Superiorities are never as far apart as ratios may be.
_PART_OF_RANKS = 0.25

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
    #: Finds out how looks scatter, beyond what independent events do; not every test asks.
    find_weather: Callable[[], dispersion.Weather] = dispersion.Weather

    @property
    def weather(self) -> dispersion.Weather:
        """How looks scatter, beyond what independent events do."""
        return self.find_weather()


def measured(rule: analysis.Rule, blocks: Blocks) -> Measured:
    """Return what a rule tests; it compares, or counts."""
    if not rule.strategy.compares:
        counted = [[cell.judged.count for cell in cells] for cells in blocks]
        own = _by_target(blocks, counted)
        return Measured(
            counted=counted, find_weather=_once(lambda: [of_counts(rule, each) for each in own])
        )
    if rule.kind is Kind.VALUE:
        rank_sums = ranked(rule, blocks)
        sums = _by_target(blocks, rank_sums)
        return Measured(ranked=rank_sums, find_weather=_once(lambda: list(map(of_ranks, sums))))
    pairs = paired(blocks)
    return Measured(paired=pairs, find_weather=_once(lambda: _of_sides(rule, blocks, pairs)))


def _once(series: Callable[[], Sequence[dispersion.Series]]) -> Callable[[], dispersion.Weather]:
    return functools.cache(lambda: dispersion.weather(series()))


def _of_sides(
    rule: analysis.Rule, blocks: Blocks, pairs: Sequence[Sequence[counts.Pair]]
) -> list[dispersion.Series]:
    compared = [of_pairs(rule, each) for each in _by_target(blocks, pairs)]
    if not rule.strategy.has_control:
        return compared
    thirds = [[cell.control.count for cell in cells] for cells in blocks]
    return [
        _beside(one, _over_the_mean(rule, third))
        for one, third in zip(compared, _by_target(blocks, thirds), strict=True)
    ]


def _beside(series: dispersion.Series, third: Sequence[spectra.Unit]) -> dispersion.Series:
    sides = [
        dataclasses.replace(each, third=unit)
        for each, unit in zip(series.sides, third, strict=True)
    ]
    return dataclasses.replace(series, sides=sides)


def _by_target(blocks: Blocks, items: Sequence[Sequence[_Block]]) -> list[list[_Block]]:
    found: dict[str, list[_Block]] = {}
    for cells, look in zip(blocks, items, strict=True):
        for cell, item in zip(cells, look, strict=True):
            found.setdefault(cell.target, []).append(item)
    return list(found.values())


def of_ranks(blocks: Sequence[ranks.RankSum]) -> dispersion.Series:
    """Return what comparisons by rank on one cluster add up."""
    units = []
    for block in blocks:
        total = block.first + block.second + 1
        variance = block.first * block.second / 12 / total
        units.append(spectra.Unit((block.u - block.mean) / total, variance))
    return dispersion.Series(units, mean(unit.variance for unit in units), part=_PART_OF_RANKS)


def of_pairs(rule: analysis.Rule, pairs: Sequence[counts.Pair]) -> dispersion.Series:
    """Return what the sides of one cluster have above their own means, and their comparison."""
    first = _over_the_mean(rule, [pair.first for pair in pairs])
    second = _over_the_mean(rule, [pair.second for pair in pairs])
    sides = [dispersion.Sides(*both) for both in zip(first, second, strict=True)]
    every = counts.total([side for pair in pairs for side in (pair.first, pair.second)])
    # Without a difference both have the level of all.
    usual = mean(pair.events * pair.chance() * (1 - pair.chance()) for pair in pairs)
    return dispersion.Series(
        [dispersion.difference(each.first, each.second) for each in sides],
        usual * _others(rule, every),
        sides,
    )


def of_counts(rule: analysis.Rule, looks: Sequence[counts.Count]) -> dispersion.Series:
    """Return what one side has above its mean."""
    units = _over_the_mean(rule, looks)
    return dispersion.Series(
        units, mean(unit.variance for unit in units), part=0.5, is_limited=True
    )


def _over_the_mean(rule: analysis.Rule, looks: Sequence[counts.Count]) -> list[spectra.Unit]:
    every = counts.total(looks)
    # Half an event more: none so far does not mean never.
    level = (every.events + 0.5) / every.exposure
    others = _others(rule, every)
    return [
        spectra.Unit(look.events - look.exposure * level, look.exposure * level * others)
        for look in looks
    ]


def _others(rule: analysis.Rule, every: counts.Count) -> float:
    """Return the share of the requests that are no events; events per time know none."""
    if rule.kind is not Kind.PROPORTION:
        return 1.0
    return max(0.5, every.exposure - every.events + 0.5) / (every.exposure + 1)


#: Of what was measured to a p-value.
Test = Callable[[analysis.Rule, Measured], float]


def p_value(rule: analysis.Rule, blocks: Blocks) -> float:
    """Test the looks of a rule that compares, as if there were no others."""
    return both_sides(rule, lambda sided: at_once(sided, measured(sided, blocks)))


def p_value_so_far(rule: analysis.Rule, blocks: Blocks, seen: Measured | None = None) -> float:
    """Test all looks so far, so that the test may be repeated at every further one.

    `seen` is what the rule tests of these blocks, where that is known.
    """

    def test(sided: analysis.Rule) -> float:
        if seen is not None and sided is rule:
            return so_far(sided, seen)
        return so_far(sided, measured(sided, blocks))

    return both_sides(rule, test)


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
        return sequential.from_ranks(seen.ranked, rule.deviation, scale=seen.weather.scale).p_value
    if _has_ratio_of_shares(rule):
        found = sequential.from_proportions(
            seen.paired, rule.deviation, odds=rule.allowed_ratio, scale=seen.weather.scale
        )
    else:
        found = sequential.from_rates(
            seen.paired, rule.deviation, ratio=rule.allowed_ratio, scale=seen.weather.scale
        )
    return found.p_value


def wanders(rule: analysis.Rule, seen: Measured) -> bool:
    """Say whether only weather as slow as the analysis is long speaks for the release.

    Independent events would condemn it.
    """
    if seen.weather.slowness < _WANDERS:
        return False
    calm = dataclasses.replace(seen, find_weather=dispersion.Weather)
    return both_sides(rule, lambda sided: so_far(sided, calm)) <= rule.significance


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
        p_values.append(above(seen.counted, expected.maximum, scale=seen.weather.scale).p_value)
    if expected.minimum is not None:
        below = sequential.below_proportion if is_proportion else sequential.below_rate
        p_values.append(below(seen.counted, expected.minimum, scale=seen.weather.scale).p_value)
    # Two questions share the accepted chance of a false alarm.
    return min(1.0, len(p_values) * min(p_values, default=1.0))


def comparison_numbers(rule: analysis.Rule, blocks: Blocks, p_value: float) -> analysis.Numbers:
    """Return the numbers of both sides; effects are those without the allowed ratio."""
    cells = all_cells(blocks)
    if rule.kind is Kind.VALUE:
        return _rank_numbers(rule, cells, p_value)
    sums = counts.sums(paired([cells])[0])
    first = counts.Count(sums.first_events, sums.first_exposure)
    second = counts.Count(sums.second_events, sums.second_exposure)
    low, high = counts.ratio_interval(sums)
    return analysis.Numbers(
        samples=_samples(rule, first, sums.blocks),
        reference_samples=_samples(rule, second, sums.blocks),
        value=first.rate,
        reference=second.rate,
        effect=counts.ratio(sums),
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
