"""One rule over all clusters of a release: own verdicts, a pooled one, outliers, and who decides.

The pooled verdict never mixes the numbers of clusters that differ anyway: each cluster of each
look is a block, and only the differences between both sides are added up. A cluster with hardly
any traffic adds little and blocks nothing. An outlier is a cluster that differs from the others
more than chance explains: its effect (not its level, which regions differ in anyway) is held
against that of all the others together. The chance of naming any cluster of a fleet that is
alike is about one in a hundred per look; naming decides nothing by itself.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist
from typing import TypeVar

from volary.analysis.statistics import counts, ranks
from volary.analysis.verdicts import checks, evidence, rule_verdicts, samples
from volary.model import analysis
from volary.model.analysis import Decider, Deviation, Kind, Result

_CHANCE = 0.01
_TINY = 1e-300
_NORMAL = NormalDist()

Cells = list[samples.Cell]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How well a cluster fits the others, and how far it is from no difference."""

    p_value: float
    strength: float

    @property
    def order(self) -> tuple[float, float]:
        """The worst first; rounded, as two clusters fit each other equally badly."""
        return round(math.log(max(self.p_value, _TINY)), 6), -round(self.strength, 6)


def find_outliers(
    rule: analysis.Rule, seen: Mapping[str, Sequence[samples.Look]], now: datetime
) -> tuple[str, ...]:
    """Return the outliers, in the order of `seen`."""
    cells_by_target = {
        target: [cell for look in looks for cell in look.usable] for target, looks in seen.items()
    }
    measured = {target: cells for target, cells in cells_by_target.items() if cells}
    if len(measured) < 2:
        return ()
    if rule.strategy.compares:
        if rule.kind is Kind.VALUE:
            # As they are: what is allowed is another part of each cluster's spread.
            plain = dataclasses.replace(rule, ratio_limit=1.0)
            ranked = {
                target: evidence.ranked(plain, [cells])[0] for target, cells in measured.items()
            }
            return _one_by_one(_fit_of_ranks, ranked)
        paired = {target: evidence.paired([cells])[0] for target, cells in measured.items()}
        return _one_by_one(_fit_of_pairs, paired)
    if rule.kind is Kind.VALUE:
        return _mostly_outside(rule, measured, now)
    counted = {target: [cell.judged.count for cell in cells] for target, cells in measured.items()}
    return _one_by_one(_fit_of_counts, counted)


Item = TypeVar("Item")


def _one_by_one(
    fit: Callable[[list[Item], list[Item]], _Fit], measured: Mapping[str, list[Item]]
) -> tuple[str, ...]:
    """Name the cluster that fits worst, and look again without it: it would hide the others.

    Of two that differ from each other the one that is further from "no difference" is named.
    """
    level = _CHANCE / len(measured)
    left = dict(measured)
    while len(left) > 1:
        fits = {target: fit(items, _others(left, target)) for target, items in left.items()}
        worst = min(fits, key=lambda target: (*fits[target].order, target))
        if fits[worst].p_value >= level:
            break
        del left[worst]
    return tuple(target for target in measured if target not in left)


def _others(measured: Mapping[str, list[Item]], target: str) -> list[Item]:
    return [item for other, items in measured.items() if other != target for item in items]


def _mostly_outside(
    rule: analysis.Rule, measured: Mapping[str, Cells], now: datetime
) -> tuple[str, ...]:
    """Name those that mostly fail where most of the others mostly do not."""
    failing = tuple(target for target, cells in measured.items() if _fails_mostly(rule, cells, now))
    return failing if 2 * len(failing) < len(measured) else ()


def _fails_mostly(rule: analysis.Rule, cells: Cells, now: datetime) -> bool:
    results = [checks.of_look(rule, samples.Look(now, (cell,))).result for cell in cells]
    return 2 * results.count(Result.FAIL) > len(results)


def _fit_of_counts(own: list[counts.Count], others: list[counts.Count]) -> _Fit:
    pair = counts.Pair(counts.total(own), counts.total(others))
    p_value = counts.proportion_tails([pair]).p_value(Deviation.EITHER)
    return _Fit(p_value, pair.first.rate)


def _fit_of_ranks(own: list[ranks.RankSum], others: list[ranks.RankSum]) -> _Fit:
    (here, variance), (there, other_variance) = ranks.estimate(own), ranks.estimate(others)
    return _Fit(_p_value(here - there, variance + other_variance), abs(here - 0.5))


def _fit_of_pairs(own: list[counts.Pair], others: list[counts.Pair]) -> _Fit:
    """Compare the logarithms of both ratios; half an event more keeps them finite."""
    (here, variance), (there, other_variance) = counts.log_ratio(own), counts.log_ratio(others)
    return _Fit(_p_value(here - there, variance + other_variance), abs(here))


def _p_value(difference: float, variance: float) -> float:
    return 2 * _NORMAL.cdf(-abs(difference) / math.sqrt(variance))


def judge(
    rule: analysis.Rule, series: Mapping[str, analysis.Series], now: datetime
) -> analysis.FleetVerdict:
    """Judge one rule on every cluster and over all of them; there has to be a cluster.

    With `Decider.BOTH` half of the accepted chance of a false alarm goes to the pooled
    verdict, the other half is shared by the clusters. One that its own data condemn fails by
    itself, and if it is an outlier it is left out of the pool: what is wrong there is not wrong
    everywhere.
    """
    if len(series) == 1:
        [(only, cluster_series)] = series.items()
        verdict = rule_verdicts.judge(rule, cluster_series, now)
        own = {only: verdict}
        return analysis.FleetVerdict(own, own, dataclasses.replace(verdict, target=""))
    seen = {
        target: samples.at_cluster(rule, cluster_series, now)
        for target, cluster_series in series.items()
    }
    named = find_outliers(rule, seen, now)
    whole, single = rule, rule
    if rule.decider is Decider.BOTH:
        whole = dataclasses.replace(rule, significance=rule.significance / 2)
        single = dataclasses.replace(rule, significance=rule.significance / 2 / len(series))
    own = {
        target: rule_verdicts.judge_looks(single, [cluster_series], seen[target], now)
        for target, cluster_series in series.items()
    }
    pool = set(series)
    if rule.decider is Decider.BOTH:
        pool -= {target for target in named if own[target].is_condemned}
    gathered = [
        (cluster_series, seen[target])
        for target, cluster_series in series.items()
        if target in (pool or own)
    ]
    merged = samples.merge(rule, gathered)
    pooled = rule_verdicts.judge_looks(
        whole, [cluster_series for cluster_series, _ in gathered], merged, now
    )
    pooled = dataclasses.replace(pooled, target="", outliers=named)
    if named:
        differ = "differs" if len(named) == 1 else "differ"
        sentence = f"{pooled.sentence}; {', '.join(named)} {differ} from the other clusters"
        pooled = dataclasses.replace(pooled, sentence=sentence)
    decided = {target: _decided(rule, own[target], pooled) for target in series}
    return analysis.FleetVerdict(decided, own, pooled)


def _decided(
    rule: analysis.Rule, own: analysis.Verdict, pooled: analysis.Verdict
) -> analysis.Verdict:
    match rule.decider:
        case Decider.PER_CLUSTER:
            return own
        case Decider.POOLED:
            return pooled
        case Decider.BOTH:
            return own if own.is_condemned else pooled
