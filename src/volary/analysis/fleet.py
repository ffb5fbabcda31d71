"""One rule over all clusters of a release: own verdicts, a pooled one, and who decides.

The pooled verdict never mixes the numbers of clusters that differ anyway: each cluster of each
look is a stratum, and only the differences between both sides are added up. A cluster with
hardly any traffic adds little and blocks nothing; a cluster whose difference does not fit the
others' is named.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime

from volary.analysis import outliers, verdict
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
    measured = list(series.values())
    if len(measured) == 1:
        only = verdict.judge(rule, measured[0], now)
        own = {target: only for target in series}
        return analysis.FleetVerdict(own, own, dataclasses.replace(only, target=""))
    named = outliers.find(rule, measured, now)
    whole, single = rule, rule
    if rule.decider is Decider.BOTH:
        whole = dataclasses.replace(rule, significance=rule.significance / 2)
        single = dataclasses.replace(rule, significance=rule.significance / 2 / len(measured))
    own = {target: verdict.judge(single, each, now) for target, each in series.items()}
    pool = measured
    if rule.decider is Decider.BOTH:
        apart = {target for target in named if own[target].is_condemned}
        left = [each for target, each in series.items() if target not in apart]
        pool = left or measured
    pooled = verdict.judge_together(whole, pool, now)
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
