"""What people see of clusters: see `controller.views`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TaintView:
    """A mark that keeps applications away from a cluster."""

    key: str
    value: str
    #: ``NoSchedule`` or ``NoExecute``.
    effect: str
    since: datetime | None
    #: A person, ``volary`` for a rule, or ``fleet file``.
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A registered cluster."""

    name: str
    labels: Mapping[str, str]
    provider: str
    region: str
    zones: tuple[str, ...]
    suspended: bool
    namespaces: tuple[str, ...]
    #: ``ready``, ``notReady``, ``unreachable``, ``suspended`` or ``unknown``.
    status: str
    reason: str
    #: Since when it is so.
    since: datetime | None
    #: What is seen, but not for long enough to count; empty: nothing else.
    changing: str
    #: Whether anything new begins there without tolerating a taint.
    schedulable: bool
    taints: tuple[TaintView, ...]
