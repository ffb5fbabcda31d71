"""What a tree shows of one object: read once, when it arrives, and kept small. Pure."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from volary.manifests import objects
from volary.manifests.health import assessment, conditions, workload_health
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import json
from volary.model.objects import manifest, object_health
from volary.model.statuses import HealthStatus

#: Images of one object that are shown.
_MOST_IMAGES = 16
_LONGEST_REASON = 400


@dataclass(frozen=True, slots=True)
class Node:
    """One object, as a tree shows it."""

    uid: str
    #: `uid` of the object that it names as its owner, a controller before others; empty: none.
    owner: str
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    health: HealthStatus
    #: Why, one sentence.
    reason: str
    created: datetime | None = None
    #: It is being deleted since then.
    deleted: datetime | None = None
    #: Of what runs pods: pods of its newest revision. Of a pod: containers. Of an EndpointSlice:
    #: endpoints. 0 of 0 for everything else.
    ready: int = 0
    total: int = 0
    #: Of a pod, over its containers.
    restarts: int = 0
    images: tuple[str, ...] = ()
    variant: str = ""
    commit: str = ""
    #: Where a pod runs.
    node: str = ""

    @property
    def key(self) -> manifest.ResourceKey:
        """Which object it is."""
        return manifest.ResourceKey(self.group, self.kind, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Event:
    """What a cluster's controllers said of an object."""

    #: `uid` of the object.
    about: str
    type: str
    reason: str
    message: str
    count: int
    last_seen: datetime | None


def of_body(body: json.JsonObject, rules: Sequence[object_health.Rule] = ()) -> Node:
    """Return what is shown of a live object; `rules` are the user's, of health."""
    item = manifest.Manifest(body)
    health = assessment.assess(body, rules)
    ready, total = _counts(body)
    return Node(
        uid=objects.uid(body),
        owner=_owner(body),
        group=sys.intern(item.group),
        version=sys.intern(item.api_version.rpartition("/")[2]),
        kind=sys.intern(item.kind),
        namespace=sys.intern(item.namespace),
        name=item.name,
        health=health.status,
        reason=sys.intern(health.reason[:_LONGEST_REASON]),
        created=time(objects.text(body, "metadata", "creationTimestamp")),
        deleted=time(objects.text(body, "metadata", "deletionTimestamp")),
        ready=ready,
        total=total,
        restarts=sum(
            objects.number(container, "restartCount")
            for container in objects.mappings(body, "status", "containerStatuses")
        ),
        images=_images(body),
        variant=sys.intern(objects.text(body, "metadata", "annotations", tracking.VARIANT)),
        commit=sys.intern(tracking.commit_of(body)),
        node=sys.intern(objects.text(body, "spec", "nodeName") if item.kind == "Pod" else ""),
    )


def missing(key: manifest.ResourceKey, version: str) -> Node:
    """Return the node of an object that was applied once, not deleted by us, and is not there."""
    health = assessment.MISSING
    return Node(
        uid=f"missing:{key}",
        owner="",
        group=key.group,
        version=version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        health=health.status,
        reason=health.reason,
    )


def event_of(body: json.JsonObject) -> Event:
    """Read an Event."""
    last = objects.text(body, "series", "lastObservedTime") or objects.text(body, "lastTimestamp")
    count = objects.number(body, "series", "count") or objects.number(body, "count", default=1)
    return Event(
        about=objects.text(body, "involvedObject", "uid"),
        type=sys.intern(objects.text(body, "type")),
        reason=sys.intern(objects.text(body, "reason")),
        message=conditions.shorten(objects.text(body, "message")),
        count=count,
        last_seen=time(last or objects.text(body, "eventTime"))
        or time(objects.text(body, "metadata", "creationTimestamp")),
    )


def is_idle(body: json.JsonObject) -> bool:
    """Say whether it is a ReplicaSet of an older revision, kept for going back: nothing runs."""
    return body.get("kind") == "ReplicaSet" and not (
        objects.number(body, "spec", "replicas", default=1)
        or objects.number(body, "status", "replicas")
    )


def time(text: str) -> datetime | None:
    """Read a time; None: there is none, or it cannot be read."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo else None


def _owner(body: json.JsonObject) -> str:
    references = list(objects.mappings(body, "metadata", "ownerReferences"))
    chosen = next((one for one in references if one.get("controller") is True), None)
    return objects.text(chosen or next(iter(references), {}), "uid")


def _counts(body: json.JsonObject) -> tuple[int, int]:
    if body.get("kind") == "Pod":
        states = list(objects.mappings(body, "status", "containerStatuses"))
        total = len(objects.sequence(body, "spec", "containers"))
        return sum(state.get("ready") is True for state in states), total
    if body.get("kind") == "EndpointSlice":
        endpoints = list(objects.mappings(body, "endpoints"))
        # Without a word it is ready, as the API says.
        ready = sum(
            objects.value(endpoint, "conditions", "ready") in (True, None) for endpoint in endpoints
        )
        return ready, len(endpoints)
    return workload_health.pod_counts(body)


def _images(body: json.JsonObject) -> tuple[str, ...]:
    spec = workloads.pod_spec(body)
    if not spec:
        return ()
    named = sorted(set(_named(spec)))
    return tuple(sys.intern(image) for image in named[:_MOST_IMAGES])


def _named(spec: json.JsonObject) -> Iterator[str]:
    for container in objects.mappings(spec, "containers"):
        image = objects.text(container, "image")
        if image:
            yield image
