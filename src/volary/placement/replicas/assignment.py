"""How many pods each cluster gets of each divided workload: decided once, then pinned.

A run is created with one assignment; its stages, a restarted process and a rollback read the same
numbers. Static weights decide anew every time (Karmada does, and it is stable by itself while the
clusters stay); by free capacity what runs stays, and only the difference is placed.

What cannot be known is never guessed: of a cluster that cannot be read only the number it had
counts, and it keeps that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from volary.model import errors, json
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.replicas import capacity as estimates
from volary.placement.replicas import divisible_workloads, division


@dataclass(frozen=True, slots=True)
class ClusterShare:
    """What one cluster gets of the workload, or the autoscaler, of this key."""

    key: manifest.ResourceKey
    share: divisible_workloads.Share
    #: How the numbers of its assignment came about, one sentence.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadAssignment:
    """One workload, or one autoscaler, and who gets how much of it."""

    key: manifest.ResourceKey
    #: By cluster; one that is not here has no say in it.
    shares: Mapping[str, divisible_workloads.Share]
    #: How the numbers came about, one sentence.
    reason: str = ""
    #: By cluster: how many more would have fit when it was read.
    room: Mapping[str, int] = field(default_factory=dict)

    @property
    def replicas(self) -> dict[str, int]:
        """The number of pods by cluster."""
        return {name: share.replicas for name, share in self.shares.items()}


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who gets how much of everything that is divided."""

    workloads: tuple[WorkloadAssignment, ...] = ()
    #: When the free capacity of each cluster was read.
    read_at: Mapping[str, datetime] = field(default_factory=dict)
    #: Clusters that got nothing new, and why.
    unavailable: Mapping[str, str] = field(default_factory=dict)

    def find(self, key: manifest.ResourceKey) -> WorkloadAssignment | None:
        """Return how a workload is divided; None: it is not."""
        return next((workload for workload in self.workloads if workload.key == key), None)

    def replicas(self, key: manifest.ResourceKey) -> dict[str, int]:
        """Return the number of pods by cluster; empty: it is not divided."""
        divided = self.find(key)
        return divided.replicas if divided else {}

    @property
    def clusters(self) -> tuple[str, ...]:
        """Clusters that have a share of anything."""
        names = (name for workload in self.workloads for name in workload.shares)
        return tuple(dict.fromkeys(names))

    def of(self, name: str) -> tuple[ClusterShare, ...]:
        """Return what one cluster gets."""
        return tuple(
            ClusterShare(workload.key, workload.shares[name], workload.reason)
            for workload in self.workloads
            if name in workload.shares
        )


#: Nothing is divided, or nothing is known.
EMPTY = Assignment()

Capacities = Mapping[str, estimates.ClusterCapacity]
_NONE_UNAVAILABLE: Mapping[str, str] = {}
_NO_CAPACITIES: Capacities = {}


@dataclass(frozen=True, slots=True)
class _Situation:
    """What one workload is divided in."""

    policy: overrides.ReplicaDivision
    clusters: Sequence[fleets.Cluster]
    previous: Assignment
    rooms: Capacities
    unavailable: Mapping[str, str]
    fresh: bool


def of_clusters(shares: Mapping[str, Iterable[ClusterShare]]) -> Assignment:
    """Return the assignment that gives each cluster its shares.

    Shares that were decided at different times keep their sentences, one after the other.
    """
    by_workload: dict[manifest.ResourceKey, dict[str, ClusterShare]] = {}
    for name, cluster_shares in shares.items():
        for cluster_share in cluster_shares:
            by_workload.setdefault(cluster_share.key, {})[name] = cluster_share
    return Assignment(tuple(_workload(key, had) for key, had in by_workload.items()))


def _workload(key: manifest.ResourceKey, shares: Mapping[str, ClusterShare]) -> WorkloadAssignment:
    reasons = dict.fromkeys(one.reason for one in shares.values() if one.reason)
    return WorkloadAssignment(
        key, {name: one.share for name, one in shares.items()}, "; ".join(reasons)
    )


