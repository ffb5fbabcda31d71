"""Claims about many clusters: who decides, who is bad, and who shares the chance."""

import functools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from benchmarks.claims import files, releases
from benchmarks.claims.claim import Claim, at_least, at_most, exactly
from benchmarks.claims.releases import ERRORS, EVEN, LIMIT, MINUTE, RANGE, count, counted
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.verdicts import fleet_verdicts, samples
from volary.model import analysis
from volary.model.analysis import Decider, Range, Result

BOTH = replace(ERRORS, decider=Decider.BOTH)
POOLED = replace(ERRORS, decider=Decider.POOLED)
TEN = 10 * MINUTE
#: Of each cluster its traffic, and how many times the errors canary has there.
Regions = Mapping[str, tuple[traffic.Traffic, float]]


def drawn(regions: Regions, generator: random.Random, *, minutes: int = 10) -> rule_plans.Fleet:
    return {
        name: traffic.release(
            ERRORS, made, minutes * MINUTE, generator=generator, effect=effect, target=name
        )
        for name, (made, effect) in regions.items()
    }


def _fleets(regions: Regions, runs: int) -> Iterator[rule_plans.Fleet]:
    generator = random.Random(1)
    return (drawn(regions, generator) for _ in range(runs))


def _at_any_look(fleet: rule_plans.Fleet, rule: analysis.Rule = BOTH) -> dict[str, bool]:
    """Return which clusters fail, followed until there is one of them."""
    for look in range(1, 11):
        found = releases.fleet_judged(rule, fleet, look).decided
        failed = {name: one.result is Result.FAIL for name, one in found.items()}
        if any(failed.values()):
            return failed
    return dict.fromkeys(fleet, False)


def _plain(rate: float, errors: float = 0.01) -> traffic.Traffic:
    return traffic.Traffic(rate, 9 * rate, errors=errors)


NEVER = 1e-5
_SILENT = ("nothing fails in the others", "the biggest, and nothing fails in the others")
#: One bad region: an ordinary one, the biggest one, one beside which nothing fails.
ONE_BAD: Mapping[str, Regions] = {
    "of three that are alike": {
        "bad": (_plain(3), 5.0),
        "us": (_plain(3), 1.0),
        "ap": (_plain(3), 1.0),
    },
    "the biggest, with nine of ten requests": {
        "bad": (_plain(9), 5.0),
        "us": (_plain(0.5), 1.0),
        "ap": (_plain(0.5), 1.0),
    },
    _SILENT[0]: {
        "bad": (_plain(3), 10.0),
        "us": (_plain(3, NEVER), 1.0),
        "ap": (_plain(3, NEVER), 1.0),
    },
    _SILENT[1]: {
        "bad": (_plain(9), 10.0),
        "us": (_plain(0.5, NEVER), 1.0),
        "ap": (_plain(0.5, NEVER), 1.0),
    },
}
RUNS = 25
_CASES = 100


@functools.cache
def _rolled_back(case: str) -> tuple[float, float]:
    """Return of how many percent of the fleets the bad region fails, and any other with it."""
    bad = others = 0
    for fleet in _fleets(ONE_BAD[case], _CASES):
        failed = _at_any_look(fleet)
        bad += failed.pop("bad")
        others += any(failed.values())
    return releases.share(bad, _CASES), releases.share(others, _CASES)


def _failing_region(case: str) -> float:
    return _rolled_back(case)[0]


def _failing_others(case: str) -> float:
    return _rolled_back(case)[1]


def _everywhere() -> float:
    """Return how many percent of fleets that are bad everywhere fail everywhere in the end."""
    regions = {name: (_plain(3), 5.0) for name in ("eu", "us", "sa")} | {"ap": (_plain(0.02), 5.0)}
    failed = 0
    for fleet in _fleets(regions, RUNS):
        found = releases.fleet_judged(BOTH, fleet).decided
        failed += all(one.result is Result.FAIL for one in found.values())
    return releases.share(failed, RUNS)


