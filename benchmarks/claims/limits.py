"""Claims about where the promise ends: habits of measuring, and several rules."""

import functools
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

from benchmarks.claims import files, releases, weather
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import ERRORS, LATENCY, MINUTE, VALUES, count
from volary.analysis.planning import traffic
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, History, Judgement, Result, Role, Strategy


def _drawn_in_bursts(generator: random.Random) -> analysis.Series:
    """Return a healthy release with 10 requests a second, each of which is made five times."""
    release = traffic.release(ERRORS, traffic.Traffic(2, 2), releases.TWENTY, generator=generator)
    return releases.in_bursts(release, 5)


def _believed() -> float:
    """Return how many such releases fail a test that takes every request for one of its own."""
    generator, failed, runs = random.Random(7), 0, 200
    for _ in range(runs):
        failed += weather.believed_fails(_drawn_in_bursts(generator))
    return releases.share(failed, runs)


def _slowest_of_few() -> float:
    """Return the median of the 99th percentile of six requests, by that of six hundred."""
    generator = random.Random(1)
    medians = []
    for requests in (6, 600):
        made = traffic.Traffic(requests / 60, requests / 60)
        release = traffic.release(LATENCY, made, 1_000 * MINUTE, generator=generator)
        found = [one.values[0] for one in release.measurements if one.values]
        medians.append(median(found))
    return medians[0] / medians[1]


#: A rule and the upper bound, and the middle, of the other side's bucket.
_BUCKET = (Role.BUCKET, releases.values(250.0, 500.0))


def _in_bucket(canary: float, rule: analysis.Rule = VALUES) -> analysis.Verdict:
    """Judge a canary with these latencies beside 300 ms, of the bucket from 250 to 500."""
    looks = [
        {Role.JUDGED: releases.values(*[canary] * 5), Role.REFERENCE: releases.values(*[300.0] * 5)}
    ] * 20
    return releases.judged(rule, releases.series(looks, once=[_BUCKET]))


def _condemned_within() -> float:
    return sum(_in_bucket(each).result is Result.FAIL for each in (310.0, 400.0, 450.0, 499.0))


def _says_so() -> float:
    wanted = "baseline's is in the bucket from 250 to 500, within which nothing can be told"
    return releases.share(wanted in _in_bucket(450.0).sentence, 1)


def _fails_above(canary: float, rule: analysis.Rule = VALUES) -> float:
    return releases.share(_in_bucket(canary, rule).result is Result.FAIL, 1)


def _widest_of_clusters() -> float:
    """Count clusters that fail at 450 ms, of two of which the other has a narrow bucket."""
    rule = replace(VALUES, decider=Decider.POOLED)
    fleet = {}
    for name, bucket in (("wide", (250.0, 500.0)), ("narrow", (295.0, 305.0))):
        look = {
            Role.JUDGED: releases.values(*[450.0] * 5),
            Role.REFERENCE: releases.values(*[300.0] * 5),
        }
        once = [(Role.BUCKET, releases.values(*bucket))]
        fleet[name] = releases.series([look] * 20, once=once, target=name)
    found = releases.fleet_judged(rule, fleet).decided
    return sum(one.result is Result.FAIL for one in found.values())


def _warned_of_quantiles() -> float:
    """Count ways to compare a quantile with primary that are warned of."""
    warned = 0
    for strategy in ("CANARY_PRIMARY", "CANARY_BASELINE_PRIMARY"):
        named = {"provider": "prom", "interval": "1m", "name": "request-duration"}
        loaded = files.read([{**named, "strategy": strategy}])
        warned += any("the quantile of few requests" in one.message for one in loaded.problems)
    return warned


PIPECD = replace(VALUES, judgement=Judgement.EACH, deviation=Deviation.EITHER, minimum_effect=0)


def _meet_one(looks: int, releases_drawn: int) -> float:
    """Return how many healthy releases fail one of four metrics, each at its own 5 %."""
    generator, met = random.Random(8), 0
    for _ in range(releases_drawn):
        failed = []
        for _ in range(4):
            sides = [
                tuple(releases.values(*(generator.random() for _ in range(20))) for _ in range(2))
                for _ in range(looks)
            ]
            release = releases.beside([(one, other) for one, other in sides])
            failed.append(releases.judged(PIPECD, release).result is Result.FAIL)
        met += any(failed)
    return releases.share(met, releases_drawn)


def _level_in_file(metric: Mapping[str, str], *, is_pipecd: bool) -> float:
    loaded = files.read([metric] * 4, is_pipecd=is_pipecd)
    return 100 * files.rules(loaded)[0].significance


