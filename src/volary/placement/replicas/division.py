"""Divides replicas over clusters, bit for bit as Karmada since 1.16: Webster's method.

One more replica never takes one away from another cluster, so what is divided is stable while
it grows.
"""

import heapq
from collections.abc import Mapping, Sequence

from volary.model import errors
from volary.model.fleet import fleets, selectors
from volary.model.placement import overrides


def webster(
    seats: int,
    votes: Mapping[str, int],
    initial: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return how many of `seats` each party gets beside what it has (Karmada: Webster).

    The next seat goes to the largest votes / (2 × seats + 1); of equals to who has fewer seats,
    then by name. (Karmada turns the names' order round where the hash of a binding's uid is odd.)
    """
    parties = {name: [0, had] for name, had in (initial or {}).items()}
    for name, count in votes.items():
        parties.setdefault(name, [0, 0])[0] = count
    if not parties:
        return {}
    names = sorted(parties)
    queue = [
        (-parties[name][0] / (2 * parties[name][1] + 1), parties[name][1], rank)
        for rank, name in enumerate(names)
    ]
    heapq.heapify(queue)
    for _ in range(seats):
        _, had, rank = queue[0]
        party = parties[names[rank]]
        party[1] += 1
        heapq.heapreplace(queue, (-party[0] / (2 * (had + 1) + 1), had + 1, rank))
    return {name: had for name, (_, had) in sorted(parties.items())}


def by_weights(
    replicas: int,
    weights: Sequence[overrides.Weight],
    clusters: Sequence[fleets.Cluster],
) -> dict[str, int]:
    """Return the replicas of each cluster by static weights (Karmada: static weight list).

    A cluster weighs what the heaviest rule that takes it says; those that none takes get
    none. Without weights, or with none that counts, all clusters weigh the same.
    """
    votes = {
        cluster.name: max(
            (rule.weight for rule in weights if selectors.matches(rule.targets, cluster)), default=0
        )
        for cluster in clusters
    }
    # Where nobody has any votes, all are equals.
    replica_counts = webster(replicas, votes)
    return {cluster.name: replica_counts[cluster.name] for cluster in clusters}


def by_capacity(
    wanted: int,
    allocatable: Mapping[str, int],
    prior: Mapping[str, int],
    *,
    aggregated: bool = False,
    fresh: bool = False,
) -> dict[str, int]:
    """Return the replicas of each cluster by free capacity (Karmada: dynamic weight, Aggregated).

    What runs on clusters that are still there stays while it grows; when it shrinks, all
    give up their share; `fresh` divides everything anew. `aggregated` fills as few clusters as
    hold it, those with most room first, by name among equals (Karmada's order of equals is
    left open).

    Raises:
        UserError: There is not enough room.
    """
    held = {name: prior[name] for name in prior if name in allocatable}
    have = sum(held.values())
    if have == wanted and not fresh:
        return dict(held)
    target, room, base = _task(wanted, allocatable, held, fresh=fresh)
    available = sum(room.values())
    if available < target:
        raise errors.user_error(
            f"available replicas {available} are not enough for {target}",
            hint="free capacity, add clusters, or ask for fewer replicas",
        )
    order = sorted(room.items(), key=lambda cluster_room: (-cluster_room[1], cluster_room[0]))
    if aggregated:
        order = _shortest(order, {name for name, count in base.items() if count > 0}, target)
    got = webster(target, dict(order))
    return {
        name: count
        for name in sorted({*base, *got})
        if (count := base.get(name, 0) + got.get(name, 0)) > 0
    }


def _task(
    wanted: int, allocatable: Mapping[str, int], held: Mapping[str, int], *, fresh: bool
) -> tuple[int, Mapping[str, int], Mapping[str, int]]:
    """Return what has to be divided, by which weights, and what stays."""
    have = sum(held.values())
    if fresh:
        return wanted, {name: room + held.get(name, 0) for name, room in allocatable.items()}, {}
    if have > wanted:
        return wanted, held, {}
    return wanted - have, allocatable, held


def _shortest(
    order: Sequence[tuple[str, int]], used: set[str], target: int
) -> list[tuple[str, int]]:
    """Return the shortest beginning of the order that has room for all, used clusters first."""
    first = [entry for entry in order if entry[0] in used]
    chosen: list[tuple[str, int]] = []
    total = 0
    for cluster_room in [*first, *(entry for entry in order if entry[0] not in used)]:
        chosen.append(cluster_room)
        total += cluster_room[1]
        if total >= target:
            break
    return chosen
