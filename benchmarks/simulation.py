"""``python -m benchmarks.simulation [TABLE …]``: simulate releases, and write the figures.

Every table has its own seed and is made of `random.random` alone, whose numbers are the same
in every version of Python, so the same figures come out anywhere; a test compares one table.
"""

import bisect
import dataclasses
import itertools
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import binomial, counts, dispersion, ranks, sequential
from volary.analysis.verdicts import evidence, scores
from volary.model import analysis, phrases
from volary.model.analysis import Deviation

PAGE = Path(__file__).parent.parent / "docs/explanation/how-volary-decides.md"
LEVEL = 0.05
HEALTHY, BAD = 400, 200

Rows = Iterator[Sequence[str]]
#: A release: one list of blocks per look.
Ranked = list[list[ranks.RankSum]]
Counted = list[list[counts.Pair]]
Look = TypeVar("Look")
Block = TypeVar("Block")


def main() -> None:
    """Write the tables that are named, or every one, into the page, between their marks."""
    for name in sys.argv[1:] or TABLES:
        table = TABLES[name]
        began = time.monotonic()
        made = render(table())
        PAGE.write_text(replaced(PAGE.read_text(), name, made))
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def replaced(text: str, name: str, table: str) -> str:
    """Return the page with another table between the marks of `name`."""
    before, rest = text.split(f"<!-- {name} -->\n", 1)
    _, after = rest.split(f"<!-- end of {name} -->", 1)
    return f"{before}<!-- {name} -->\n\n{table}\n\n<!-- end of {name} -->{after}"


