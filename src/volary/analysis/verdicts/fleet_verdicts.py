"""One rule over all clusters of a release: own verdicts, a pooled one, outliers, and who decides.

The pooled verdict never mixes the numbers of clusters that differ anyway: each cluster of each
look is a block, and only the differences between both sides are added up. A cluster with hardly
any traffic adds little and blocks nothing. An outlier is a cluster that differs from the others
more than chance explains: its effect (not its level, which regions differ in anyway) is held
against that of all the others together. The chance of naming any cluster of a fleet that is
alike is about one in a hundred per look; naming decides nothing by itself.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import NormalDist
from typing import TypeVar

from volary.analysis.statistics import counts, ranks
from volary.analysis.verdicts import checks, evidence, rule_verdicts, samples
from volary.model import analysis, phrases
from volary.model.analysis import Decider, Deviation, Kind, Result

_CHANCE = 0.01
#: Once the pool is condemned it is not asked whether anybody is bad but who is.
_CHANCE_OF_SUSPECTS = 0.05
#: With fewer events on a side no ratio is known: ten times nothing is nothing.
_FEW = 5
_NORMAL = NormalDist()

Cells = list[samples.Cell]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How well a cluster fits the others, and how far it is from no difference."""

    p_value: float
    strength: float


def find_outliers(
    rule: analysis.Rule,
    seen: Mapping[str, Sequence[samples.Look]],
    now: datetime,
    *,
    chance: float = _CHANCE,
) -> tuple[str, ...]:
    """Return the outliers, in the order of `seen`.

    The `chance` is that of naming any cluster of a fleet that is alike.
    """
    cells_by_target = {
        target: [cell for look in looks for cell in look.usable] for target, looks in seen.items()
    }
    measured = {target: cells for target, cells in cells_by_target.items() if cells}
    if len(measured) < 2:
        return ()
    if rule.strategy.compares:
        if rule.kind is Kind.VALUE:
            # As they are: what is allowed is another part of each cluster's spread.
            plain = replace(rule, ratio_limit=1.0)
            ranked = {
                target: [ranks.weighed(block) for block in evidence.ranked(plain, [cells])[0]]
                for target, cells in measured.items()
            }
            return _one_by_one(_fit_of_ranks, ranked, chance)
        paired = {
            target: [counts.addend(pair) for pair in evidence.paired([cells])[0]]
            for target, cells in measured.items()
        }
        return _one_by_one(_fit_of_pairs, paired, chance)
    if rule.kind is Kind.VALUE:
        return _mostly_outside(rule, measured, now)
    counted = {target: [cell.judged.count for cell in cells] for target, cells in measured.items()}
    return _one_by_one(_fit_of_counts, counted, chance)


Item = TypeVar("Item")


def _one_by_one(
    fit: Callable[[list[Item], list[Item]], _Fit],
    measured: Mapping[str, list[Item]],
    chance: float,
) -> tuple[str, ...]:
    """Name the cluster that is furthest from no difference, of those that do not fit the others.

    Then look again without it: it would hide the others, and make a healthy one seem to differ.
    """
    level = chance / len(measured)
    left = dict(measured)
    while len(left) > 1:
        fits = {target: fit(items, _others(left, target)) for target, items in left.items()}
        differing = [target for target in fits if fits[target].p_value < level]
        if not differing:
            break
        # Rounded, as two clusters may differ from each other equally.
        del left[min(differing, key=lambda target: (-round(fits[target].strength, 6), target))]
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
    results = [
        checks.of_look(rule, samples.Look(now, (cell,)), in_words=False).result for cell in cells
    ]
    return 2 * results.count(Result.FAIL) > len(results)


def _fit_of_counts(own: list[counts.Count], others: list[counts.Count]) -> _Fit:
    pair = counts.Pair(counts.total(own), counts.total(others))
    p_value = counts.proportion_tails([pair]).p_value(Deviation.EITHER)
    return _Fit(p_value, pair.first.rate)


def _fit_of_ranks(own: list[ranks.Weighed], others: list[ranks.Weighed]) -> _Fit:
    (here, variance), (there, other_variance) = ranks.estimate(own), ranks.estimate(others)
    return _fit(here - 0.5, variance, there - 0.5, other_variance)


def _fit_of_pairs(own: list[counts.Sums], others: list[counts.Sums]) -> _Fit:
    """Compare the logarithms of both ratios, or the differences where events are too few."""
    one, other = counts.added(own), counts.added(others)
    few = any(counts.fewest(sums) < _FEW for sums in (one, other))
    effect = counts.difference if few else counts.log_ratio
    (here, variance), (there, other_variance) = effect(one), effect(other)
    return _fit(here, variance, there, other_variance)


def _fit(here: float, variance: float, there: float, other_variance: float) -> _Fit:
    deviation = math.sqrt(variance + other_variance)
    p_value = 2 * _NORMAL.cdf(-abs(here - there) / deviation)
    return _Fit(p_value, abs(here) / math.sqrt(variance))


def own_rule(rule: analysis.Rule, clusters: int) -> analysis.Rule:
    """Return the rule by which each of a release's clusters is judged by itself.

    They share the accepted chance of a false alarm: of a hundred that are judged at 5 % five
    are condemned.
    """
    return replace(rule, significance=_part(rule) / clusters)


def pooled_rule(rule: analysis.Rule, pooled: int, clusters: int) -> analysis.Rule:
    """Return the rule for some of a release's clusters together: the others are judged later."""
    return replace(rule, significance=_part(rule) * pooled / clusters)


