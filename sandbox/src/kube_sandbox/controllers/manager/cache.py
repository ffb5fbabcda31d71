"""The view over a live registry, with the indexes and instants controllers ask for."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import storage
from kube_sandbox.controllers.framework import pods

#: The built-in kinds by plain name, in the version they are stored in.
_BUILT_IN = {
    each.name: each for each in reversed(kinds.BUILT_IN) if each.convert is kinds.Convert.NONE
}

#: Buckets whose objects controllers adopt.
_ADOPTED = ("pods", "replicasets.apps")


class Cache:
    """Reads a registry; keeps up by `note`, which must see every change in order."""

    def __init__(self, cluster: registry.Registry) -> None:
        self._cluster = cluster
        #: Owner uid to the places of its dependents.
        self._dependents: dict[str, dict[tuple[str, storage.Key], None]] = {}
        #: Places of pods and ReplicaSets without a controller.
        self._orphans: dict[tuple[str, storage.Key], None] = {}
        self._ready: dict[str, float] = {}
        self._moved: dict[str, float] = {}

    def kind(self, name: str) -> kinds.Kind | None:
        """Return the served kind of a designation (see `view.View`), or None."""
        plain, dot, group = name.partition(".")
        if not dot:
            return _BUILT_IN.get(name)
        known = _BUILT_IN.get(plain)
        if known is not None and known.group == group:
            return known
        return next(
            (each for each in self._cluster.served if each.name == plain and each.group == group),
            None,
        )

    def get(self, kind: str, namespace: str, name: str) -> json.JsonObject | None:
        """See `view.View.get`; a kind that is not served has no objects."""
        found = self.kind(kind)
        if found is None or found.namespaced is not bool(namespace):
            return None
        item = self._cluster.storage.get(found.bucket, namespace, name)
        return item.body if item is not None else None

    def list(self, kind: str, namespace: str = "") -> Sequence[json.JsonObject]:
        """See `view.View.list`."""
        found = self.kind(kind)
        if found is None:
            return ()
        return [item.body for item in self._cluster.storage.list(found.bucket, namespace)]

    def owned(self, uid: str, kind: str = "") -> Sequence[json.JsonObject]:
        """See `view.View.owned`."""
        found = []
        for bucket, (namespace, name) in self._dependents.get(uid, {}):
            item = self._cluster.storage.get(bucket, namespace, name)
            if item is not None and (not kind or item.body.get("kind") == kind):
                found.append(item.body)
        return found

    def orphans(self, kind: str, namespace: str) -> Sequence[json.JsonObject]:
        """See `view.View.orphans`."""
        found = self.kind(kind)
        if found is None:
            return ()
        return [
            item.body
            for bucket, key in self._orphans
            if bucket == found.bucket
            and key[0] == namespace
            and (item := self._cluster.storage.get(bucket, *key)) is not None
        ]

    def ready_since(self, pod: json.JsonObject) -> float | None:
        """See `view.View.ready_since`."""
        return self._ready.get(objects.uid(pod))

    def progressing_since(self, deployment: json.JsonObject) -> float:
        """See `view.View.progressing_since`."""
        return self._moved.get(objects.uid(deployment), 0.0)

    def note(self, change: storage.Change, seconds: float) -> None:
        """Take in a change that happened at `seconds`."""
        self._index(change)
        if change.bucket == "pods":
            self._note_pod(change, seconds)
        elif change.bucket == "deployments.apps":
            self._note_deployment(change, seconds)

    def _index(self, change: storage.Change) -> None:
        place = (change.bucket, change.item.key)
        gone = change.event is storage.Event.DELETED
        if change.bucket in _ADOPTED:
            if gone or objects.controller(change.item.body) is not None:
                self._orphans.pop(place, None)
            else:
                self._orphans[place] = None
        before = _owners(change.previous)
        after = set[str]() if gone else _owners(change.item)
        for uid in before - after:
            places = self._dependents.get(uid, {})
            places.pop(place, None)
            if not places:
                self._dependents.pop(uid, None)
        for uid in after - before:
            self._dependents.setdefault(uid, {})[place] = None

    def _note_pod(self, change: storage.Change, seconds: float) -> None:
        uid = objects.uid(change.item.body)
        if change.event is storage.Event.DELETED or not pods.is_ready(change.item.body):
            self._ready.pop(uid, None)
        else:
            self._ready.setdefault(uid, seconds)

    def _note_deployment(self, change: storage.Change, seconds: float) -> None:
        uid = objects.uid(change.item.body)
        if change.event is storage.Event.DELETED:
            self._moved.pop(uid, None)
        elif change.previous is None or _progress(change.previous) != _progress(change.item):
            self._moved[uid] = seconds


def _owners(item: storage.Item | None) -> set[str]:
    if item is None:
        return set()
    references = objects.metadata(item.body).get("ownerReferences") or ()
    return {str(each.get("uid")) for each in references}


def _progress(item: storage.Item) -> object:
    """What moves when a rollout does: its counters and the Progressing condition."""
    found = objects.status(item.body)
    note = conditions.find(found.get("conditions") or (), "Progressing") or {}
    counters = [
        found.get(field, 0) for field in ("updatedReplicas", "readyReplicas", "availableReplicas")
    ]
    old = found.get("replicas", 0) - found.get("updatedReplicas", 0)
    return (*counters, old, note.get("reason"), note.get("lastUpdateTime"))
