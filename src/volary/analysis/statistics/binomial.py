"""Binomial chances and tails at any size, without a library for numbers."""

import math

_TINY = 1e-300
_PRECISION = 1e-14
_TERMS = 10_000
_HALVINGS = 60


def log_choose(total: int, drawn: int) -> float:
    """Return the logarithm of the number of ways to draw `drawn` of `total`."""
    return math.lgamma(total + 1) - math.lgamma(drawn + 1) - math.lgamma(total - drawn + 1)


def chance(number: int, trials: int, share: float) -> float:
    """Return the chance of `number` hits in `trials` of chance `share`."""
    if share <= 0 or share >= 1:
        return float(number == (0 if share <= 0 else trials))
    logarithm = log_choose(trials, number)
    logarithm += number * math.log(share) + (trials - number) * math.log1p(-share)
    return math.exp(logarithm)


def at_least(number: int, trials: int, share: float) -> float:
    """Return the chance of `number` hits or more."""
    if number <= 0:
        return 1.0
    if number > trials:
        return 0.0
    return _incomplete_beta(number, trials - number + 1, share)


def quantile(trials: int, share: float, chance_above: float) -> int:
    """Return the most hits that are reached, or exceeded, with the chance `chance_above`."""
    low, high = 0, trials + 1
    while high - low > 1:
        middle = (low + high) // 2
        if at_least(middle, trials, share) >= chance_above:
            low = middle
        else:
            high = middle
    return low


def share_below(number: int, trials: int, chance_above: float) -> float:
    """Return the share at which `number` hits or more have the chance `chance_above`."""
    if number == trials:
        return float(chance_above ** (1 / trials))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if at_least(number, trials, middle) < chance_above:
            low = middle
        else:
            high = middle
    return low


def _incomplete_beta(first: float, second: float, at: float) -> float:
    """Return the regularised incomplete beta function (continued fraction, Lentz)."""
    if at <= 0 or at >= 1:
        return float(at >= 1)
    front = math.exp(
        math.lgamma(first + second)
        - math.lgamma(first)
        - math.lgamma(second)
        + first * math.log(at)
        + second * math.log1p(-at)
    )
    if at < (first + 1) / (first + second + 2):
        return min(1.0, front * _fraction(first, second, at) / first)
    return max(0.0, 1 - front * _fraction(second, first, 1 - at) / second)


def _fraction(first: float, second: float, at: float) -> float:
    above, below = 1.0, _away(1 - (first + second) * at / (first + 1))
    below = 1 / below
    value = below
    for term in range(1, _TERMS):
        even = term * (second - term) * at / ((first + 2 * term - 1) * (first + 2 * term))
        below, above = 1 / _away(1 + even * below), _away(1 + even / above)
        value *= below * above
        odd = -(first + term) * (first + second + term) * at
        odd /= (first + 2 * term) * (first + 2 * term + 1)
        below, above = 1 / _away(1 + odd * below), _away(1 + odd / above)
        value *= below * above
        if abs(below * above - 1) < _PRECISION:
            return value
    return value


def _away(value: float) -> float:
    """Keep a denominator away from zero."""
    return value if abs(value) > _TINY else _TINY