def render(rows: Iterable[Sequence[str]]) -> str:
    """Write rows as a table; the first is the head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Draws.


def value(generator: random.Random, shift: float = 0.0) -> float:
    """Draw from the logistic distribution, scaled to a standard deviation of 1."""
    share = generator.random() or 0.5
    return shift + math.log(share / (1 - share)) * math.sqrt(3) / math.pi


def values(generator: random.Random, number: int, shift: float = 0.0) -> list[float]:
    return [value(generator, shift) for _ in range(number)]


def drawer(trials: int, share: float) -> Callable[[random.Random], int]:
    """Return a function that draws the hits among `trials`."""
    chances = (binomial.chance(number, trials, share) for number in range(trials + 1))
    upto = list(itertools.accumulate(chances))
    return lambda generator: min(bisect.bisect(upto, generator.random()), trials)


def latencies(generator: random.Random, looks: int, points: int, shift: float = 0.0) -> Ranked:
    return [
        [ranks.rank_sum(values(generator, points, shift), values(generator, points))]
        for _ in range(looks)
    ]


def errors(
    generator: random.Random,
    looks: int,
    canary: Callable[[random.Random], int],
    usual: Callable[[random.Random], int],
    requests: tuple[int, int] = (100, 900),
) -> Counted:
    first, second = requests
    return [
        [
            counts.Pair(
                counts.Count(canary(generator), first), counts.Count(usual(generator), second)
            )
        ]
        for _ in range(looks)
    ]


# Decisions.


#: What `by_share` decides for.
SHARES = analysis.Rule("errors", kind=analysis.Kind.PROPORTION)


def by_rank(release: Ranked) -> bool:
    scale = dispersion.weather(map(evidence.of_ranks, _by_cluster(release))).scale
    return sequential.from_ranks(release, Deviation.HIGH, scale=scale).p_value <= LEVEL


def by_share(release: Counted, level: float = LEVEL) -> bool:
    clusters = _by_cluster(release)
    scale = dispersion.weather(evidence.of_pairs(SHARES, each) for each in clusters).scale
    return sequential.from_proportions(release, Deviation.HIGH, scale=scale).p_value <= level


def _by_cluster(release: list[list[Block]]) -> list[list[Block]]:
    """Return the blocks of each cluster, in their order."""
    return [list(blocks) for blocks in zip(*release, strict=True)]


def ranks_by_themselves(release: Ranked) -> bool:
    return any(ranks.tails(look).greater <= LEVEL for look in release)


def shares_by_themselves(release: Counted) -> bool:
    return any(counts.proportion_tails(look).greater <= LEVEL for look in release)


def found_at(release: list[Look], is_found: Callable[[list[Look]], bool]) -> int | None:
    """Return the look that found it: the first one, which ends the release."""
    looks = range(1, len(release) + 1)
    return next((number for number in looks if is_found(release[:number])), None)


def is_ever(release: list[Look], is_found: Callable[[list[Look]], bool]) -> bool:
    return found_at(release, is_found) is not None


def percent(hits: int, runs: int) -> str:
    return f"{100 * hits / runs:.1f} %"


# Tables.


def false_alarms(runs: int = HEALTHY) -> Rows:
    """How many healthy releases are condemned, by the number of looks."""
    yield "Looks", "latency, each look by itself", "together", "errors, each by itself", "together"
    usual, canary = drawer(900, 0.01), drawer(100, 0.01)
    for looks in (3, 10, 30):
        generator = random.Random(looks)
        hits = [0, 0, 0, 0]
        for _ in range(runs):
            slow = latencies(generator, looks, 4)
            failing = errors(generator, looks, canary, usual)
            found = (
                ranks_by_themselves(slow),
                is_ever(slow, by_rank),
                shares_by_themselves(failing),
                is_ever(failing, by_share),
            )
            hits = [number + hit for number, hit in zip(hits, found, strict=True)]
        yield str(looks), *(percent(number, runs) for number in hits)


def bad_errors(runs: int = BAD) -> Rows:
    """How many bad releases are found within 30 looks, and when."""
    yield "Errors on canary", "found", "half of them after", "requests on canary until then"
    usual = drawer(900, 0.01)
    for share in (0.01, 0.015, 0.02, 0.03, 0.05, 0.10):
        generator, canary = random.Random(int(share * 1_000)), drawer(100, share)
        found = [found_at(errors(generator, 30, canary, usual), by_share) for _ in range(runs)]
        yield f"{100 * share:g} %", *_when(found, 100)


def bad_latency(runs: int = BAD) -> Rows:
    """How many slower releases are found within 30 looks, and when."""
    yield (
        "Canary is slower by",
        "1 value a look: found",
        "half of them after",
        "values until then",
        "5 values a look: found",
        "half of them after",
        "values until then",
    )
    for shift in (0.0, 0.25, 0.5, 1.0, 2.0):
        row = []
        for points in (1, 5):
            generator = random.Random(int(shift * 100) + points)
            found = [
                found_at(latencies(generator, 30, points, shift), by_rank) for _ in range(runs)
            ]
            row += _when(found, points)
        yield f"{shift:g} standard deviations", *row


def _when(found: Sequence[int | None], each: int) -> tuple[str, str, str]:
    hits = [look for look in found if look is not None]
    if len(hits) < len(found) / 20:
        return percent(len(hits), len(found)), "–", "–"
    middle = statistics.median_low(hits)
    noun = "look" if middle == 1 else "looks"
    return percent(len(hits), len(found)), f"{middle} {noun}", f"{middle * each:,}"


def regions(runs: int = BAD // 4) -> Rows:
    """Ten regions with little traffic each: what each finds alone, and all together."""
    yield (
        "Errors on canary",
        "a given region finds it",
        "all together find it",
        "half of them after",
    )
    usual = drawer(180, 0.01)
    for share in (0.01, 0.02, 0.03, 0.05):
        generator, canary = random.Random(int(share * 1_000)), drawer(20, share)
        alone = 0
        together: list[int | None] = []
        for _ in range(runs):
            each = [errors(generator, 30, canary, usual, (20, 180)) for _ in range(10)]
            alone += is_ever(each[0], by_share)
            pooled = [
                [pair for blocks in look for pair in blocks] for look in zip(*each, strict=True)
            ]
            together.append(found_at(pooled, by_share))
        yield f"{100 * share:g} %", percent(alone, runs), *_when(together, 0)[:2]


def overlapping(runs: int = BAD) -> Rows:
    """Healthy releases whose values are not independent: where the promise ends."""
    yield "What is measured", "false alarms at 30 looks"
    generator = random.Random(1)
    for overlap in (1, 2, 5):
        hits = sum(is_ever(_smoothed(generator, overlap), by_rank) for _ in range(runs))
        text = f"5 values a look, each the mean of the last {overlap} of the series"
        yield text if overlap > 1 else "5 values a look, each of its own", percent(hits, runs)
    hits = sum(is_ever(_smoothed(generator, 5, median_only=True), by_rank) for _ in range(runs))
    yield "the last again, with `medianPerLook`", percent(hits, runs)
    for burst in (1, 2, 5):
        generator = random.Random(burst)
        usual, canary = drawer(900 // burst, 0.01), drawer(100 // burst, 0.01)
        hits = 0
        for _ in range(runs):
            release = errors(generator, 30, canary, usual)
            bursts = [[_burst(pair, burst) for pair in look] for look in release]
            hits += is_ever(bursts, by_share)
        yield f"1 % errors that come {burst} at a time", percent(hits, runs)


def _smoothed(generator: random.Random, overlap: int, *, median_only: bool = False) -> Ranked:
    sides = []
    for _ in range(2):
        raw = values(generator, 150 + overlap)
        series = [sum(raw[at : at + overlap]) for at in range(150)]
        looks = [series[at : at + 5] for at in range(0, 150, 5)]
        sides.append([[statistics.median(look)] for look in looks] if median_only else looks)
    return [[ranks.rank_sum(*both)] for both in zip(*sides, strict=True)]


def _burst(pair: counts.Pair, size: int) -> counts.Pair:
    first, second = pair.first, pair.second
    return counts.Pair(
        counts.Count(size * first.events, first.exposure),
        counts.Count(size * second.events, second.exposure),
    )


def weather(runs: int = BAD // 2) -> Rows:
    """Healthy releases whose errors come in bursts, minute by minute."""
    rule = analysis.Rule(
        "errors",
        kind=analysis.Kind.PROPORTION,
        strategy=analysis.Strategy.CANARY_BASELINE,
        deviation=Deviation.HIGH,
        judgement=analysis.Judgement.SEQUENTIAL,
    )
    memories = (0.0, 0.5, 0.9)
    yield "Intraclass correlation", *(f"memory {memory:g}" for memory in memories)
    for overdispersion in (0.0, 0.001, 0.01, 0.05):
        row = []
        for memory in memories:
            made = traffic.Traffic(10, 10, overdispersion=overdispersion, autocorrelation=memory)
            setting = rule_plans.Setting(made, timedelta(minutes=20), runs=runs)
            (healthy,) = rule_plans.outcomes(rule, setting, (1.0,))
            row.append(f"{100 * healthy.failed:.1f} %")
        yield f"{overdispersion:g}", *row


#: Of four metrics that weigh the same two have to fail.
SCORING = analysis.Scoring(analysis.ScoreThresholds(70))


def scored(runs: int = BAD // 2) -> Rows:
    """Four metrics of a release: each has to pass, or they make up a score."""
    yield (
        "Errors twice as many in",
        "fails: every metric has to pass",
        "a score of 70",
        "a score of 70, and the first metric critical",
    )
    usual, healthy, bad = drawer(900, 0.01), drawer(100, 0.01), drawer(100, 0.02)
    for worse in range(5):
        generator, hits = random.Random(worse), [0, 0, 0]
        for _ in range(runs):
            draws = (bad if number < worse else healthy for number in range(4))
            failed = [_fails_in_twenty(generator, draw, usual) for draw in draws]
            found = (
                any(failed),
                _score(failed) is analysis.Result.FAIL,
                _score(failed, critical="0") is analysis.Result.FAIL,
            )
            hits = [number + hit for number, hit in zip(hits, found, strict=True)]
        name = f"{worse} of 4 metrics" if worse else "none of 4 metrics"
        yield name, *(percent(number, runs) for number in hits)


def _fails_in_twenty(
    generator: random.Random,
    canary: Callable[[random.Random], int],
    usual: Callable[[random.Random], int],
) -> bool:
    """Say whether one of four metrics, which share the level, ever fails in twenty looks."""
    release = errors(generator, 20, canary, usual)
    return is_ever(release, lambda looks: by_share(looks, LEVEL / 4))


def _score(failed: Sequence[bool], *, critical: str = "") -> analysis.Result:
    results = [analysis.Result.FAIL if one else analysis.Result.PASS for one in failed]
    names = [str(number) for number in range(len(results))]
    verdicts = {
        name: analysis.Verdict(
            result, "", name, target="eu", numbers=analysis.Numbers(looks=20), is_final=True
        )
        for name, result in zip(names, results, strict=True)
    }
    rules = [analysis.Rule(name, critical=name == critical) for name in names]
    return scores.judge(SCORING, rules, verdicts, target="eu").result


#: Of 99.9 % in 30 days; an analysis of twenty minutes tests 6 and 14.4 times.
BURN_RATES = (30.0, 14.4, 10.0, 8.0, 6.0, 3.0, 1.0)


def budgets(runs: int = BAD // 2) -> Rows:
    """How many releases fail an SLO, by how fast they burn its budget."""
    yield (
        "Budget burns",
        "fails",
        "half of them after",
        "passes",
        "fails where errors come in bursts",
        "passes",
    )
    slo = analysis.Slo(99.9)
    rule = analysis.Rule(
        "availability",
        kind=analysis.Kind.PROPORTION,
        judgement=analysis.Judgement.SEQUENTIAL,
        slo=slo,
        expected=analysis.Range(maximum=6 * slo.budget),
    )
    for rate in BURN_RATES:
        calm = traffic.Traffic(50, 50, errors=rate * slo.budget)
        bursts = dataclasses.replace(calm, overdispersion=0.001, autocorrelation=0.5)
        first, second = (
            rule_plans.outcomes(
                rule, rule_plans.Setting(made, timedelta(minutes=20), runs=runs), (1.0,)
            )[0]
            for made in (calm, bursts)
        )
        after = "–" if first.found_after is None else phrases.duration(first.found_after)
        yield (
            f"{rate:g} times too fast" if rate > 1 else "just as fast as it may",
            _share(first.failed),
            after,
            _share(first.passed),
            _share(second.failed),
            _share(second.passed),
        )


def sides(runs: int = BAD // 4) -> Rows:
    """What three sides come to, beside canary against primary alone."""
    yield (
        "Errors",
        "three sides: fails",
        "passes",
        "inconclusive",
        "CANARY_PRIMARY: fails",
    )
    rule = analysis.Rule(
        "errors",
        kind=analysis.Kind.PROPORTION,
        deviation=Deviation.HIGH,
        judgement=analysis.Judgement.SEQUENTIAL,
        strategy=analysis.Strategy.CANARY_BASELINE_PRIMARY,
    )
    alone = dataclasses.replace(rule, strategy=analysis.Strategy.CANARY_PRIMARY)
    for name, effect, newness in (
        ("3 % of the release", 3.0, 1.0),
        ("6 % of the release, 2 % of baseline", 3.0, 2.0),
        ("1 % of all", 1.0, 1.0),
        ("3 % of the release and of baseline", 1.0, 3.0),
    ):
        made = traffic.Traffic(20, 180, newness=newness)
        setting = rule_plans.Setting(made, timedelta(minutes=20), runs=runs)
        (three,) = rule_plans.outcomes(rule, setting, (effect,))
        (two,) = rule_plans.outcomes(alone, setting, (effect,))
        shown = (three.failed, three.passed, three.unknown, two.failed)
        yield name, *map(_share, shown)


def _share(part: float) -> str:
    return f"{100 * part:.1f} %"


TABLES: dict[str, Callable[[], Rows]] = {
    "false alarms": false_alarms,
    "bad errors": bad_errors,
    "bad latency": bad_latency,
    "regions": regions,
    "overlapping": overlapping,
    "weather": weather,
    "scores": scored,
    "budgets": budgets,
    "sides": sides,
}


if __name__ == "__main__":
    main()
