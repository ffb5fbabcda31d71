"""Traffic that is made up: what a rule would measure on a release, drawn with a seed.

Counts are binomial, with more variance and memory than that where it is asked for: the share of
errors of each side goes up and down around its mean. Values are latencies (lognormal) or their
quantiles, or any quantity that scatters.
"""

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import NormalDist

from volary.model import analysis
from volary.model.analysis import Deviation, Kind, Role, Strategy

_START = datetime(2026, 1, 1, tzinfo=UTC)
_NORMAL = NormalDist()
#: Mean events from which counts are drawn from the normal distribution.
_NORMAL_FROM = 50.0
_QUANTILE = re.compile(r"histogram_quantile\(\s*(0?\.\d+|1)")
SUCCESS, _DURATION = "request-success-rate", "request-duration"
_BUILT_IN_QUANTILE = 0.99
#: Between two values of a time before.
_STEP = timedelta(minutes=1)
_VARIANTS = {Role.JUDGED: "canary", Role.REFERENCE: "baseline", Role.CONTROL: "primary"}
_LARGEST = 0.999999


@dataclass(frozen=True, slots=True)
class Traffic:
    """Of one cluster."""

    #: Requests per second.
    canary: float
    other: float
    #: Share of the requests that fail anyway.
    errors: float = 0.01
    #: Relative scatter of latencies, and of values that are none.
    scatter: float = 0.5
    #: Of two requests of a look that much of the variance is common (intraclass correlation).
    overdispersion: float = 0.0
    #: Of neighbouring looks.
    autocorrelation: float = 0.0
    #: How many times as many errors, or as much latency, pods have that are new: canary's and
    #: baseline's, whatever they run.
    newness: float = 1.0


def release(
    rule: analysis.Rule,
    traffic: Traffic,
    duration: timedelta,
    *,
    generator: random.Random,
    effect: float = 1.0,
    target: str = "cluster",
) -> analysis.Series:
    """Return what a rule measures on a cluster of a release.

    `effect` is how many times as many errors, or as much latency, the new version has.
    """
    looks = rule_looks(rule, duration)
    sides = [(Role.JUDGED, traffic.canary, effect * traffic.newness)]
    if rule.strategy.compares:
        # A baseline beside primary is as small as canary.
        rate = traffic.canary if rule.strategy.has_control else traffic.other
        is_baseline = rule.strategy is Strategy.CANARY_BASELINE or rule.strategy.has_control
        sides.append((Role.REFERENCE, rate, traffic.newness if is_baseline else 1.0))
    if rule.strategy.has_control:
        sides.append((Role.CONTROL, traffic.other, 1.0))
    waves = {role: _wave(traffic, generator) for role, _, _ in sides}
    measurements = []
    for number in range(1, looks + 1):
        for role, rate, times in sides:
            requests = _poisson(generator, rate * rule.interval.total_seconds())
            share = min(1.0, traffic.errors * times * next(waves[role]))
            measurements.append(
                _measured(rule, traffic, generator, requests, share, times, role, number, target)
            )
    if rule.history is not None:
        measurements += _before(rule, rule.history, traffic, generator, target)
    ends = _START + looks * rule.interval
    return analysis.Series(_START, ends, ends + duration, target, tuple(measurements))


def _before(
    rule: analysis.Rule,
    history: analysis.History,
    traffic: Traffic,
    generator: random.Random,
    target: str,
) -> list[analysis.Measurement]:
    """Return what was measured of the times before, at the first look."""
    is_value = rule.kind is Kind.VALUE
    answers = max(1, int(history.window / _STEP)) if is_value else 1
    length = rule.interval if is_value else history.window
    wave = _wave(traffic, generator)
    found = []
    for number in range(1, history.count + 1):
        values: list[float] = []
        totals: list[float] = []
        for _ in range(answers):
            requests = _poisson(generator, traffic.other * length.total_seconds())
            share = min(1.0, traffic.errors * next(wave))
            answer = _answer(rule, traffic, generator, requests, share, 1.0)
            values += answer[0]
            totals += answer[1]
        found.append(
            analysis.Measurement(
                rule.name,
                rule.query,
                _START + rule.interval,
                target=target,
                variant=f"{number} before",
                role=Role.HISTORY,
                values=tuple(values),
                totals=tuple(totals),
                reading=analysis.Reading.VALUES if values else analysis.Reading.NO_DATA,
            )
        )
    return found


