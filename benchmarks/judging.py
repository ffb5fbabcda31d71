"""``python -m benchmarks.judging``: what a judgement costs, beside SciPy; writes ``judging.md``.

Both work on the same numbers in the same process, one after the other in turns, and count at
their best: whatever else the machine does only adds.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from volary.analysis.statistics import counts, ranks
from volary.analysis.verdicts import fleet_verdicts, rule_verdicts
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Judgement, Kind, Role, Strategy

PAGE = Path(__file__).parent / "judging.md"
START = datetime(2026, 1, 1, tzinfo=UTC)
INTERVAL = timedelta(seconds=10)
TURNS = 15

RULE = analysis.Rule(
    "latency",
    "prometheus",
    "q",
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    interval=INTERVAL,
)
RANGE = replace(RULE, strategy=Strategy.THRESHOLD, expected=analysis.Range(maximum=1))
COUNTED = replace(RULE, name="errors", kind=Kind.PROPORTION, total_query="t")


@dataclass(frozen=True, slots=True)
class Work:
    """Something to judge, and how many samples it has."""

    name: str
    samples: int
    ours: Callable[[], object]
    #: The same by SciPy, where it can.
    theirs: Callable[[], object] | None = None


def main() -> None:
    """Measure, and write the page."""
    rows = [["What", "Samples", "Volary", "per sample", "SciPy", "SciPy ÷ Volary"], ["---"] * 6]
    for each in works():
        ours, theirs = measure(each)
        rows.append(
            [
                each.name,
                f"{each.samples:,}",
                f"{1e3 * ours:.2f} ms",
                f"{1e6 * ours / each.samples:.2f} µs",
                f"{1e3 * theirs:.2f} ms" if theirs else "–",
                f"{theirs / ours:.1f}" if theirs else "–",
            ]
        )
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    PAGE.write_text(f"{INTRODUCTION}\n{table}\n")
    print(table)


INTRODUCTION = """# What a judgement costs

Written by `python -m benchmarks.judging`. Both work in the same process in turns, at the best of
15; Volary keeps exact distributions of sizes it has met. The upper rows are single tests; in the
lower ones Volary makes whole verdicts, with effect sizes, intervals, sentences and outliers, for
which SciPy has no counterpart. A verdict is computed afresh from everything that was measured, so
a long analysis costs most at its last look.
"""


def measure(work: Work) -> tuple[float, float | None]:
    """Return the seconds of both at their best."""
    ours = theirs = float("inf")
    for _ in range(TURNS):
        ours = min(ours, _seconds(work.ours))
        if work.theirs is not None:
            theirs = min(theirs, _seconds(work.theirs))
    return ours, theirs if work.theirs is not None else None


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def works() -> list[Work]:
    """Return everything that is measured."""
    generator = random.Random(1)
    return [*_tests(generator), *_verdicts(generator)]


def _tests(generator: random.Random) -> list[Work]:
    from scipy import stats  # a library of 170 MB, only for comparison

    found = []
    for size, digits, name in (
        (5_000, 16, "Mann-Whitney"),
        (5_000, 2, "Mann-Whitney, many ties"),
        (40, 16, "Mann-Whitney, exact"),
    ):
        first, second = ([round(generator.random(), digits) for _ in range(size)] for _ in range(2))
        found.append(
            Work(
                name,
                2 * size,
                lambda first=first, second=second: ranks.tails([ranks.rank_sum(first, second)]),
                lambda first=first, second=second: stats.mannwhitneyu(first, second),
            )
        )
    pair = counts.Pair(counts.Count(31, 1_000), counts.Count(190, 9_000))
    found.append(
        Work(
            "Fisher's exact test",
            10_000,
            lambda: counts.proportion_tails([pair]),
            lambda: stats.fisher_exact([[31, 969], [190, 8_810]]),
        )
    )
    return found


def _verdicts(generator: random.Random) -> list[Work]:
    one, many, long = (
        series(generator, looks, points) for looks, points in ((1, 5_000), (100, 50), (360, 1))
    )
    counted = counting(generator, 360)
    short = series(generator, 60, 1)
    clusters = {
        name: series(generator, 100, 5, name) for name in (f"cluster-{at}" for at in range(10))
    }
    pooled = replace(together(RULE), decider=Decider.BOTH)
    end = START + timedelta(days=1)
    return [
        Work("10 minutes at 10 s, a range", 60, lambda: rule_verdicts.judge(RANGE, short, end)),
        Work("one look", 10_000, lambda: rule_verdicts.judge(RULE, one, end)),
        Work("100 looks, each", 10_000, lambda: rule_verdicts.judge(RULE, many, end)),
        Work(
            "100 looks, sequential", 10_000, lambda: rule_verdicts.judge(together(RULE), many, end)
        ),
        Work("an hour at 10 s, one value", 720, lambda: rule_verdicts.judge(RULE, long, end)),
        Work("the same, sequential", 720, lambda: rule_verdicts.judge(together(RULE), long, end)),
        Work(
            "an hour of errors, sequential",
            720,
            lambda: rule_verdicts.judge(together(COUNTED), counted, end),
        ),
        Work(
            "10 clusters, own and pooled",
            10_000,
            lambda: fleet_verdicts.judge(pooled, clusters, end),
        ),
    ]


def together(rule: analysis.Rule) -> analysis.Rule:
    return replace(rule, judgement=Judgement.SEQUENTIAL)


def series(
    generator: random.Random, looks: int, points: int, target: str = "eu"
) -> analysis.Series:
    """Return a healthy release: the same values on both sides."""
    return _series(
        looks,
        target,
        lambda role: {"values": tuple(generator.random() for _ in range(points))},
    )


def counting(generator: random.Random, looks: int) -> analysis.Series:
    """Return a healthy release of one percent errors among 100 and 900 requests a look."""

    def drawn(role: Role) -> dict[str, tuple[float, ...]]:
        requests = 100 if role is Role.JUDGED else 900
        events = sum(generator.random() < 0.01 for _ in range(requests))
        return {"values": (events,), "totals": (requests,)}

    return _series(looks, "eu", drawn)


def _series(
    looks: int, target: str, drawn: Callable[[Role], dict[str, tuple[float, ...]]]
) -> analysis.Series:
    measurements: Sequence[analysis.Measurement] = [
        analysis.Measurement(
            "m", "q", START + at * INTERVAL, target=target, role=role, **drawn(role)
        )
        for at in range(1, looks + 1)
        for role in (Role.JUDGED, Role.REFERENCE)
    ]
    ends = START + looks * INTERVAL
    return analysis.Series(START, ends, ends, target, tuple(measurements))


if __name__ == "__main__":
    main()