HISTORY = replace(
    ERRORS, strategy=Strategy.THRESHOLD, history=History(count=4, tolerance=0.2), minimum_effect=0
)


def _another_week(looks: int) -> float:
    """Return how many healthy releases fail in a week with half more errors than usual."""
    generator, failed, runs = random.Random(9), 0, 20
    for _ in range(runs):
        made = traffic.Traffic(50, 50)
        release = traffic.release(HISTORY, made, looks * MINUTE, generator=generator, effect=1.5)
        failed += releases.judged(HISTORY, release).result is Result.FAIL
    return releases.share(failed, runs)


def _sum_of_fractions() -> float:
    """Return how many errors a rule sees of twenty looks of 0.4 each."""
    release = releases.beside([(count(0.4, 100), count(0.4, 100))] * 20)
    numbers = releases.judged(ERRORS, release).numbers
    return (numbers.value or math.nan) * numbers.samples


_PIPECD = (
    "in PipeCD's each has its own 5 %, so with four of them up to 20 % of healthy releases meet one"
)
_BY_THEMSELVES = "where looks are judged by themselves up to 20 % at every look"
_COMPARED = {**files.COUNTED, "strategy": "CANARY_BASELINE"}
_ANY = {**files.METRIC, "strategy": "CANARY_BASELINE"}
CLAIMS = (
    Claim(
        "of healthy releases whose requests are all made five times fewer than 10 % fail",
        "10/s on each side, 200 releases",
        at_most(10, "% fail"),
        releases.failed_of(ERRORS, _drawn_in_bursts, seed=7, runs=200),
    ),
    Claim(
        "and 14 % would without it",
        "the same releases, by a test that takes every request for one of its own",
        exactly(14, "% fail", tolerance=4),
        _believed,
    ),
    Claim(
        "Its median is lower than that of six hundred",
        "99th percentiles of 1,000 looks",
        at_most(0.99, "times"),
        _slowest_of_few,
        is_quick=True,
    ),
    Claim(
        "`volary lint` warns of quantiles against primary",
        "`request-duration` beside primary, and beside both",
        exactly(2, "of 2"),
        _warned_of_quantiles,
        is_quick=True,
    ),
    Claim(
        "What stays below the upper bound then is no difference",
        "310, 400, 450 and 499 ms beside 300, five values a look",
        exactly(0, "fail"),
        _condemned_within,
        is_quick=True,
    ),
    Claim(
        "the sentence says `baseline's is in the bucket from 250 to 500, within which nothing can"
        " be told`",
        "450 ms beside 300",
        exactly(100, "% say so"),
        _says_so,
        is_quick=True,
    ),
    Claim(
        "A canary above it is condemned as ever.",
        "510 ms beside 300",
        exactly(100, "% fail"),
        functools.partial(_fails_above, 510.0),
        is_quick=True,
    ),
    Claim(
        "Of several clusters the widest bucket counts.",
        "450 ms beside 300; buckets from 250 to 500, and from 295 to 305",
        exactly(0, "fail"),
        _widest_of_clusters,
        is_quick=True,
    ),
    Claim(
        "Nothing is widened with `minEffect: 0`",
        "310 ms beside 300",
        exactly(100, "% fail"),
        functools.partial(_fails_above, 310.0, replace(VALUES, minimum_effect=0)),
        is_quick=True,
    ),
    Claim(
        "In Volary's files they share 5 % where they say nothing else",
        "four metrics of a file",
        exactly(1.25, "%"),
        functools.partial(_level_in_file, _COMPARED, is_pipecd=False),
        is_quick=True,
    ),
    Claim(
        _PIPECD,
        "what each of four metrics has",
        exactly(5, "%"),
        functools.partial(_level_in_file, _ANY, is_pipecd=True),
        is_quick=True,
    ),
    Claim(
        _PIPECD,
        "one look of twenty values a side, 500 releases",
        at_most(20, "% fail"),
        functools.partial(_meet_one, 1, 500),
        is_quick=True,
    ),
    Claim(
        _BY_THEMSELVES,
        "the same with ten looks, 100 releases",
        at_least(50, "% fail"),
        functools.partial(_meet_one, 10, 100),
    ),
    *(
        Claim(
            "No count of looks makes up for a tolerance that is less than weeks differ.",
            f"half more errors than usual, a fifth is tolerated, {looks} looks, 20 releases",
            at_least(90, "% fail"),
            functools.partial(_another_week, looks),
        )
        for looks in (20, 60)
    ),
    Claim(
        "`sequential` adds them up as they are, so the sum over all looks loses nothing",
        "twenty looks of 0.4 errors",
        exactly(8, "errors"),
        _sum_of_fractions,
        is_quick=True,
    ),
)
