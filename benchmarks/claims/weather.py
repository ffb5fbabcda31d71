"""Claims about errors that come in bursts, and remember the minute before.

What the table of the page shows is claimed cell by cell, and measured on releases of another seed.
"""

import functools
import math
import random
from collections.abc import Iterator
from datetime import timedelta

from benchmarks import simulation
from benchmarks.claims import releases
from benchmarks.claims.claim import Bound, Claim, at_least, exactly
from benchmarks.claims.releases import ERRORS, EVEN
from volary.analysis.planning import rule_plans, traffic
from volary.analysis.statistics import sequential
from volary.analysis.verdicts import evidence, samples
from volary.model import analysis

SEED, RUNS, RUNS_OF_TABLE = 2, 60, 100


def believed_fails(release: analysis.Series) -> bool:
    """Say whether a test fails a release that takes every request for a draw of its own."""
    pairs = evidence.paired([look.usable for look in samples.at_cluster(ERRORS, release)])
    found = sequential.from_proportions(pairs, ERRORS.deviation, odds=ERRORS.allowed_ratio)
    return found.p_value <= ERRORS.significance


def _believed(rate: float) -> float:
    """Return how many healthy releases a test fails that knows of no weather."""
    generator, failed, runs = random.Random(1), 0, 100
    made = traffic.Traffic(rate, rate, overdispersion=0.01)
    for _ in range(runs):
        release = traffic.release(ERRORS, made, releases.TWENTY, generator=generator)
        failed += believed_fails(release)
    return releases.share(failed, runs)


def _looks_to_find(effect: float) -> float:
    """Return the looks after which half of the releases with so many times the errors failed."""
    setting = rule_plans.Setting(EVEN, timedelta(minutes=20), runs=RUNS, seed=SEED)
    (bad,) = rule_plans.outcomes(ERRORS, setting, (effect,))
    return bad.found_after / ERRORS.interval if bad.found_after else math.inf


def _failed(overdispersion: float, memory: float) -> float:
    made = traffic.Traffic(10, 10, overdispersion=overdispersion, autocorrelation=memory)
    setting = rule_plans.Setting(made, timedelta(minutes=20), runs=RUNS, seed=SEED)
    (healthy,) = rule_plans.outcomes(ERRORS, setting, (1.0,))
    return 100 * healthy.failed


def _cells() -> Iterator[tuple[float, float, float]]:
    """Yield correlation, memory and percent of the page's table."""
    _, _, rest = simulation.PAGE.read_text().partition("<!-- weather -->\n")
    lines = [line for line in rest.partition("<!-- end")[0].splitlines() if line]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for row in rows:
        for memory, cell in zip(head[1:], row[1:], strict=True):
            yield float(row[0]), float(memory.removeprefix("memory ")), float(cell.split()[0])


def _as_shown(shown: float) -> Bound:
    """Claim what the table shows, but for three deviations of the difference."""
    part = max(0.02, shown / 100)
    variance = part * (1 - part) * (1 / RUNS + 1 / RUNS_OF_TABLE)
    return exactly(shown, "% fail", tolerance=round(300 * math.sqrt(variance)))


def _times_as_many(rate: float) -> float:
    return _believed(10 * rate) / _believed(rate)


_FINDS = (
    "with 600 requests a minute on each side it takes ten looks to find twice the errors, three to"
    " find five times"
)
_CONDEMNS = "condemns such traffic, the more the more of it there is"
CLAIMS = (
    Claim(
        _CONDEMNS,
        "correlation 0.01, 100/s on each side",
        at_least(5, "% fail"),
        functools.partial(_believed, 100.0),
        is_quick=True,
    ),
    *(
        Claim(
            _CONDEMNS,
            f"correlation 0.01, {10 * rate:g}/s beside {rate:g}/s: as many more fail",
            at_least(1.1, "times"),
            functools.partial(_times_as_many, rate),
            is_quick=True,
        )
        for rate in (1.0, 10.0)
    ),
    *(
        Claim(
            "Healthy releases that are condemned, at 10 requests a second on each side",
            f"correlation {overdispersion:g}, memory {memory:g}, {RUNS} releases of another seed",
            _as_shown(shown),
            functools.partial(_failed, overdispersion, memory),
        )
        for overdispersion, memory, shown in _cells()
    ),
    *(
        Claim(
            _FINDS,
            f"{effect:g} times the errors, {RUNS} releases without weather: half of them are found",
            exactly(looks, "looks", tolerance=1),
            functools.partial(_looks_to_find, effect),
        )
        for effect, looks in ((2.0, 10), (5.0, 3))
    ),
    Claim(
        "with a memory of 0.9 it is not kept quite: about one in nine of healthy releases fails at"
        " worst",
        f"the worst of correlations 0.001, 0.01 and 0.05, {RUNS} releases each",
        exactly(11, "% fail", tolerance=4),
        lambda: max(_failed(overdispersion, 0.9) for overdispersion in (0.001, 0.01, 0.05)),
    ),
    Claim(
        "Against a memory that is as long as the analysis nothing helps but a longer one",
        f"correlation 0.01, memory 0.95, {RUNS} releases: more than 5 %",
        at_least(5, "% fail"),
        functools.partial(_failed, 0.01, 0.95),
    ),
)