def assign(
    policy: overrides.ReplicaDivision,
    workloads: Sequence[divisible_workloads.Workload],
    clusters: Sequence[fleets.Cluster],
    previous: Assignment = EMPTY,
    capacity: Capacities = _NO_CAPACITIES,
    unavailable: Mapping[str, str] = _NONE_UNAVAILABLE,
    *,
    fresh: bool = False,
) -> Assignment:
    """Return who gets how much of each workload, with the reason of each.

    Args:
        policy: How it is divided.
        workloads: What is divided, see `divisible_workloads.find`.
        clusters: Those that may get some, in the fleet's order. What was on others is placed anew.
        previous: What they have.
        capacity: What was free, by cluster; looked at only by free capacity. Whoever is not here
            gets no more.
        unavailable: Clusters that keep what they have, with the reason of each: one that cannot be
            read or written. By static weights they are divided over like the others.
        fresh: Place everything anew instead of the difference only: `volary rebalance`.

    Raises:
        UserError: There is not enough room, or a workload cannot be divided like this.
    """
    if policy.division is not overrides.Division.DIVIDED:
        return EMPTY
    by_capacity = policy.needs_capacity
    names = {cluster.name for cluster in clusters}
    silent = {name: why for name, why in unavailable.items() if by_capacity and name in names}
    situation = _Situation(policy, clusters, previous, capacity, silent, fresh)
    divided = tuple(_divide(workload, situation) for workload in workloads)
    read = {
        name: cluster_capacity.read_at
        for name, cluster_capacity in capacity.items()
        if name in names and by_capacity
    }
    return Assignment(divided, read, silent)


def restored(
    wanted: Assignment,
    workloads: Sequence[divisible_workloads.Workload],
    clusters: Sequence[fleets.Cluster],
    fixed: Mapping[str, int] | None = None,
) -> Assignment | None:
    """Return an earlier assignment as it was, for the rollback; None where it does not fit.

    It fits when it divides the very totals that are to be divided, over clusters that are still
    there, and clusters that nothing can be changed on (`fixed`, by their number of pods in all)
    have what it gives them.
    """
    names = {cluster.name for cluster in clusters}
    candidates = [wanted.find(workload.key) for workload in workloads]
    divided = [part for part in candidates if part is not None]
    if len(divided) < len(workloads) or not workloads:
        return None
    sums = {name: sum(part.replicas.get(name, 0) for part in divided) for name in fixed or {}}
    fits = sums == dict(fixed or {}) and all(
        sum(part.replicas.values()) == workload.total
        and all(name in names for name, count in part.replicas.items() if count)
        for part, workload in zip(divided, workloads, strict=True)
    )
    if not fits:
        return None
    return Assignment(
        tuple(replace(part, reason=_restored_reason(part), room={}) for part in divided)
    )


def _restored_reason(divided: WorkloadAssignment) -> str:
    total = sum(divided.replicas.values())
    return f"{total} as with the release that is gone back to: {_listed(divided.shares)}"


def needs_capacity(
    policy: overrides.ReplicaDivision,
    workloads: Sequence[divisible_workloads.Workload],
    clusters: Sequence[fleets.Cluster],
    previous: Assignment = EMPTY,
) -> bool:
    """Say whether the free capacity decides anything: something is to be placed that is not."""
    if not policy.needs_capacity:
        return False
    return any(
        sum(_current(workload, previous, [one.name for one in clusters]).values()) < workload.total
        for workload in workloads
        if workload.is_uniform
    )


def _divide(workload: divisible_workloads.Workload, situation: _Situation) -> WorkloadAssignment:
    if situation.policy.preference is overrides.Preference.WEIGHTED:
        shares, reason, room = _by_weight(workload, situation)
    else:
        shares, reason, room = _by_capacity(workload, situation)
    return WorkloadAssignment(workload.key, shares, reason, room)


_Decided = tuple[dict[str, divisible_workloads.Share], str, dict[str, int]]


def _by_weight(workload: divisible_workloads.Workload, situation: _Situation) -> _Decided:
    """Divide what each cluster renders; where they render other numbers, each its own.

    A cluster that is divided over without rendering anything now (it is cordoned, or lost) has its
    share all the same: that is what backfill brings.
    """
    shares: dict[str, divisible_workloads.Share] = {}
    silent = workload.amount if workload.is_uniform else None
    for amount in dict.fromkeys(workload.amounts.values()):
        numbers = division.by_weights(amount.replicas, situation.policy.weights, situation.clusters)
        whole = _shares(workload, amount, numbers)
        shares |= {
            name: whole[name] for name in whole if workload.amounts.get(name, silent) == amount
        }
    how = "by weight" if situation.policy.weights else "evenly"
    total = f"{workload.total} " if workload.is_uniform else ""
    return shares, f"{total}{how}: {_listed(shares)}", {}


