"""A share of the whole fleet, divided over its clusters. Pure.

Pods by Webster's method with the clusters' own pods as weights. Traffic in whole percentages,
point by point: the next one goes to the cluster that is furthest below what its pods deserve,
until one more would lead further away from the wanted share than it is.
"""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from volary.model import errors
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.placement.replicas import division

_ALL = 100


def pods(
    wanted: rollout_stages.Replicas,
    held: Mapping[str, int],
    most: rollout_stages.Replicas | None = None,
) -> dict[str, int]:
    """Return how many pods each cluster gets of a batch.

    A percentage is of all pods and rounded up, like everywhere (PipeCD: Calculate); the sum is
    exact. More than asked for never takes a pod away from a cluster.

    Args:
        wanted: Of the whole fleet.
        held: The pods of primary by cluster; a cluster without any gets none.
        most: At most so many in one cluster, a percentage of its own pods, rounded up. What does
            not fit goes to the others.

    Raises:
        UserError: The clusters may not hold as many.
    """
    total = sum(held.values())
    count = wanted.of(total)
    limits = {
        name: min(count, most.of(own)) if most is not None else count
        for name, own in held.items()
        if own > 0
    }
    if sum(limits.values()) < count:
        raise errors.user_error(
            f"{count} pods do not fit: the clusters hold {sum(limits.values())} of them"
            + (f" with at most {most} in each" if most is not None else ""),
            hint="raise atMost, or ask for fewer",
        )
    counts = dict.fromkeys(held, 0)
    while (left := count - sum(counts.values())) > 0:
        room = {name: held[name] for name in limits if counts[name] < limits[name]}
        base = {name: counts[name] for name in room}
        for name, got in division.webster(left, room, base).items():
            counts[name] = min(got, limits[name])
    return counts


@dataclass(frozen=True, slots=True)
class Traffic:
    """Percentages by cluster, and what they come to."""

    weights: Mapping[str, int]
    #: Of all traffic, in percent.
    reached: Fraction

    @property
    def told(self) -> str:
        """The reached share for people: ``9.8 %``."""
        rounded = round(float(self.reached), 1)
        return f"{rounded:g} %"


def traffic(
    wanted: int,
    load: Mapping[str, int],
    receivers: Mapping[str, int],
    limits: Mapping[str, int] | None = None,
) -> Traffic:
    """Return how many percent of each cluster's own traffic go to a variant.

    The share of all traffic comes out within half a point of one cluster, so at most half a
    percent off; a larger share never takes a point away from a cluster.

    Args:
        wanted: Percent of all traffic.
        load: What each cluster has of it: its primary pods stand for its traffic.
        receivers: The variant's pods by cluster; one without any gets no traffic.
        limits: At most so many percent of a cluster's traffic; 100 where it is not here.

    Raises:
        UserError: The clusters with such pods have too little of the traffic.
    """
    total = sum(load.values())
    points = dict.fromkeys(load, 0)
    votes = {
        name: Fraction(receivers[name], load[name])
        for name in load
        if load[name] > 0 and receivers.get(name, 0) > 0
    }
    bounds = {name: (limits or {}).get(name, _ALL) for name in votes}
    queue = [(-vote, name) for name, vote in votes.items() if bounds[name] > 0]
    heapq.heapify(queue)
    target, reached = wanted * total, 0
    while queue:
        _, name = heapq.heappop(queue)
        if abs(target - reached) <= abs(target - reached - load[name]):
            break
        points[name] += 1
        reached += load[name]
        if points[name] < bounds[name]:
            heapq.heappush(queue, (-votes[name] / (2 * points[name] + 1), name))
    fleet_traffic = Traffic(points, Fraction(reached, max(total, 1)))
    if 2 * abs(target - reached) > total or (wanted and not total):
        raise errors.user_error(
            f"{wanted} % of all traffic cannot be reached: the clusters with such pods have only"
            f" {fleet_traffic.told} (primary's pods stand for the traffic, and there are {total})",
            hint="roll out to more clusters, or ask for less",
        )
    return fleet_traffic