def rule_looks(rule: analysis.Rule, duration: timedelta) -> int:
    """Return how many looks there are in that time; one at least."""
    length = duration if rule.length is None else min(duration, rule.length)
    return max(1, int(length / rule.interval))


def _measured(
    rule: analysis.Rule,
    traffic: Traffic,
    generator: random.Random,
    requests: int,
    share: float,
    times: float,
    role: Role,
    number: int,
    target: str,
) -> analysis.Measurement:
    values, totals = _answer(rule, traffic, generator, requests, share, times)
    return analysis.Measurement(
        rule.name,
        rule.query,
        _START + number * rule.interval,
        target=target,
        variant=_VARIANTS[role],
        role=role,
        values=values,
        totals=totals,
        reading=analysis.Reading.VALUES if values else analysis.Reading.NO_DATA,
    )


def _answer(
    rule: analysis.Rule,
    traffic: Traffic,
    generator: random.Random,
    requests: int,
    share: float,
    times: float,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    errors = float(_binomial(generator, requests, share))
    if rule.kind is Kind.PROPORTION:
        is_good = rule.strategy.compares and rule.deviation is Deviation.LOW
        return (requests - errors if is_good else errors,), (float(requests),)
    if rule.kind is Kind.RATE:
        return (errors,), ()
    if not requests:
        return (), ()
    if rule.built_in == SUCCESS:
        return (100 * (1 - errors / requests),), ()
    deviation = math.sqrt(math.log1p(traffic.scatter**2))
    found = _QUANTILE.search(rule.query)
    if not found and rule.built_in != _DURATION:
        return (times * math.exp(deviation * generator.gauss(0, 1)),), ()
    quantile = float(found[1]) if found else _BUILT_IN_QUANTILE
    # The k-th of n latencies: its share of the distribution is drawn, not all of them.
    at = max(1, math.ceil(quantile * requests))
    reached = min(_LARGEST, generator.betavariate(at, requests - at + 1))
    return (times * math.exp(deviation * _NORMAL.inv_cdf(max(1 - _LARGEST, reached))),), ()


def _wave(traffic: Traffic, generator: random.Random) -> Iterator[float]:
    """Yield how many times its mean a side's share of errors is, look after look."""
    odds_against = (1 - traffic.errors) / traffic.errors if traffic.errors else 0.0
    deviation = math.sqrt(math.log1p(traffic.overdispersion * odds_against))
    memory = traffic.autocorrelation
    state = generator.gauss(0, 1)
    while True:
        yield math.exp(deviation * state - deviation**2 / 2)
        state = memory * state + math.sqrt(1 - memory**2) * generator.gauss(0, 1)


def _poisson(generator: random.Random, mean: float) -> int:
    if mean > _NORMAL_FROM:
        return max(0, round(generator.gauss(mean, math.sqrt(mean))))
    limit, number, product = math.exp(-mean), 0, generator.random()
    while product > limit:
        number += 1
        product *= generator.random()
    return number


def _binomial(generator: random.Random, trials: int, share: float) -> int:
    """Draw hits: exactly where they are few, on either side."""
    if share > 0.5:
        return trials - _binomial(generator, trials, 1 - share)
    mean = trials * share
    if mean > _NORMAL_FROM:
        drawn = round(generator.gauss(mean, math.sqrt(mean * (1 - share))))
        return min(trials, max(0, drawn))
    if share <= 0:
        return 0
    # From hit to hit.
    hits, at, step = 0, 0, math.log1p(-share)
    while True:
        at += int(math.log(1 - generator.random()) / step) + 1
        if at > trials:
            return hits
        hits += 1
