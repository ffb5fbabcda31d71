"""Which kinds are followed in a cluster: those that applications have, and their pods. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

#: Kinds of a cluster that are followed; others are left out, and that is said.
MOST_KINDS = 64
_POD = ("", "Pod")
_REPLICA_SET = ("apps", "ReplicaSet")
_JOB = ("batch", "Job")
_ENDPOINTS = ("discovery.k8s.io", "EndpointSlice")
_EVENT = ("", "Event")
_WORKLOADS = frozenset(
    {("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")}
    | {("batch", "Job"), ("batch", "CronJob"), ("", "ReplicationController")}
)


class Role(StrEnum):
    """What is kept of a source."""

    #: Whole objects that bear our labels.
    APPLIED = "applied"
    #: What controllers made: what a tree shows of it.
    CHILDREN = "children"
    #: Which applications have something there, and of which kinds.
    INVENTORIES = "inventories"
    #: Warnings, the newest of each object.
    EVENTS = "events"


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A kind that is followed in a cluster, and for what."""

    role: Role
    group: str
    kind: str


INVENTORIES = Source(Role.INVENTORIES, "", "ConfigMap")
EVENTS = Source(Role.EVENTS, *_EVENT)


def choose(kinds: Collection[tuple[str, str]]) -> tuple[Source, ...]:
    """Return what is followed where applications have objects of these kinds, sorted."""
    shown = sorted(kinds)[:MOST_KINDS]
    chosen = {Source(Role.APPLIED, group, kind) for group, kind in shown}
    children: set[tuple[str, str]] = set()
    if _runs_pods(shown):
        children |= {_POD, _REPLICA_SET}
    if ("batch", "CronJob") in shown:
        children.add(_JOB)
    if ("", "Service") in shown:
        children.add(_ENDPOINTS)
    chosen |= {Source(Role.CHILDREN, group, kind) for group, kind in children}
    return tuple(sorted(chosen | {EVENTS} if chosen else chosen))


def _runs_pods(kinds: Collection[tuple[str, str]]) -> bool:
    """Say whether pods may come of these kinds; a custom kind may make anything."""
    return any(kind in _WORKLOADS or _is_custom(kind[0]) for kind in kinds)


def _is_custom(group: str) -> bool:
    return "." in group and not group.endswith(".k8s.io")