def _beside_silence(effect: float, result: Result) -> float:
    """Return how many fleets come to a result everywhere, of which one cluster is silent."""
    regions = {name: (_plain(3), effect) for name in ("eu", "us")} | {"ap": (_plain(0), effect)}
    hits = 0
    for fleet in _fleets(regions, RUNS):
        found = releases.fleet_judged(BOTH, fleet).decided
        hits += all(one.result is result for one in found.values())
    return releases.share(hits, RUNS)


def _rate_of_pool() -> float:
    """Return the rate over a cluster with 10 errors of 1,000 and one with 90 of 9,000·10."""
    rule = replace(LIMIT, decider=Decider.POOLED)
    fleet = {
        "small": releases.alone([count(10, 100)] * 10, target="small"),
        "large": releases.alone([count(0, 900)] * 10, target="large"),
    }
    return 100 * (releases.fleet_judged(rule, fleet).pooled.numbers.value or math.nan)


def _of_medians() -> tuple[analysis.Rule, rule_plans.Fleet]:
    answers_by_name = {"eu": (1.0,), "us": (2.0,), "ap": (9.0,) * 30}
    fleet = {
        name: releases.alone([releases.values(*found)] * 10, target=name)
        for name, found in answers_by_name.items()
    }
    return replace(RANGE, decider=Decider.POOLED), fleet


def _least_limit_of_values() -> float:
    """Return the least limit that a fleet passes whose clusters' medians are 1, 2 and 9."""
    rule, fleet = _of_medians()

    def passes(limit: int) -> bool:
        limited = replace(rule, expected=Range(maximum=limit))
        return releases.fleet_judged(limited, fleet).pooled.result is Result.PASS

    return releases.first(range(1, 11), passes)


def _value_that_is_shown() -> float:
    rule, fleet = _of_medians()
    limited = replace(rule, expected=Range(maximum=5))
    found = releases.fleet_judged(limited, fleet).pooled
    value = found.sentence.partition("the last good one: ")[2].partition(" is within")[0]
    return float(value)


def _named_of_alike(runs: int = 150) -> float:
    """Return how many percent of healthy fleets of ten have an outlier at the end."""
    regions = {f"c{number}": (_plain(1), 1.0) for number in range(10)}
    named = 0
    for fleet in _fleets(regions, runs):
        seen = {name: samples.at_cluster(ERRORS, one) for name, one in fleet.items()}
        named += bool(fleet_verdicts.find_outliers(ERRORS, seen, fleet["c0"].ends))
    return releases.share(named, runs)


def _named(regions: Mapping[str, tuple[float, float]], rule: analysis.Rule = POOLED) -> list[str]:
    """Return the outliers of a fleet with these shares of errors on canary and beside it."""
    fleet = {
        name: counted((canary * 300, 300), (other * 2_700, 2_700), looks=10, target=name)
        for name, (canary, other) in regions.items()
    }
    return list(releases.fleet_judged(rule, fleet).pooled.outliers)


def _named_by_level() -> float:
    """Count outliers where clusters differ in level, and in nothing else."""
    levels = (0.0, 0.01, 0.03, 0.3)
    return len(_named({f"c{at}": (level, level) for at, level in enumerate(levels)}))


def _is_named_alone(regions: Mapping[str, tuple[float, float]]) -> float:
    return releases.share(_named(regions) == ["bad"], 1)


def _requests_of_pool() -> float:
    """Return how many requests on canary are pooled, of 3,000 on each of three clusters.

    One of them is condemned by its own data, and differs from the others.
    """
    fleet = {
        name: counted((share * 300, 300), (27, 2_700), looks=10, target=name)
        for name, share in (("bad", 0.1), ("us", 0.01), ("ap", 0.01))
    }
    return releases.fleet_judged(BOTH, fleet).pooled.numbers.samples


def _said_to_fail_alone() -> float:
    """Say whether the pooled sentence names one that fails alone: its own data are not enough."""
    regions = {"eu": (300, 0.031, 0.02), **{f"calm-{at}": (60, 0.0, 0.0) for at in range(9)}}
    fleet = {
        name: counted((canary * size, size), (other * 9 * size, 9 * size), looks=10, target=name)
        for name, (size, canary, other) in regions.items()
    }
    rule = replace(BOTH, minimum_effect=0)
    found = releases.fleet_judged(rule, fleet)
    failed = [name for name, one in found.decided.items() if one.result is Result.FAIL]
    is_said = found.pooled.sentence.endswith("; without eu, which fails alone")
    return releases.share(failed == ["eu"] and is_said, 1)