def _by_capacity(workload: divisible_workloads.Workload, situation: _Situation) -> _Decided:
    if not workload.is_uniform:
        told = ", ".join(f"{name} {amount.replicas}" for name, amount in workload.amounts.items())
        raise errors.user_error(
            f"{workload.key.title} cannot be divided by free capacity: clusters are to share other"
            f" numbers of pods ({told})",
            hint="write the same number for every cluster, or use preference: Weighted",
            where=workload.origin,
        )
    names = [cluster.name for cluster in situation.clusters]
    held = _current(workload, situation.previous, names)
    kept = {name: held.get(name, 0) for name in names if name in situation.unavailable}
    wanted = max(0, workload.total - sum(kept.values()))
    room = {
        name: _pods_that_fit(situation.rooms.get(name), workload.pods[name])
        for name in names
        if name not in kept and name in workload.pods
    }
    prior = {name: count for name, count in held.items() if name in room}
    numbers = _placed(workload, wanted, room, prior, situation)
    had = {name: count for name, count in kept.items() if count}
    whole = _shares(workload, workload.amount, {**had, **numbers})
    shares = {name: whole[name] for name in names if name in whole}
    grows = situation.fresh or sum(prior.values()) < wanted
    reason = f"{_division_reason(wanted, prior, situation)}: {_listed(shares)}"
    reasons = [reason, *(f"{name} keeps {count}" for name, count in had.items())]
    return shares, "; ".join(reasons), room if grows else {}


def _pods_that_fit(left: estimates.ClusterCapacity | None, pod: json.JsonObject) -> int:
    return 0 if left is None else estimates.pods_that_fit(left, pod)


def _placed(
    workload: divisible_workloads.Workload,
    wanted: int,
    room: Mapping[str, int],
    prior: Mapping[str, int],
    situation: _Situation,
) -> dict[str, int]:
    try:
        replicas = division.by_capacity(
            wanted,
            room,
            prior,
            aggregated=situation.policy.preference is overrides.Preference.AGGREGATED,
            fresh=situation.fresh,
        )
    except errors.UserError as error:
        said = error.problems[0]
        fits = ", ".join(f"{name} {count}" for name, count in room.items()) or "no cluster is left"
        silent = "".join(f"; {name}: {why}" for name, why in situation.unavailable.items())
        raise errors.user_error(
            f"{workload.key.title}: {said.message} (free: {fits}{silent})",
            hint=said.hint,
            where=workload.origin,
        ) from error
    return {name: replicas.get(name, 0) for name in room}


def _division_reason(wanted: int, prior: Mapping[str, int], situation: _Situation) -> str:
    have = sum(prior.values())
    if situation.fresh:
        return f"{wanted} anew, {_DIVISION_REASONS[situation.policy.preference]}"
    if have == wanted:
        return f"{wanted} as before"
    if have > wanted:
        return f"{have - wanted} fewer, by what runs"
    placed = f"{wanted - have} more" if have else str(wanted)
    return f"{placed} {_DIVISION_REASONS[situation.policy.preference]}"


_DIVISION_REASONS = {
    overrides.Preference.WEIGHTED: "by weight",
    overrides.Preference.AVAILABLE: "by free capacity",
    overrides.Preference.AGGREGATED: "on as few clusters as hold them",
}


def _current(
    workload: divisible_workloads.Workload, previous: Assignment, names: Sequence[str]
) -> dict[str, int]:
    """Return what clusters that are still there have of a workload."""
    before = previous.replicas(workload.key)
    return {name: before[name] for name in names if name in before}


def _shares(
    workload: divisible_workloads.Workload,
    amount: divisible_workloads.Share,
    numbers: Mapping[str, int],
) -> dict[str, divisible_workloads.Share]:
    """Return the shares with completions and least replicas, divided by the numbers of pods."""
    least = amount.least
    if least is not None:
        numbers = _at_least_one(workload, numbers)
        lower = division.webster(least, numbers)
        # What may go down to no pod at all (KEDA) may do so everywhere.
        floor = min(1, least)
        return {
            name: divisible_workloads.Share(most, least=max(floor, lower.get(name, 0)))
            for name, most in numbers.items()
        }
    if amount.completions is None:
        return {name: divisible_workloads.Share(count) for name, count in numbers.items()}
    divided = division.webster(amount.completions, numbers)
    return {
        name: divisible_workloads.Share(count, divided.get(name, 0))
        for name, count in numbers.items()
    }


def _at_least_one(
    workload: divisible_workloads.Workload, numbers: Mapping[str, int]
) -> dict[str, int]:
    """Give every cluster one of an autoscaler's most replicas: it cannot have none.

    Where the division gives none, one is taken from the cluster with most, the first of equals.
    """
    counts = dict(numbers)
    if sum(counts.values()) < len(counts):
        raise errors.user_error(
            f"{workload.key.title} cannot be divided: at most {sum(counts.values())} replicas are"
            f" fewer than the {len(counts)} clusters, and an autoscaler needs at least one on each",
            hint="raise the most replicas, or choose fewer clusters",
            where=workload.origin,
        )
    for name in counts:
        if counts[name] == 0:
            richest = max(counts, key=lambda cluster_name: counts[cluster_name])
            counts[richest] -= 1
            counts[name] = 1
    return counts


def _listed(shares: Mapping[str, divisible_workloads.Share]) -> str:
    return ", ".join(f"{name} {share}" for name, share in shares.items()) or "no cluster"
