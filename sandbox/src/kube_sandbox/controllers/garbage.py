"""The garbage collector: what happens to objects when their owners go.

Background: the dependents of an owner that is gone are deleted. Foreground: the
owner waits, marked with a finalizer, until the dependents that block it are gone.
Orphan: the owner waits until the dependents have forgotten it.
"""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers.framework import actions, view

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


def reconcile_owner(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the next writes for an object that waits for its dependents."""
    owner = cluster.get(key.kind, key.namespace, key.name)
    if owner is None or not objects.is_deleting(owner):
        return actions.NOTHING
    finalizers = objects.metadata(owner).get("finalizers") or ()
    if ORPHAN in finalizers:
        return _orphaned(cluster, owner)
    if FOREGROUND in finalizers:
        return _foreground(cluster, owner)
    return actions.NOTHING


def reconcile_dependent(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the deletion of the object at `key` if none of its owners is there any more.

    An owner that is there but waits for its dependents counts as gone; when another
    one holds the object, only the references to the lost owners are dropped.
    """
    found = cluster.get(key.kind, key.namespace, key.name)
    references = objects.metadata(found or {}).get("ownerReferences") or ()
    if found is None or not references or objects.is_deleting(found):
        return actions.NOTHING
    return _collected(cluster, found)


def _collected(cluster: view.View, dependent: json.JsonObject) -> actions.Result:
    references = objects.metadata(dependent).get("ownerReferences") or ()
    solid, waiting, lost = _sorted(cluster, dependent, references)
    if solid:
        if not lost and not waiting:
            return actions.NOTHING
        return actions.Result((actions.Update(_with_references(dependent, solid)),))
    if waiting:
        policy = "Foreground" if cluster.owned(objects.uid(dependent)) else "Background"
        return actions.Result((actions.Delete(dependent, propagation=policy),))
    return actions.Result((actions.Delete(dependent, propagation=_policy_of(dependent)),))


def _sorted(
    cluster: view.View, dependent: json.JsonObject, references: Sequence[json.JsonObject]
) -> tuple[list[json.JsonObject], list[json.JsonObject], list[json.JsonObject]]:
    solid, waiting, lost = [], [], []
    for reference in references:
        owner = _owner(cluster, dependent, reference)
        if owner is None:
            lost.append(reference)
        elif objects.is_deleting(owner) and FOREGROUND in (
            objects.metadata(owner).get("finalizers") or ()
        ):
            waiting.append(reference)
        else:
            solid.append(reference)
    return solid, waiting, lost


def _owner(
    cluster: view.View, dependent: json.JsonObject, reference: json.JsonObject
) -> json.JsonObject | None:
    kind = view.designation(str(reference.get("apiVersion")), str(reference.get("kind")))
    name = str(reference.get("name"))
    for namespace in {objects.namespace(dependent), ""}:
        found = cluster.get(kind, namespace, name)
        if found is not None and objects.uid(found) == reference.get("uid"):
            return found
    return None


def _policy_of(obj: json.JsonObject) -> str:
    """An object that was marked by hand keeps the policy its finalizer stands for."""
    finalizers = objects.metadata(obj).get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _orphaned(cluster: view.View, owner: json.JsonObject) -> actions.Result:
    writes: list[actions.Write] = []
    for dependent in cluster.owned(objects.uid(owner)):
        references = [
            each
            for each in objects.metadata(dependent).get("ownerReferences") or ()
            if each.get("uid") != objects.uid(owner)
        ]
        writes.append(actions.Update(_with_references(dependent, references)))
    if not writes:
        writes.append(_without_finalizer(owner, ORPHAN))
    return actions.Result(tuple(writes))


def _foreground(cluster: view.View, owner: json.JsonObject) -> actions.Result:
    """Delete the dependents; let the owner go once none of those that block it is left."""
    dependents = cluster.owned(objects.uid(owner))
    blocking = [each for each in dependents if _blocks(each, owner)]
    if not blocking:
        return actions.Result((_without_finalizer(owner, FOREGROUND),))
    return actions.join(
        *(_collected(cluster, each) for each in dependents if not objects.is_deleting(each))
    )


def _blocks(dependent: json.JsonObject, owner: json.JsonObject) -> bool:
    return any(
        each.get("uid") == objects.uid(owner) and each.get("blockOwnerDeletion")
        for each in objects.metadata(dependent).get("ownerReferences") or ()
    )


def _without_finalizer(obj: json.JsonObject, name: str) -> actions.Update:
    rest = [each for each in objects.metadata(obj).get("finalizers") or () if each != name]
    return actions.Update(objects.changed(obj, ("metadata", "finalizers"), rest))


def _with_references(
    obj: json.JsonObject, references: Sequence[json.JsonObject]
) -> json.JsonObject:
    return objects.changed(obj, ("metadata", "ownerReferences"), list(references))
