"""Reading Kubernetes objects: the few questions every controller asks.

Objects from the cluster are shared and never mutated; `changed` copies the
levels it touches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from kube_sandbox import json


def metadata(obj: json.JsonObject) -> json.JsonObject:
    """The metadata; read only."""
    return cast("json.JsonObject", obj.get("metadata") or {})


def spec(obj: json.JsonObject) -> json.JsonObject:
    """The spec, empty when missing; read only."""
    return cast("json.JsonObject", obj.get("spec") or {})


def status(obj: json.JsonObject) -> json.JsonObject:
    """The status, empty when missing; read only."""
    return cast("json.JsonObject", obj.get("status") or {})


def name(obj: json.JsonObject) -> str:
    """``metadata.name``."""
    return str(metadata(obj).get("name") or "")


def namespace(obj: json.JsonObject) -> str:
    """``metadata.namespace``; empty for cluster-scoped objects."""
    return str(metadata(obj).get("namespace") or "")


def uid(obj: json.JsonObject) -> str:
    """``metadata.uid``."""
    return str(metadata(obj).get("uid") or "")


def kind(obj: json.JsonObject) -> str:
    """The kind."""
    return str(obj.get("kind") or "")


def labels(obj: json.JsonObject) -> dict[str, str]:
    """The labels; read only."""
    return cast("dict[str, str]", metadata(obj).get("labels") or {})


def annotations(obj: json.JsonObject) -> dict[str, str]:
    """The annotations; read only."""
    return cast("dict[str, str]", metadata(obj).get("annotations") or {})


def generation(obj: json.JsonObject) -> int:
    """``metadata.generation``; 0 for kinds without one."""
    return int(metadata(obj).get("generation") or 0)


def created(obj: json.JsonObject) -> str:
    """``metadata.creationTimestamp`` as written; sorts as it reads."""
    return str(metadata(obj).get("creationTimestamp") or "")


def is_deleting(obj: json.JsonObject) -> bool:
    """Tell whether somebody asked for the object's deletion."""
    return bool(metadata(obj).get("deletionTimestamp"))


def replicas(obj: json.JsonObject) -> int:
    """``spec.replicas``, 1 when missing."""
    value = spec(obj).get("replicas")
    return 1 if value is None else int(value)


def selector(obj: json.JsonObject) -> json.JsonObject | None:
    """``spec.selector`` as a LabelSelector; ReplicationControllers have plain labels there."""
    given = spec(obj).get("selector")
    if given is not None and obj.get("kind") == "ReplicationController":
        return {"matchLabels": given}
    return cast("json.JsonObject | None", given)


def count(obj: json.JsonObject, field: str) -> int:
    """A counter of the status, 0 when missing."""
    return int(status(obj).get(field) or 0)


def controller(obj: json.JsonObject) -> json.JsonObject | None:
    """The owner reference of the controller that manages the object."""
    for reference in metadata(obj).get("ownerReferences") or ():
        if reference.get("controller"):
            return cast("json.JsonObject", reference)
    return None


def is_controlled_by(obj: json.JsonObject, owner: json.JsonObject) -> bool:
    """Tell whether `owner` is the object's controller."""
    reference = controller(obj)
    return reference is not None and reference.get("uid") == uid(owner)


def controller_reference(owner: json.JsonObject) -> json.JsonObject:
    """The owner reference a controller puts on what it creates for `owner`."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name(owner),
        "uid": uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def reference_to(obj: json.JsonObject, *, field_path: str = "") -> json.JsonObject:
    """An ObjectReference, as events carry one."""
    reference: json.JsonObject = {
        "kind": obj.get("kind", ""),
        "namespace": namespace(obj),
        "name": name(obj),
        "uid": uid(obj),
        "apiVersion": obj.get("apiVersion", ""),
        "resourceVersion": metadata(obj).get("resourceVersion", ""),
        "fieldPath": field_path,
    }
    return {key: value for key, value in reference.items() if value}


def changed(obj: json.JsonObject, path: Sequence[str], value: Any) -> json.JsonObject:
    """Return a copy of `obj` with the field at `path` set; `obj` stays as it is."""
    head, *rest = path
    copy = dict(obj)
    copy[head] = (
        changed(cast("json.JsonObject", obj.get(head) or {}), rest, value) if rest else value
    )
    return copy


def without_empty(values: Mapping[str, Any], *, keep: Sequence[str] = ()) -> json.JsonObject:
    """Drop zero, empty and missing values, as Go's ``omitempty`` does, except those in `keep`."""
    return {key: value for key, value in values.items() if value or key in keep}
