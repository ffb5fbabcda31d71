"""Where an application would be if it were placed anew now: only when somebody asks. Pure.

What moved away before may come back, groups may be left for better ones, and what is divided is
divided anew. A cluster that does not answer keeps its place: that is failover's business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.config.crosscheck import eligibility
from volary.model.fleet import fleets
from volary.placement.failover import move_plans, situations, spread


@dataclass(frozen=True, slots=True)
class Rebalance:
    """What a rebalance does."""

    chosen: tuple[str, ...]
    leaving: tuple[situations.Eviction, ...]
    shift: move_plans.MovePlan
    #: One sentence.
    reason: str
    #: Clusters that get more, and those that keep a part.
    more: tuple[str, ...]
    less: tuple[str, ...]
    #: By cluster that it is not on afterwards: why not.
    left_out: Mapping[str, str]

    @property
    def is_empty(self) -> bool:
        """Whether nothing moves."""
        return not self.shift.clusters


def choose(situation: situations.Situation) -> spread.Choice:
    """Return the clusters it would be on."""
    app, placement = situation.application, situation.placement
    silent = [name for name in placement.chosen if not situation.is_well(name)]
    left_out: dict[str, str] = {}
    candidates = []
    for cluster in situation.targets:
        why = "" if cluster.name in silent else _why_not(situation, cluster)
        if why:
            left_out[cluster.name] = why
        else:
            candidates.append(cluster)
    choice = spread.choose(candidates, app.spread, silent)
    return spread.Choice(choice.clusters, {**left_out, **choice.left_out}, choice.failure)


def _why_not(situation: situations.Situation, cluster: fleets.Cluster) -> str:
    refused = eligibility.exclusion_reason(situation.application, cluster)
    return refused or ("" if situation.is_well(cluster.name) else "it does not answer")


def plan(
    situation: situations.Situation,
    choice: spread.Choice,
    before: Mapping[str, int],
    after: Mapping[str, int],
    *,
    by: str,
) -> Rebalance:
    """Return what moves to the clusters of a choice that is no failure, as `by` asks.

    Pods of each cluster are `before` as they are divided now (empty: they are not), and `after`
    as they will be.
    """
    placement = situation.placement
    chosen = choice.names
    old = tuple(
        dict.fromkeys((*placement.chosen, *(eviction.cluster for eviction in placement.leaving)))
    )
    well = [name for name in chosen if situation.is_well(name)]
    new = [name for name in well if name not in placement.chosen]
    grown = [name for name in well if after.get(name, 0) > before.get(name, 0)]
    reduced = [
        name for name in well if name not in new and after.get(name, 0) < before.get(name, 0)
    ]
    lost = [name for name in old if name not in chosen]
    place = tuple(dict.fromkeys((*new, *grown)))
    leaving = tuple(_eviction(situation, name, place or tuple(well), by) for name in lost)
    reachable = tuple(name for name in lost if situation.is_well(name))
    # Before anything goes, those that stay are seen healthy.
    seen = place or (tuple(well) if reachable else ())
    shift = move_plans.MovePlan((), seen, tuple(reduced), reachable, fresh=True)
    told = _describe(by, new, grown, reduced, lost)
    return Rebalance(chosen, leaving, shift, told, place, tuple(reduced), choice.left_out)


def _eviction(
    situation: situations.Situation, name: str, to: tuple[str, ...], by: str
) -> situations.Eviction:
    known = {eviction.cluster: eviction for eviction in situation.placement.leaving}
    why = situation.placement.away.get(name) or f"{by} asked for a rebalance"
    return situations.Eviction(
        name,
        situations.Cause.REBALANCE,
        why,
        situation.now,
        replacements=to,
        lost=not situation.is_well(name) or (name in known and known[name].lost),
    )


def _describe(
    by: str, new: Sequence[str], grown: Sequence[str], reduced: Sequence[str], lost: Sequence[str]
) -> str:
    parts = [
        f"{word} {', '.join(names)}"
        for word, names in (
            ("new on", new),
            ("more on", [cluster_name for cluster_name in grown if cluster_name not in new]),
            ("less on", reduced),
            ("off", lost),
        )
        if names
    ]
    return f"{by} rebalances: {'; '.join(parts) or 'nothing moves'}"
