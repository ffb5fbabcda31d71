"""One rule over all clusters of a release: own verdicts, a pooled one, and who decides.

The pooled verdict never mixes the numbers of clusters that differ anyway: each cluster of each
look is a stratum, and only the differences between both sides are added up. A cluster with
hardly any traffic adds little and blocks nothing; a cluster whose difference does not fit the
others' is named.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime

from volary.analysis import looks, outliers, verdict
from volary.model import analysis
from volary.model.analysis import Decider


def judge(
    rule: analysis.Rule, series: Mapping[str, analysis.Series], now: datetime
) -> analysis.FleetVerdict:
    """Judge one rule on every cluster and over all of them; there has to be a cluster.

    With `Decider.BOTH` half of the accepted chance of a false alarm goes to the pooled
    verdict, the other half is shared by the clusters. One that its own data condemn fails by
    itself, and if it stands out it is left out of the pool: what is wrong there is not wrong
    everywhere.
    """
    seen = {target: looks.at_cluster(rule, each, now) for target, each in series.items()}
    if len(series) == 1:
        own = {
            target: verdict.judge_looks(rule, [each], seen[target], now)
            for target, each in series.items()
        }
        return analysis.FleetVerdict(
            own, own, dataclasses.replace(next(iter(own.values())), target="")
        )
    named = outliers.find(rule, seen, now)
    whole, single = rule, rule
    if rule.decider is Decider.BOTH:
        whole = dataclasses.replace(rule, significance=rule.significance / 2)
        single = dataclasses.replace(rule, significance=rule.significance / 2 / len(series))
    own = {
        target: verdict.judge_looks(single, [each], seen[target], now)
        for target, each in series.items()
    }
    pool = set(series)
    if rule.decider is Decider.BOTH:
        pool -= {target for target in named if own[target].is_condemned}
    gathered = [(each, seen[target]) for target, each in series.items() if target in (pool or own)]
    merged = looks.merge(rule, gathered)
    pooled = verdict.judge_looks(whole, [each for each, _ in gathered], merged, now)
    pooled = dataclasses.replace(pooled, target="", outliers=named)
    if named:
        pooled = dataclasses.replace(pooled, sentence=_with_outliers(pooled.sentence, named))
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


def _with_outliers(sentence: str, named: Sequence[str]) -> str:
    stand = "differs" if len(named) == 1 else "differ"
    return f"{sentence}; {', '.join(named)} {stand} from the other clusters"
