"""Releases that claims are measured on: exact ones, and such as are drawn with a seed."""

import dataclasses
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from volary.analysis.planning import rule_plans, traffic
from volary.analysis.verdicts import fleet_verdicts, rule_verdicts
from volary.model import analysis
from volary.model.analysis import (
    Deviation,
    Judgement,
    Kind,
    Range,
    Reading,
    Result,
    Role,
    Strategy,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TWENTY = 20 * MINUTE

ERRORS = analysis.Rule(
    "errors",
    query="q",
    total_query="t",
    kind=Kind.PROPORTION,
    strategy=Strategy.CANARY_BASELINE,
    deviation=Deviation.HIGH,
    judgement=Judgement.SEQUENTIAL,
)
RATE = replace(ERRORS, kind=Kind.RATE, total_query="")
VALUES = replace(ERRORS, name="latency", kind=Kind.VALUE, total_query="")
#: The 99th percentile of each look.
LATENCY = replace(VALUES, name="request-duration", built_in="request-duration")
LIMIT = replace(ERRORS, strategy=Strategy.THRESHOLD, expected=Range(maximum=0.01))
RANGE = replace(LIMIT, kind=Kind.VALUE, total_query="", judgement=Judgement.EACH)
ONE_BY_ONE = replace(ERRORS, judgement=Judgement.EACH)
EVEN = traffic.Traffic(10, 10)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query comes to."""

    values: tuple[float, ...] = ()
    totals: tuple[float, ...] = ()
    reading: Reading = Reading.VALUES


NOTHING, ERROR = Answer(reading=Reading.NO_DATA), Answer(reading=Reading.ERROR)
Sides = Mapping[Role, Answer]


def series(
    looks: Sequence[Sides],
    *,
    planned: int = 0,
    target: str = "cluster",
    interval: timedelta = MINUTE,
    once: Sequence[tuple[Role, Answer]] = (),
) -> analysis.Series:
    """Return a release with these looks, of so many planned ones; the deadline is twice as far.

    `once` is what was asked once, at the first look.
    """
    answers = [
        (START + number * interval, role, answer)
        for number, look in enumerate(looks, 1)
        for role, answer in look.items()
    ]
    answers += [(START + interval, role, answer) for role, answer in once]
    measured = tuple(
        analysis.Measurement(
            "metric",
            "q",
            time,
            target=target,
            variant="canary" if role is Role.JUDGED else "baseline",
            role=role,
            values=answer.values,
            totals=answer.totals,
            reading=answer.reading,
        )
        for time, role, answer in answers
    )
    ends = START + (planned or len(looks)) * interval
    return analysis.Series(START, ends, ends + (ends - START), target, measured)


def alone(
    answers: Sequence[Answer], *, planned: int = 0, target: str = "cluster"
) -> analysis.Series:
    """Return a release of which canary alone is measured."""
    return series([{Role.JUDGED: one} for one in answers], planned=planned, target=target)


def beside(
    looks: Sequence[tuple[Answer, Answer]], *, planned: int = 0, target: str = "cluster"
) -> analysis.Series:
    """Return a release of which both sides are measured."""
    sides = [{Role.JUDGED: one, Role.REFERENCE: other} for one, other in looks]
    return series(sides, planned=planned, target=target)


def count(events: float, requests: float) -> Answer:
    return Answer((events,), (requests,))


def values(*found: float) -> Answer:
    return Answer(found)


#: Of `RANGE`.
GOOD, BAD = values(0.005), values(0.05)


def counted(
    canary: tuple[float, float], other: tuple[float, float], *, looks: int = 20, target: str = "c"
) -> analysis.Series:
    """Return a release with the same errors and requests at every look."""
    return beside([(count(*canary), count(*other))] * looks, target=target)


def judged(
    rule: analysis.Rule, release: analysis.Series, look: float | None = None
) -> analysis.Verdict:
    """Judge at a look, or at the end."""
    now = release.ends if look is None else START + look * rule.interval
    return rule_verdicts.judge(rule, release, now)


def first(looks: Iterable[int], is_so: Callable[[int], bool]) -> float:
    """Return the first number of which something is true; NaN: of none."""
    return next((look for look in looks if is_so(look)), math.nan)


def failing_look(rule: analysis.Rule, release: analysis.Series, looks: int) -> float:
    """Return the look that fails it for good."""

    def fails(look: int) -> bool:
        found = judged(rule, release, look)
        return found.result is Result.FAIL and found.is_final

    return first(range(1, looks + 1), fails)


def fleet_judged(
    rule: analysis.Rule, fleet: Mapping[str, analysis.Series], look: float | None = None
) -> analysis.FleetVerdict:
    now = next(iter(fleet.values())).ends if look is None else START + look * rule.interval
    return fleet_verdicts.judge(rule, fleet, now)


def share(hits: int, runs: int) -> float:
    """Return percent."""
    return 100 * hits / runs


# Drawn with a seed.


def outcome(
    rule: analysis.Rule,
    made: traffic.Traffic,
    effect: float = 1.0,
    *,
    duration: timedelta = TWENTY,
    clusters: int = 1,
    runs: int = 100,
) -> rule_plans.Outcome:
    """Return what becomes of releases in some traffic."""
    setting = rule_plans.Setting(made, duration, clusters, runs)
    (found,) = rule_plans.outcomes(rule, setting, (effect,))
    return found


def failed(
    rule: analysis.Rule,
    made: traffic.Traffic,
    effect: float = 1.0,
    *,
    duration: timedelta = TWENTY,
    clusters: int = 1,
    runs: int = 100,
) -> Callable[[], float]:
    """Return what measures how many percent of such releases fail."""

    def measure() -> float:
        found = outcome(rule, made, effect, duration=duration, clusters=clusters, runs=runs)
        return 100 * found.failed

    return measure


def passed(
    rule: analysis.Rule,
    made: traffic.Traffic,
    effect: float = 1.0,
    *,
    duration: timedelta = TWENTY,
    runs: int = 100,
) -> Callable[[], float]:
    """Return what measures how many percent of such releases pass."""
    return lambda: 100 * outcome(rule, made, effect, duration=duration, runs=runs).passed


def changing(
    rule: analysis.Rule,
    parts: Sequence[traffic.Traffic],
    *,
    length: timedelta,
    generator: random.Random,
    effects: Sequence[float] = (),
    target: str = "cluster",
) -> analysis.Series:
    """Return a release whose traffic changes: each part lasts so long. Effects: of each part."""
    measurements: list[analysis.Measurement] = []
    started = START
    for at, part in enumerate(parts):
        effect = effects[at] if effects else 1.0
        found = traffic.release(
            rule, part, length, generator=generator, effect=effect, target=target
        )
        started, late = found.started, at * length
        measurements += [replace(one, time=one.time + late) for one in found.measurements]
    ends = started + len(parts) * length
    return analysis.Series(started, ends, ends + (ends - started), target, tuple(measurements))


def in_bursts(release: analysis.Series, size: int) -> analysis.Series:
    """Return a release whose users retry: every request that was drawn is so many."""

    def repeated(one: analysis.Measurement) -> analysis.Measurement:
        values, totals = (
            tuple(size * value for value in each) for each in (one.values, one.totals)
        )
        return dataclasses.replace(one, values=values, totals=totals)

    return replace(release, measurements=tuple(map(repeated, release.measurements)))


def failed_of(
    rule: analysis.Rule,
    drawn: Callable[[random.Random], analysis.Series],
    *,
    seed: int,
    runs: int,
) -> Callable[[], float]:
    """Return what measures how many percent of drawn releases fail."""

    def releases() -> Iterator[rule_plans.Fleet]:
        generator = random.Random(seed)
        for _ in range(runs):
            release = drawn(generator)
            yield {release.target: release}

    def measure() -> float:
        return 100 * rule_plans.outcome(rule, releases()).failed

    return measure
