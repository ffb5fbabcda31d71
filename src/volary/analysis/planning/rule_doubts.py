"""What speaks against a rule in the traffic it will see, by a few simulated releases.

So few that it takes a second or two: what is far off shows, what is near a limit does not.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from volary.analysis.planning import rule_plans
from volary.analysis.statistics import binomial
from volary.model import analysis, phrases

#: By so much more than it promises a rule has to fail healthy releases before it is doubted.
MARGIN = 0.05
#: And so rarely chance alone would do that.
_CHANCE = 0.01
#: What is to be found: twice the errors or latency, in half of the releases.
_EFFECT, _FOUND = 2.0, 0.5
_RUNS, _FEWEST_RUNS = 40, 20
#: All looks of releases with one effect, on all of their clusters.
_MOST_LOOKS = 1600


@dataclass(frozen=True, slots=True)
class Doubt:
    """One thing that speaks against a rule."""

    message: str
    hint: str


def doubts(rule: analysis.Rule, setting: rule_plans.Setting) -> Iterator[Doubt]:
    """Simulate releases, and yield what speaks against a rule; `setting.runs` is not looked at.

    Only what is found by chance is held against `significance`, and other rules against its
    default.
    """
    looks = max(1, int((setting.duration - rule.unjudged) / rule.interval))
    looks = looks if rule.count is None else min(looks, rule.count)
    runs = min(_RUNS, _MOST_LOOKS // (looks * len(setting.by_cluster)))
    if runs < _FEWEST_RUNS:
        many = phrases.count(len(setting.by_cluster), "cluster")
        yield Doubt(
            f"{looks} looks on {many} are too many to be simulated here",
            "volary analysis plan does it",
        )
        return
    # The same rule by another name, or of another application, does the same.
    alike = replace(rule, name="metric", provider="", arguments={})
    healthy = _outcome(_Simulated(alike, replace(setting, runs=runs)), 1.0)
    promised = rule.significance if rule.goes_by_chance else analysis.Rule().significance
    failed = round(healthy.failed * runs)
    by_chance = binomial.at_least(failed, runs, promised)
    if healthy.failed > promised + MARGIN and by_chance < _CHANCE:
        yield Doubt(
            f"{failed} of {runs} simulated healthy releases fail, where {100 * promised:g} % are"
            " accepted",
            "judgement: sequential takes all looks together; volary analysis plan says more",
        )
    if not _finds_differences(rule):
        return
    twice = _outcome(_Simulated(alike, replace(setting, runs=runs)), _EFFECT)
    if twice.failed < _FOUND:
        length = phrases.duration(setting.duration)
        yield Doubt(
            f"{round(twice.failed * runs)} of {runs} simulated releases with twice the errors or"
            f" latency would be found within {length}",
            "measure longer, or send canary more traffic; volary analysis plan says what is found",
        )


def _finds_differences(rule: analysis.Rule) -> bool:
    """Whether twice as much is more than the rule allows."""
    return rule.strategy.compares and 1 / _EFFECT < rule.allowed_ratio < _EFFECT


class _Simulated:
    """A rule in some traffic, which is the same as another that reads the same."""

    def __init__(self, rule: analysis.Rule, setting: rule_plans.Setting) -> None:
        self.rule, self.setting = rule, setting
        self._key = repr((rule, setting))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Simulated) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=256)
def _outcome(simulated: _Simulated, effect: float) -> rule_plans.Outcome:
    return rule_plans.outcomes(simulated.rule, simulated.setting, (effect,))[0]
