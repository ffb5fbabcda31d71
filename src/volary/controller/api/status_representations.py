"""What people see of an application over all its clusters: as in `representations`."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from volary.controller.api import representations
from volary.model import json


class Health(representations.Representation, frozen=True):
    """How something is, and why."""

    #: ``healthy``, ``progressing``, ``degraded``, ``suspended``, ``missing`` or ``unknown``.
    status: str
    reason: str


class Release(representations.Representation, frozen=True):
    """A commit and the clusters whose primary workloads run it."""

    commit: str
    clusters: tuple[str, ...]


class VariantState(representations.Representation, frozen=True):
    """What a variant runs."""

    #: ``primary``, ``canary`` or ``baseline``.
    name: str
    commits: tuple[str, ...]
    images: tuple[str, ...]
    ready: int
    total: int


class ObjectState(representations.Representation, frozen=True):
    """One object in one cluster."""

    group: str
    kind: str
    namespace: str
    name: str
    health: Health
    #: The commit it was applied from.
    commit: str
    variant: str
    #: Pods of its newest revision; 0 of 0 for what runs none.
    ready: int
    total: int
    images: tuple[str, ...]
    #: The numbers of its kind, as Kubernetes names them.
    numbers: json.JsonObject


class ClusterState(representations.Representation, frozen=True):
    """What there is in one cluster."""

    name: str
    #: It was seen just now; otherwise all below is what was last known.
    current: bool
    #: When that was; none: never.
    seen: datetime | None
    #: Why it cannot be seen; empty: it was.
    unreachable_reason: str
    unknown_since: datetime | None
    #: The application is for this cluster.
    wanted: bool
    health: Health
    #: Of primary's workloads; more than one: it is between two releases.
    commits: tuple[str, ...]
    variants: tuple[VariantState, ...]
    ready: int
    total: int
    objects: tuple[ObjectState, ...]
    #: What could not be read.
    warnings: tuple[str, ...]
    #: How the cluster itself is, as in the list of clusters; empty where no server knows it.
    state: str = ""
    #: Nothing new begins there.
    cordoned: bool = False


class ObjectSummary(representations.Representation, frozen=True):
    """One object over the clusters that have it."""

    group: str
    kind: str
    namespace: str
    name: str
    clusters: tuple[str, ...]
    #: In how many of them its newest generation was seen by its controller.
    observed: int
    ready: int
    total: int
    #: The numbers of its kind, summed over the clusters that were seen.
    numbers: json.JsonObject
    #: How many clusters by health.
    health: Mapping[str, int]


class ApplicationStatus(representations.Representation, frozen=True):
    """An application over all its clusters, as it was seen just now."""

    name: str
    #: When the clusters were read.
    at: datetime
    health: Health
    #: As the application's own ``status`` and ``reason``; empty where no server knows it.
    status: str
    reason: str
    #: The last commit that succeeded everywhere; empty: none did.
    running_commit: str
    #: Id of the run under way, or of the last one.
    run: str
    #: What it waits for; empty: for nothing.
    waiting_reason: str
    #: The commits that run, the one in most clusters first.
    releases: tuple[Release, ...]
    variants: tuple[VariantState, ...]
    #: Pods in the clusters that were seen.
    ready: int
    total: int
    objects: tuple[ObjectSummary, ...]
    clusters: tuple[ClusterState, ...]
    #: Why less than everything could be found out; empty: it could.
    problem: str = ""
    #: What the last release warned of; empty where no server knows it.
    warnings: tuple[str, ...] = ()
    #: Clusters that are not as Git says, as they were compared last, with what differs first.
    drift: Mapping[str, str] = msgspec.field(default_factory=dict)