def _part(rule: analysis.Rule) -> float:
    """Return the chance for each kind of verdict: with `Decider.BOTH` there are two."""
    return rule.significance / 2 if rule.decider is Decider.BOTH else rule.significance


def judge(
    rule: analysis.Rule,
    series: Mapping[str, analysis.Series],
    now: datetime,
    *,
    clusters: int = 0,
) -> analysis.FleetVerdict:
    """Judge one rule on every cluster and over all of them; there has to be a cluster.

    With `Decider.BOTH` one that its own data condemn fails by itself, and what is wrong with
    outliers is not wrong everywhere: they are left out of the pool when their own data condemn
    them, and when the pool is condemned that would pass without them and those that their own
    data condemn, these alone are.

    Args:
        rule: Its significance is that of the whole release.
        series: What was measured, by cluster.
        now: When it is judged.
        clusters: How many the release has, in all of its waves; not given: those of `series`.
    """
    clusters = max(clusters, len(series))
    if len(series) == 1:
        [(only, cluster_series)] = series.items()
        alone = replace(rule, significance=rule.significance / clusters)
        verdict = rule_verdicts.judge(alone, cluster_series, now)
        own = {only: verdict}
        return analysis.FleetVerdict(own, own, replace(verdict, target=""))
    fleet = _fleet(rule, series, now, clusters)
    own = {target: fleet.alone(target) for target in series}
    named = find_outliers(rule, fleet.seen, now)
    is_both = rule.decider is Decider.BOTH
    guilty = [target for target in named if is_both and own[target].is_condemned]
    pooled = fleet.without(guilty)
    remark = _difference(named)
    if is_both and pooled.is_condemned:
        suspects = fleet.suspects(own)
        rest = fleet.without(suspects)
        if rest.result is Result.PASS:
            own |= {
                target: fleet.condemned(target, own[target], pooled, suspects)
                for target in suspects
                if not own[target].is_condemned
            }
            fail = "fails" if len(suspects) == 1 else "fail"
            remark = f"; without {phrases.join_names(suspects)}, which {fail} alone"
            named, pooled = tuple(suspects), rest
    pooled = _told(pooled, remark, named)
    decided = {target: _decided(rule, own[target], pooled) for target in series}
    return analysis.FleetVerdict(decided, own, pooled)


def pool(
    rule: analysis.Rule,
    series: Mapping[str, analysis.Series],
    now: datetime,
    *,
    clusters: int = 0,
) -> analysis.Verdict:
    """Return what several clusters say together where each decides by itself: it is only shown.

    See `judge`, of whose result it is a part that does not grow with the square of the clusters.
    """
    fleet = _fleet(rule, series, now, max(clusters, len(series)))
    named = find_outliers(rule, fleet.seen, now)
    return _told(fleet.without(()), _difference(named), named)


def _told(pooled: analysis.Verdict, remark: str, named: tuple[str, ...]) -> analysis.Verdict:
    return replace(pooled, target="", sentence=pooled.sentence + remark, outliers=named)


def _fleet(
    rule: analysis.Rule, series: Mapping[str, analysis.Series], now: datetime, clusters: int
) -> "_Fleet":
    seen = {target: samples.at_cluster(rule, one, now) for target, one in series.items()}
    return _Fleet(rule, series, seen, now, clusters)


@dataclass(frozen=True, slots=True)
class _Fleet:
    """What was measured for one rule on the clusters of a release."""

    rule: analysis.Rule
    series: Mapping[str, analysis.Series]
    seen: Mapping[str, Sequence[samples.Look]]
    now: datetime
    #: Of the release, in all of its waves.
    clusters: int

    def alone(self, target: str) -> analysis.Verdict:
        """Return what a cluster's own data say."""
        single = own_rule(self.rule, self.clusters)
        return rule_verdicts.judge_looks(single, [self.series[target]], self.seen[target], self.now)

    def without(self, left_out: Iterable[str]) -> analysis.Verdict:
        """Return what the others say together; all of them when all would be left out."""
        whole = pooled_rule(self.rule, len(self.series), self.clusters)
        pool = set(self.series).difference(left_out) or set(self.series)
        series = {target: one for target, one in self.series.items() if target in pool}
        merged = samples.merge(whole, [(series[target], self.seen[target]) for target in series])
        return rule_verdicts.judge_looks(whole, list(series.values()), merged, self.now)

    def suspects(self, own: Mapping[str, analysis.Verdict]) -> list[str]:
        """Return who may be the reason for which the pool is condemned."""
        differing = find_outliers(self.rule, self.seen, self.now, chance=_CHANCE_OF_SUSPECTS)
        return [name for name in self.series if name in differing or own[name].is_condemned]

    def condemned(
        self,
        target: str,
        own: analysis.Verdict,
        pooled: analysis.Verdict,
        suspects: Sequence[str],
    ) -> analysis.Verdict:
        """Return the verdict on one of those without which nothing speaks against the others."""
        single = own_rule(self.rule, self.clusters)
        measured = rule_verdicts.summary(single, self.series[target], self.seen[target])
        names, them = phrases.join_names(suspects), "it" if len(suspects) == 1 else "them"
        sentence = (
            f"{measured}; without {names} nothing speaks against the others, with {them}: "
            f"{pooled.sentence}"
        )
        return replace(own, result=Result.FAIL, sentence=sentence, is_final=True, is_condemned=True)


def _difference(named: Sequence[str]) -> str:
    if not named:
        return ""
    differ = "differs" if len(named) == 1 else "differ"
    return f"; {', '.join(named)} {differ} from the other clusters"


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
