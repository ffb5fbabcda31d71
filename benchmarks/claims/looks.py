"""Claims about looks: what cancels out within them, and how they become a decision."""

import functools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.claims import releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import ERRORS, EVEN, LATENCY, LIMIT, MINUTE, RATE, VALUES
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import ranks
from volary.model import analysis
from volary.model.analysis import Decider, FailureCount, Result

DAY = 48
HALF_AN_HOUR = 30 * MINUTE


def day(rule: analysis.Rule, generator: random.Random) -> analysis.Series:
    """Return a healthy release of a day: at noon ten times the traffic, at night the errors."""
    parts = []
    for at in range(DAY):
        noon = (1 - math.cos(2 * math.pi * at / DAY)) / 2
        rate = 0.1 + 0.9 * noon
        parts.append(traffic.Traffic(rate, 9 * rate, errors=0.05 - 0.045 * noon))
    return releases.changing(rule, parts, length=HALF_AN_HOUR, generator=generator)


def _of_day(rule: analysis.Rule, runs: int) -> Callable[[], float]:
    slow = replace(rule, interval=HALF_AN_HOUR)
    return releases.failed_of(slow, lambda generator: day(slow, generator), seed=1, runs=runs)


def _drift_of_latency(generator: random.Random) -> analysis.Series:
    """Return a healthy release during which both sides get five times slower, step by step."""
    looks = []
    for at in range(20):
        level = 1 + at / 5
        drawn = [tuple(level * math.exp(generator.gauss(0, 0.5)) for _ in range(5)) for _ in "12"]
        looks.append((releases.values(*drawn[0]), releases.values(*drawn[1])))
    return releases.beside(looks)


def _regions(generator: random.Random) -> rule_plans.Fleet:
    """Return a healthy fleet whose canary runs mostly in the region that is three times slower."""
    fleet = {}
    for name, level, canary, other in (("fast", 1.0, 2, 8), ("slow", 3.0, 8, 2)):
        looks = [
            tuple(
                releases.values(*(level * math.exp(generator.gauss(0, 0.3)) for _ in range(size)))
                for size in (canary, other)
            )
            for _ in range(10)
        ]
        fleet[name] = releases.beside([(one, two) for one, two in looks], target=name)
    return fleet


def _fleets(runs: int) -> Iterator[rule_plans.Fleet]:
    generator = random.Random(1)
    return (_regions(generator) for _ in range(runs))


def _condemned_by_pool() -> float:
    rule = replace(VALUES, decider=Decider.POOLED)
    return 100 * rule_plans.outcome(rule, _fleets(60)).failed


def _condemned_mixed() -> float:
    """Return how many are condemned where the numbers of both regions are one sample a side."""
    condemned, runs = 0, 60
    for fleet in _fleets(runs):
        sides: dict[analysis.Role, list[float]] = {}
        for release in fleet.values():
            for measured in release.measurements:
                sides.setdefault(measured.role, []).extend(measured.values)
        mixed = ranks.rank_sum(sides[analysis.Role.JUDGED], sides[analysis.Role.REFERENCE])
        condemned += ranks.tails([mixed]).greater <= VALUES.significance
    return releases.share(condemned, runs)


def _apart_when_scaled() -> float:
    """Return how far p-values are apart where every look has a level of its own, and without."""
    generator, worst = random.Random(3), 0.0
    for _ in range(20):
        plain, scaled = [], []
        for _ in range(15):
            level = math.exp(generator.gauss(0, 2))
            sides = [[math.exp(generator.gauss(0, 1)) for _ in range(4)] for _ in range(2)]
            plain.append((releases.values(*sides[0]), releases.values(*sides[1])))
            high = [[level * value for value in side] for side in sides]
            scaled.append((releases.values(*high[0]), releases.values(*high[1])))
        found = [releases.judged(VALUES, releases.beside(each)) for each in (plain, scaled)]
        worst = max(worst, abs((found[0].numbers.p_value or 0) - (found[1].numbers.p_value or 0)))
    return round(worst, 9)


def _every_other_look(count: FailureCount) -> analysis.Verdict:
    rule = replace(releases.RANGE, failure_limit=2, failure_count=count)
    return releases.judged(rule, releases.alone([releases.BAD, releases.GOOD] * 10))


