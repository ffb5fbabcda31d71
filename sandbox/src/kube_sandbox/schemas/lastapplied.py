"""The annotation of kubectl's client-side apply, and how server-side apply takes over from it."""

from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.schemas import fieldset, merging, schema

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
#: The only manager for which the server looks at the annotation.
KUBECTL = "kubectl"


def owned(kind: schema.Schema, live: json.JsonObject) -> fieldset.FieldSet:
    """Return the fields client-side apply set and nobody changed since; they cause no conflict."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    if not text:
        return {}
    try:
        applied: Any = msgspec.json.decode(text)
        fields = merging.field_set(kind.type, applied)
    except (msgspec.DecodeError, merging.TypedError, AttributeError):
        return {}
    if applied.get("apiVersion") != kind.api_version:
        return {}
    changed, removed = merging.compare(kind.type, applied, live)
    rest = fieldset.difference(fields, changed or {})
    return fieldset.difference(rest, removed or {})


def refresh(merged: json.JsonObject, applied: json.JsonObject, manager: str) -> json.JsonObject:
    """Return `merged` with the annotation brought up to date if kubectl applied."""
    annotations = (merged.get("metadata") or {}).get("annotations") or {}
    if manager != KUBECTL or not annotations.get(ANNOTATION):
        return merged
    metadata = dict(applied.get("metadata") or {})
    kept = {
        key: each for key, each in (metadata.get("annotations") or {}).items() if key != ANNOTATION
    }
    metadata["annotations"] = kept
    text = msgspec.json.encode({**applied, "metadata": metadata}, order="sorted").decode() + "\n"
    updated = {**merged["metadata"], "annotations": {**annotations, ANNOTATION: text}}
    return {**merged, "metadata": updated}