def _failing_beside_outlier() -> float:
    """Count clusters that fail by a pool that passes with an outlier in it."""
    regions = {f"c{at}": (_plain(3), 1.0) for at in range(9)} | {"bad": (_plain(0.2), 10.0)}
    failed = named = 0
    for fleet in _fleets(regions, RUNS):
        found = releases.fleet_judged(POOLED, fleet)
        if found.pooled.outliers == ("bad",):
            named += 1
            failed += any(one.result is Result.FAIL for one in found.decided.values())
    return releases.share(failed, named) if named else math.nan


def _failed(rule: analysis.Rule, clusters: int, minutes: int, runs: int) -> Callable[[], float]:
    return releases.failed(rule, EVEN, duration=minutes * MINUTE, clusters=clusters, runs=runs)


def _failed_in_waves() -> float:
    """Return how many healthy releases fail in one of ten waves of ten clusters."""
    failed, runs = 0, 5
    regions = {f"c{at}": (_plain(3), 1.0) for at in range(10)}
    waves = _fleets(regions, 10 * runs)
    for _ in range(runs):
        results = []
        for _ in range(10):
            wave = next(waves)
            for look in range(1, 6):
                now = releases.START + look * MINUTE
                found = fleet_verdicts.judge(BOTH, wave, now, clusters=100)
                results += [one.result for one in found.decided.values()]
        failed += Result.FAIL in results
    return releases.share(failed, runs)


def _level_in_file(metrics: Sequence[Mapping[str, str]], *, is_pipecd: bool = False) -> float:
    """Return the level of the first of these metrics, in percent."""
    return 100 * files.rules(files.read(metrics, is_pipecd=is_pipecd))[0].significance


