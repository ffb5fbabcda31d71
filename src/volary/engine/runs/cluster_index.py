"""Where each cluster stands among those of a run, and which are left out.

Like `counters`, a cache of what was counted, carried over when one cluster is replaced: a
run over thousands of clusters looks one up without passing all the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

#: Tuples remembered at most, of all runs; what was dropped is counted anew.
_MOST = 512


class Member(Protocol):
    """What is counted of a cluster."""

    @property
    def name(self) -> str:
        """Its name in the fleet."""
        ...

    @property
    def left_out(self) -> str:
        """Why the run goes on without it; empty: it does not."""
        ...


M = TypeVar("M", bound=Member)


@dataclass(frozen=True, slots=True)
class ClusterIndex:
    """What is known about all clusters of a run."""

    positions: Mapping[str, int]
    #: Why, for those that are left out.
    left_out: Mapping[str, str]


def of(clusters: tuple[M, ...]) -> ClusterIndex:
    """Return what is known about `clusters`."""
    known = _INDEXES.get(id(clusters))
    if known is not None and known[0] is clusters:
        return known[1]
    made = ClusterIndex(
        {cluster.name: place for place, cluster in enumerate(clusters)},
        {cluster.name: cluster.left_out for cluster in clusters if cluster.left_out},
    )
    return _remember(clusters, made)


def find(clusters: tuple[M, ...], name: str) -> M | None:
    """Return the cluster called `name`; None when it is none of them."""
    place = of(clusters).positions.get(name)
    return None if place is None else clusters[place]


def replaced(clusters: tuple[M, ...], changed: M) -> tuple[M, ...]:
    """Return `clusters` with the one of the same name replaced."""
    before = of(clusters)
    place = before.positions[changed.name]
    after = (*clusters[:place], changed, *clusters[place + 1 :])
    left_out = before.left_out
    if left_out.get(changed.name, "") != changed.left_out:
        others = {name: why for name, why in left_out.items() if name != changed.name}
        left_out = {**others, changed.name: changed.left_out} if changed.left_out else others
    _remember(after, ClusterIndex(before.positions, left_out))
    return after


def _remember(clusters: tuple[Member, ...], roster: ClusterIndex) -> ClusterIndex:
    if len(_INDEXES) >= _MOST:
        _INDEXES.pop(next(iter(_INDEXES)))
    _INDEXES[id(clusters)] = (clusters, roster)
    return roster


#: By the identity of the tuple, which is held so that it stays its own.
_INDEXES: dict[int, tuple[tuple[Member, ...], ClusterIndex]] = {}
