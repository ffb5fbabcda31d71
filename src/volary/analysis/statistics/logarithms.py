"""Sums of numbers that are only known by their logarithms."""

import math
from collections.abc import Iterable


def total(logarithms: Iterable[float]) -> float:
    """Return the logarithm of the sum; there has to be one that is finite."""
    values = list(logarithms)
    highest = max(values)
    return highest + math.log(math.fsum(math.exp(each - highest) for each in values))


def of_two(one: float, other: float) -> float:
    """Return the logarithm of the sum of two, of which the one that is higher is finite."""
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high))