_SHARED = (
    "`significance` is the chance for the release, on all of its clusters and in all of its waves"
)
_ALONE = (
    "One bad region rolls back alone, also where it is the biggest or the others have no errors at"
    " all."
)
_COMPARED = {**files.COUNTED, "strategy": "CANARY_BASELINE"}
CLAIMS = (
    Claim(
        "an outlier is named, and decides nothing",
        "a small one of ten has ten times the errors, of 25 fleets those that name it",
        exactly(0, "% fail"),
        _failing_beside_outlier,
    ),
    Claim(
        _SHARED,
        "10 clusters, `perCluster`, 20 releases",
        at_most(5, "% fail"),
        _failed(ERRORS, 10, 20, 20),
    ),
    Claim(
        _SHARED,
        "10 clusters, `pooled`, 20 releases",
        at_most(5, "% fail"),
        _failed(POOLED, 10, 20, 20),
    ),
    Claim(
        _SHARED, "10 clusters, `both`, 20 releases", at_most(5, "% fail"), _failed(BOTH, 10, 20, 20)
    ),
    Claim(
        _SHARED,
        "100 clusters, `perCluster`, 5 looks, 20 releases",
        at_most(5, "% fail"),
        _failed(ERRORS, 100, 5, 20),
    ),
    Claim(
        _SHARED,
        "100 clusters, `both`, 5 looks, 10 releases",
        at_most(5, "% fail"),
        _failed(BOTH, 100, 5, 10),
    ),
    Claim(
        _SHARED,
        "100 clusters in ten waves, `both`, 5 looks, 5 releases",
        at_most(5, "% fail"),
        _failed_in_waves,
    ),
    Claim(
        "each of a hundred is judged at 0.05 %",
        "level 5 %",
        exactly(0.05, "%"),
        lambda: 100 * fleet_verdicts.own_rule(ERRORS, 100).significance,
        is_quick=True,
    ),
    Claim(
        "With `both`, half of it goes to the pooled verdict",
        "all clusters of a release together",
        exactly(2.5, "%"),
        lambda: 100 * fleet_verdicts.pooled_rule(BOTH, 10, 10).significance,
        is_quick=True,
    ),
    Claim(
        "and the other half is shared by the clusters",
        "ten clusters",
        exactly(0.25, "%"),
        lambda: 100 * fleet_verdicts.own_rule(BOTH, 10).significance,
        is_quick=True,
    ),
    Claim(
        "The metrics of a stage that name no `significance` share 5 % too.",
        "four metrics of a file",
        exactly(1.25, "%"),
        functools.partial(_level_in_file, [_COMPARED] * 4),
        is_quick=True,
    ),
    Claim(
        "An outlier that its own data condemn is left out of the pool.",
        "three clusters with 3,000 requests on canary, one of which is: requests of the pool",
        exactly(6_000, "requests"),
        _requests_of_pool,
        is_quick=True,
    ),
    Claim(
        "they alone are bad, and the sentence says so",
        "1.5 times the errors on one of ten clusters, the others have none, `minEffect: 0`",
        exactly(100, "% fail alone and say so"),
        _said_to_fail_alone,
        is_quick=True,
    ),
    *(
        Claim(
            _ALONE,
            f"{case}: it fails",
            exactly(100, "% of 100 fleets"),
            functools.partial(_failing_region, case),
        )
        for case in ONE_BAD
    ),
    *(
        Claim(
            _ALONE if case in _SILENT else "fewer than 15 of 100 do",
            f"{case}: the others fail with it",
            exactly(0, "% of 100 fleets") if case in _SILENT else at_most(15, "% of 100 fleets"),
            functools.partial(_failing_others, case),
        )
        for case in ONE_BAD
    ),
    Claim(
        "the release fails everywhere, also where there was hardly any traffic: of such fleets at"
        " least nine of ten do",
        "five times the errors on four clusters, one of which has 12 requests, 25 fleets",
        at_least(90, "% fail everywhere"),
        _everywhere,
    ),
    Claim(
        "A region without data neither blocks (it goes by the pool)",
        "two healthy clusters and a silent one, 25 fleets",
        exactly(100, "% pass everywhere"),
        functools.partial(_beside_silence, 1.0, Result.PASS),
    ),
    Claim(
        "nor blinds (it adds nothing)",
        "two clusters with ten times the errors and a silent one, 25 fleets",
        exactly(100, "% fail everywhere"),
        functools.partial(_beside_silence, 10.0, Result.FAIL),
    ),
    Claim(
        "Against a threshold the pool is the rate over all clusters",
        "100 errors of 1,000 requests, and none of 9,000",
        exactly(1, "%"),
        _rate_of_pool,
        is_quick=True,
    ),
    Claim(
        "for values the middle one of the clusters' medians",
        "medians of 1, 2 and 9, the last of 30 series: the least limit that passes",
        exactly(2),
        _least_limit_of_values,
        is_quick=True,
    ),
    Claim(
        "for values the middle one of the clusters' medians",
        "the same, what the sentence says",
        exactly(2),
        _value_that_is_shown,
        is_quick=True,
    ),
    Claim(
        "its effect (not its level) differs",
        "levels of 0, 1, 3 and 30 %, and no effects",
        exactly(0, "outliers"),
        _named_by_level,
        is_quick=True,
    ),
    Claim(
        "differs from that of all the others together at 1 % divided by the number of clusters",
        "ten clusters that are alike, 150 fleets that name one at the end",
        exactly(1, "%", tolerance=2),
        _named_of_alike,
    ),
    Claim(
        "The one furthest from no difference is named first and the rest is looked at again"
        " without it.",
        "two clusters, of which one has three times the errors",
        exactly(100, "% name it alone"),
        functools.partial(_is_named_alone, {"bad": (0.03, 0.01), "us": (0.01, 0.01)}),
        is_quick=True,
    ),
    Claim(
        "where a side has fewer than five events there is none, and the difference is compared",
        "nothing fails anywhere but on one cluster's canary",
        exactly(100, "% name it alone"),
        functools.partial(
            _is_named_alone, {"bad": (0.03, 0.0), "us": (0.0, 0.0), "ap": (0.0, 0.0)}
        ),
        is_quick=True,
    ),
)
