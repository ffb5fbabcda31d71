"""What people see of an application's live objects: the tree of one cluster, and one object whole.

Everything here was seen by a watch; nothing of it is asked for anew, but for one object and its
logs. Secrets are without their values.
"""

from collections.abc import Mapping
from datetime import datetime

from volary.controller.api import representations, status_representations
from volary.model import json


class ObjectEvent(representations.Representation, frozen=True):
    """What a cluster's controllers said of an object: the newest of its kind."""

    #: ``Warning`` or ``Normal``.
    type: str
    reason: str
    message: str
    count: int
    last_seen: datetime | None


class LiveNode(representations.Representation, frozen=True):
    """One object of the tree, after the one that it belongs to."""

    #: Unique in its cluster, and the same for as long as the object is there.
    uid: str
    #: `uid` of the object that owns it; empty: it was applied.
    parent: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    health: status_representations.Health
    created: datetime | None
    #: It is being deleted since then.
    deleted: datetime | None
    #: Of what runs pods: ready ones of all. Of a pod: its containers; of an EndpointSlice: its
    #: endpoints. 0 of 0 for everything else.
    ready: int
    total: int
    restarts: int
    images: tuple[str, ...]
    #: ``primary``, ``canary``, ``baseline``, or empty; what it belongs to decides for it.
    variant: str
    #: The commit that it was applied from; empty: it was not applied.
    commit: str
    #: ``inSync``, ``differs``, ``missing`` (Git has it, the cluster lacks it), ``extra`` (ours, not
    #: in Git), ``unknown``; empty: it was not applied, so there is nothing to compare.
    drift: str
    #: Where it runs: the node of a pod.
    node: str
    #: Of what is not healthy.
    events: tuple[ObjectEvent, ...]


class LiveCluster(representations.Representation, frozen=True):
    """An application's objects in one cluster."""

    name: str
    #: When they were followed last: just now, unless there is a `stale_reason`; none: never.
    observed: datetime | None
    #: Why what is shown may be old; empty: it is followed.
    stale_reason: str
    health: status_representations.Health
    ready: int
    total: int
    #: Parents before their children.
    nodes: tuple[LiveNode, ...]
    #: Nodes beyond the bound.
    omitted: int
    #: What could not be read.
    warnings: tuple[str, ...]


class LiveTree(representations.Representation, frozen=True):
    """An application's objects in its clusters."""

    application: str
    #: Grows with each change; where a stream of changes goes on from.
    version: int
    clusters: tuple[LiveCluster, ...]


class LiveChange(representations.Representation, frozen=True):
    """What changed in one cluster since the version before: only the differences."""

    application: str
    version: int
    #: Everything of the cluster but its nodes is in `cluster`, whose `nodes` are those that are new
    #: or changed.
    cluster: LiveCluster
    #: `uid` of those that are gone.
    removed: tuple[str, ...]


class FieldOwner(representations.Representation, frozen=True):
    """Who owns a field, as the object's managedFields say."""

    manager: str
    operation: str
    since: datetime | None


class FieldDifference(representations.Representation, frozen=True):
    """One field that is not as Git says."""

    #: ``spec.replicas``; keys that hold dots are in brackets.
    path: str
    #: As JSON, redacted and bounded; none: there is no such field on that side.
    wanted: json.JsonValue
    live: json.JsonValue
    #: Which of the two sides has it: ``both``, ``wanted`` or ``live``.
    sides: str
    owners: tuple[FieldOwner, ...]


class LiveObject(representations.Representation, frozen=True):
    """One object whole: as it is, and as Git says."""

    cluster: str
    node: LiveNode
    #: As it is in the cluster, without managedFields and values of secrets; empty: it is not there.
    live: json.JsonObject
    #: As Git says at the commit that counts; empty: Git does not have it.
    wanted: json.JsonObject
    differences: tuple[FieldDifference, ...]
    events: tuple[ObjectEvent, ...]
    containers: tuple[str, ...]


class ObjectDrift(representations.Representation, frozen=True):
    """One object that is not as Git says."""

    group: str
    kind: str
    namespace: str
    name: str
    #: ``differs``, ``missing`` or ``extra``.
    drift: str
    since: datetime | None
    #: One sentence: what differs, and who did it.
    reason: str
    differences: tuple[FieldDifference, ...]
    #: Differences beyond the bound.
    omitted: int


class ClusterDrift(representations.Representation, frozen=True):
    """One cluster compared with Git."""

    name: str
    #: ``inSync``, ``outOfSync``, ``unknown`` (it cannot be said now) or ``running`` (a run is under
    #: way there).
    status: str
    reason: str
    compared: datetime | None
    objects: tuple[ObjectDrift, ...]


class Drift(representations.Representation, frozen=True):
    """An application's clusters compared with what Git says at the commit that counts."""

    application: str
    commit: str
    #: ``off``, ``report`` or ``repair``.
    mode: str
    #: As of `ClusterDrift`, over all of them; ``off``: nobody looks.
    status: str
    reason: str
    since: datetime | None
    #: When it is repaired next, if it is to be.
    repair_after: datetime | None
    clusters: tuple[ClusterDrift, ...]


class DriftedCluster(representations.Representation, frozen=True):
    """A cluster that is not as Git says."""

    name: str
    since: datetime
    #: One sentence.
    reason: str


class DriftChange(representations.Representation, frozen=True):
    """What is known of an application's drift, and which run it has now."""

    application: str
    #: When this was written down.
    at: datetime | None
    #: Those that are not as Git says; during a run, those that were not before it.
    clusters: tuple[DriftedCluster, ...]
    #: Why nothing is repaired although that is wished, one sentence; empty: nothing keeps it.
    unrepaired: str
    #: Id of a repair that is requested and has not begun; empty: none is.
    repair: str
    #: Id of the run under way, or of the last one; empty: there is none.
    run: str
    under_way: bool


#: What an overview counts of an application's drift, by cluster.
DriftCounts = Mapping[str, int]
