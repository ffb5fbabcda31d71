"""One object in several versions: Events, autoscalers, custom resources.

Each kind is stored in one version. `outward` tells a stored object in the version
somebody asked for, `inward` the other way; what is equal is returned as it is.
"""

from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds

#: Where autoscaling/v1 keeps what it has no fields for.
_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"

#: events.k8s.io/v1 → v1
_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_EVENT_FIELDS_BACK = {old: new for new, old in _EVENT_FIELDS.items()}


def stored_kind(kind: kinds.Kind) -> kinds.Kind:
    """Return the kind at the version in which its objects are decoded and stored.

    Custom resources are decoded in the version they are written in: its schema is
    the one that prunes and validates.
    """
    if kind.convert is kinds.Convert.EVENT:
        return kinds.EVENT
    if kind.convert is kinds.Convert.AUTOSCALER:
        return kinds.HORIZONTAL_POD_AUTOSCALER
    return kind


def outward(kind: kinds.Kind, body: json.JsonObject) -> json.JsonObject:
    """Return a stored object as `kind` tells it."""
    if body.get("apiVersion") == kind.api_version:
        return body
    if kind.convert is kinds.Convert.EVENT:
        body = _renamed(body, _EVENT_FIELDS_BACK)
    elif kind.convert is kinds.Convert.AUTOSCALER:
        body = _autoscaler_v1(body)
    return {**body, "apiVersion": kind.api_version}


def inward(kind: kinds.Kind, body: json.JsonObject) -> json.JsonObject:
    """Return an object of `kind` as it is decoded and stored."""
    if kind.convert is kinds.Convert.NONE:
        return body
    if kind.convert is kinds.Convert.EVENT:
        return {**_renamed(body, _EVENT_FIELDS), "apiVersion": "v1"}
    return {**_autoscaler_v2(body), "apiVersion": "autoscaling/v2"}


def at_rest(kind: kinds.Kind, body: json.JsonObject) -> json.JsonObject:
    """Return an object in the apiVersion it is stored in."""
    if not kind.custom or kind.version == kind.stored_version:
        return body
    return {**body, "apiVersion": f"{kind.group}/{kind.stored_version}"}


def _renamed(body: json.JsonObject, names: dict[str, str]) -> json.JsonObject:
    return {names.get(key, key): value for key, value in body.items()}


def _autoscaler_v1(body: json.JsonObject) -> json.JsonObject:
    spec, status = dict(body.get("spec") or {}), dict(body.get("status") or {})
    annotations = dict(body["metadata"].get("annotations") or {})
    rest = []
    for metric in spec.pop("metrics", None) or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if (metric.get("resource") or {}).get("name") == "cpu" and "averageUtilization" in target:
            spec["targetCPUUtilizationPercentage"] = target["averageUtilization"]
        else:
            rest.append(metric)
    if rest:
        annotations[_METRICS] = msgspec.json.encode(rest).decode()
    if "behavior" in spec:
        annotations[_BEHAVIOR] = msgspec.json.encode(spec.pop("behavior")).decode()
    for lost in ("currentMetrics", "conditions"):
        status.pop(lost, None)
    status.setdefault("currentReplicas", 0)
    return {**body, "metadata": _annotated(body, annotations), "spec": spec, "status": status}


def _autoscaler_v2(body: json.JsonObject) -> json.JsonObject:
    spec = dict(body.get("spec") or {})
    annotations = dict((body.get("metadata") or {}).get("annotations") or {})
    kept = _decoded(annotations.pop(_METRICS, ""))
    metrics = kept if isinstance(kept, list) else []
    behavior = _decoded(annotations.pop(_BEHAVIOR, ""))
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}, *metrics]
    if metrics:
        spec["metrics"] = metrics
    if behavior:
        spec["behavior"] = behavior
    return {**body, "metadata": _annotated(body, annotations), "spec": spec}


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None


def _annotated(body: json.JsonObject, annotations: dict[str, str]) -> json.JsonObject:
    metadata = dict(body.get("metadata") or {})
    metadata.pop("annotations", None)
    return {**metadata, "annotations": annotations} if annotations else metadata