_ALTERNATING = releases.alone([releases.BAD, releases.GOOD] * 10)
_KEEPS = "keeps the chance of a false alarm below `significance` *for the whole analysis*"
_CANCELS = "touches both sides of its block alike and cancels out"


def _kept(
    where: str,
    rule: analysis.Rule,
    made: traffic.Traffic,
    minutes: int = 20,
    *,
    runs: int = 100,
) -> Claim:
    duration = minutes * MINUTE
    measure = releases.failed(rule, made, duration=duration, runs=runs)
    return Claim(_KEEPS, where, at_most(5, "% fail"), measure)


CLAIMS = (
    Claim(
        "the sides are only ever compared within it, and only the differences are added up",
        "each look at a level of its own, and without: how far the p-values of latency are apart",
        exactly(0),
        _apart_when_scaled,
        is_quick=True,
    ),
    Claim(
        _CANCELS,
        "errors over a day: ten times the traffic at noon, ten times the errors at night, 40"
        " releases",
        at_most(5, "% fail"),
        _of_day(ERRORS, 40),
    ),
    Claim(
        _CANCELS,
        "latency, five values a side, five times slower within the twenty looks",
        at_most(5, "% fail"),
        releases.failed_of(VALUES, _drift_of_latency, seed=2, runs=100),
    ),
    Claim(
        _CANCELS,
        "canary mostly in the region that is three times slower, `pooled`, ten looks, 60 releases",
        at_most(5, "% fail"),
        _condemned_by_pool,
    ),
    Claim(
        "Mixing all numbers instead is how a canary that runs mostly in a slow region gets"
        " condemned for the region",
        "the same releases, mixed",
        at_least(50, "% fail"),
        _condemned_mixed,
        is_quick=True,
    ),
    Claim(
        "more failed ones than `failureLimit`, counted over the whole analysis (`cumulative`)",
        "every other look is bad, two may be: the look that fails it",
        exactly(5, "looks"),
        functools.partial(
            releases.failing_look,
            replace(releases.RANGE, failure_limit=2),
            _ALTERNATING,
            20,
        ),
        is_quick=True,
    ),
    Claim(
        "or in a row (`consecutive`), and the rule fails",
        "the same looks, of which no two bad ones are in a row",
        exactly(100, "% pass"),
        lambda: releases.share(
            _every_other_look(FailureCount.CONSECUTIVE).result is Result.PASS, 1
        ),
        is_quick=True,
    ),
    _kept("errors, 10/s on each side", ERRORS, EVEN),
    _kept("errors, 1:99 of 100/s", ERRORS, traffic.Traffic(1, 99)),
    _kept("errors, 1:99 of 1,000/s", ERRORS, traffic.Traffic(10, 990)),
    _kept("errors, 1,000/s on each side", ERRORS, traffic.Traffic(1_000, 1_000)),
    _kept(
        "errors, one request a minute on each side, an hour",
        ERRORS,
        traffic.Traffic(1 / 60, 1 / 60),
        60,
        runs=40,
    ),
    _kept(
        "errors, one request a minute beside 99, 10 % of which fail, an hour",
        ERRORS,
        traffic.Traffic(1 / 60, 99 / 60, errors=0.1),
        60,
        runs=40,
    ),
    _kept(
        "errors, 1,000/s on each side, `minEffect: 0`",
        replace(ERRORS, minimum_effect=0),
        traffic.Traffic(1_000, 1_000),
    ),
    _kept(
        "latency that scatters by a hundred times its mean, `minEffect: 0`",
        replace(LATENCY, minimum_effect=0),
        replace(EVEN, scatter=100.0),
    ),
    _kept("events a second, 10/s on each side", RATE, EVEN),
    _kept("p99 of latency, 10/s on each side", LATENCY, EVEN),
    _kept("p99 of latency, 1/s beside 99/s", LATENCY, traffic.Traffic(1, 99)),
    _kept(
        "latency, one request a minute on each side, an hour",
        LATENCY,
        traffic.Traffic(1 / 60, 1 / 60),
        60,
        runs=40,
    ),
    _kept("errors below 1 %, truly 0.9 %, 10/s", LIMIT, traffic.Traffic(10, 0, errors=0.009)),
    _kept("errors below 1 %, truly 1 %, 1/s", LIMIT, traffic.Traffic(1, 0)),
)
