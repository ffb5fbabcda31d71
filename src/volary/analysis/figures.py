"""The numbers that stand beside a p-value: levels, sample counts, effect size and its interval."""

import dataclasses
from collections.abc import Sequence
from statistics import median

from volary.analysis import counts, evidence, looks, ranks
from volary.model import analysis
from volary.model.analysis import Kind


def of_comparison(rule: analysis.Rule, strata: evidence.Strata, p_value: float) -> analysis.Numbers:
    """Return the numbers of both sides; effects are those without the allowed ratio."""
    cells = evidence.flat(strata)
    if rule.kind is Kind.VALUE:
        return _by_rank(rule, cells, p_value)
    pairs = evidence.paired([cells])[0]
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


def _by_rank(rule: analysis.Rule, cells: Sequence[looks.Cell], p_value: float) -> analysis.Numbers:
    plain = rule if rule.ratio_limit is None else dataclasses.replace(rule, ratio_limit=None)
    found = evidence.ranked(plain, [cells])[0]
    low, high = ranks.interval(found)
    return analysis.Numbers(
        samples=sum(each.first for each in found),
        reference_samples=sum(each.second for each in found),
        value=median(value for cell in cells for value in cell.judged.values),
        reference=median(value for cell in cells for value in cell.reference.values),
        effect=ranks.superiority(found),
        effect_low=low,
        effect_high=high,
        p_value=p_value,
    )


def of_limit(rule: analysis.Rule, strata: evidence.Strata, p_value: float) -> analysis.Numbers:
    """Return the numbers of a count against its expected range."""
    cells = evidence.flat(strata)
    count = counts.total([cell.judged.count for cell in cells])
    return analysis.Numbers(
        samples=_samples(rule, count, len(cells)), value=count.rate, p_value=p_value
    )


def _samples(rule: analysis.Rule, count: counts.Count, strata: int) -> int:
    return round(count.exposure) if rule.kind is Kind.PROPORTION else strata
