"""What a histogram cannot tell: quantiles within one bucket are guesses. Pure.

The bounds of the bucket that the other side's quantile falls into are asked for once. What is
within them is no difference: so much is allowed at least, whatever the rule says.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from volary.analysis.verdicts import clauses
from volary.model import analysis
from volary.model.analysis import Deviation, Reading, Role

#: Bounds are quantiles themselves, a little inside of them.
_PRECISION = 1e-6


@dataclass(frozen=True, slots=True)
class _Bucket:
    """The bucket of the other side on one cluster."""

    variant: str
    low: float
    high: float
    #: How many times the other side's quantile its far end is.
    ratio: float


def resolved(rule: analysis.Rule, series: Sequence[analysis.Series]) -> analysis.Rule:
    """Return a rule that allows what no bucket of these clusters can tell; others as they are.

    Where any difference counts (`minEffect: 0`), buckets do not change that.
    """
    widest = _widest(rule, series)
    if widest is None:
        return rule
    if rule.ratio_limit is None:
        return replace(rule, minimum_effect=max(rule.minimum_effect, widest.ratio - 1))
    if rule.deviation is Deviation.LOW:
        return replace(rule, ratio_limit=min(rule.ratio_limit, 1 / widest.ratio))
    return replace(rule, ratio_limit=max(rule.ratio_limit, widest.ratio))


def words(rule: analysis.Rule, series: Sequence[analysis.Series]) -> str:
    """Say which bucket decides what a resolved rule allows; empty: none does."""
    widest = _widest(rule, series)
    if widest is None:
        return ""
    allowed = max(rule.allowed_ratio, 1 / rule.allowed_ratio)
    if not math.isclose(allowed, widest.ratio):
        return ""
    low, high = clauses.number(widest.low), clauses.number(widest.high)
    return (
        f"; {widest.variant}'s is in the bucket from {low} to {high}, within which nothing"
        " can be told"
    )


def _widest(rule: analysis.Rule, series: Sequence[analysis.Series]) -> _Bucket | None:
    if not rule.strategy.compares or (rule.ratio_limit is None and rule.minimum_effect == 0):
        return None
    buckets = (bucket for one in series for bucket in _buckets(rule, one))
    return max(buckets, key=lambda bucket: bucket.ratio, default=None)


def _buckets(rule: analysis.Rule, series: analysis.Series) -> Iterator[_Bucket]:
    for measurement in series.measurements:
        if measurement.role is not Role.BUCKET or measurement.reading is not Reading.VALUES:
            continue
        if len(measurement.values) != 2 or not all(map(math.isfinite, measurement.values)):
            continue
        low, high = measurement.values
        within = [
            value
            for other in series.measurements
            if other.role is Role.REFERENCE
            for value in other.values
            if low * (1 - _PRECISION) <= value <= high * (1 + _PRECISION)
        ]
        middle = median(within) if within else 0.0
        # Above the highest bucket both bounds are its own: nothing is between them.
        if middle <= 0 or high - low <= _PRECISION * high:
            continue
        above = high / middle
        below = middle / low if low > _PRECISION * high else 1.0
        ratios = {Deviation.HIGH: above, Deviation.LOW: below}
        yield _Bucket(measurement.variant, low, high, ratios.get(rule.deviation, max(above, below)))
