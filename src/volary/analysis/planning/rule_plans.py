"""How a rule would do in some traffic: false alarms, and how soon worse releases are found."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median_low

from volary.analysis.planning import traffic
from volary.analysis.verdicts import fleet_verdicts, rule_verdicts
from volary.model import analysis
from volary.model.analysis import Decider, Kind, Result

#: How many times as many errors, or as much latency; 1: healthy.
EFFECTS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)

ByCluster = Mapping[str, traffic.Traffic]
#: What was measured on each cluster of a release.
Fleet = Mapping[str, analysis.Series]


@dataclass(frozen=True, slots=True)
class Setting:
    """Where releases are simulated."""

    #: Of each cluster.
    traffic: traffic.Traffic
    duration: timedelta
    clusters: int = 1
    #: Simulated releases for each effect.
    runs: int = 200
    seed: int = 1
    #: Where clusters differ: the traffic of each, instead of `traffic` and `clusters`.
    differing: ByCluster = field(default_factory=dict)

    @property
    def by_cluster(self) -> ByCluster:
        """The traffic of each cluster."""
        return self.differing or {
            f"cluster-{number}": self.traffic for number in range(self.clusters)
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of releases with one effect, as shares of them."""

    effect: float
    failed: float
    passed: float
    #: Neither, until the end: too little was seen.
    unknown: float
    #: How long half of those that fail take to; None: none fails.
    found_after: timedelta | None


def can_be_simulated(rule: analysis.Rule) -> bool:
    """Say whether traffic says what it would measure.

    Not what clusters tell, and not a quantity against a limit: nobody knows its level.
    """
    if rule.is_of_cluster:
        return False
    is_relative = rule.strategy.compares or rule.history is not None
    return is_relative or rule.kind is not Kind.VALUE or rule.built_in == traffic.SUCCESS


def outcomes(
    rule: analysis.Rule, setting: Setting, effects: Sequence[float] = EFFECTS
) -> tuple[Outcome, ...]:
    """Simulate releases of each effect, on all clusters alike, and judge them by a rule."""
    return tuple(_outcome(rule, setting, effect) for effect in effects)


def _outcome(rule: analysis.Rule, setting: Setting, effect: float) -> Outcome:
    return outcome(rule, _drawn(rule, setting, effect), effect=effect)


def _drawn(rule: analysis.Rule, setting: Setting, effect: float) -> Iterator[Fleet]:
    generator = random.Random(f"{setting.seed} {rule.name} {effect}")
    for _ in range(setting.runs):
        yield {
            target: traffic.release(
                rule, own, setting.duration, generator=generator, effect=effect, target=target
            )
            for target, own in setting.by_cluster.items()
        }


def outcome(rule: analysis.Rule, releases: Iterable[Fleet], *, effect: float = 1.0) -> Outcome:
    """Judge releases look by look, each until a look fails it; there has to be one.

    `effect` is only named.
    """
    results: list[Result] = []
    times: list[timedelta] = []
    for fleet in releases:
        found, after = _followed(rule, fleet)
        results.append(found)
        if found is Result.FAIL:
            times.append(after)
    middle = median_low(times) if times else None
    failed, passed, unknown = (
        results.count(each) / len(results)
        for each in (Result.FAIL, Result.PASS, Result.INCONCLUSIVE)
    )
    return Outcome(effect, failed, passed, unknown, middle)


def result(rule: analysis.Rule, fleet: Fleet, after: timedelta) -> Result:
    """Return the worst that a cluster has to go by after that time."""
    started = next(iter(fleet.values())).started
    if rule.decider is Decider.PER_CLUSTER:
        own = fleet_verdicts.own_rule(rule, len(fleet))
        judged = [rule_verdicts.judge(own, series, started + after) for series in fleet.values()]
    else:
        found = fleet_verdicts.judge(rule, fleet, started + after)
        judged = list(found.decided.values())
    worst = rule_verdicts.worst(judged)
    assert worst is not None
    return worst.result


def _followed(rule: analysis.Rule, fleet: Fleet) -> tuple[Result, timedelta]:
    """Return how a release ends, and when: the first look that fails it is the last one."""
    found, after = Result.INCONCLUSIVE, timedelta(0)
    duration = max(series.ends - series.started for series in fleet.values())
    for number in range(1, traffic.rule_looks(rule, duration) + 1):
        after = number * rule.interval
        found = result(rule, fleet, after)
        if found is Result.FAIL:
            break
    return found, after
