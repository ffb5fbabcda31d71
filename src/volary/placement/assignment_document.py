"""An assignment as JSON: kept with a run, and with how an application stands."""

from collections.abc import Mapping
from datetime import datetime

from volary.model import json, resource
from volary.placement import assignment


def to_document(made: assignment.Assignment) -> json.JsonObject:
    """Return an assignment as JSON."""
    return {
        "workloads": [_workload(each) for each in made.workloads],
        "readAt": {name: at.isoformat() for name, at in made.read_at.items()},
        "unavailable": dict(made.unavailable),
    }


def from_document(document: json.JsonObject) -> assignment.Assignment:
    """Read an assignment; what an earlier version did not write is empty."""
    return assignment.Assignment(
        tuple(_read_workload(each) for each in document.get("workloads", ())),
        {name: datetime.fromisoformat(at) for name, at in document.get("readAt", {}).items()},
        dict(document.get("unavailable", {})),
    )


def _workload(divided: assignment.Divided) -> json.JsonObject:
    key = divided.key
    return {
        "group": key.group,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "shares": {name: _share(each) for name, each in divided.shares.items()},
        "reason": divided.reason,
        "room": dict(divided.room),
    }


def _share(share: assignment.Share) -> json.JsonObject:
    found: json.JsonObject = {"replicas": share.replicas}
    if share.completions is not None:
        found["completions"] = share.completions
    if share.least is not None:
        found["least"] = share.least
    return found


def _read_workload(document: json.JsonObject) -> assignment.Divided:
    key = resource.ResourceKey(*(document[part] for part in ("group", "kind", "namespace", "name")))
    shares: Mapping[str, json.JsonObject] = document["shares"]
    return assignment.Divided(
        key,
        {
            name: assignment.Share(each["replicas"], each.get("completions"), each.get("least"))
            for name, each in shares.items()
        },
        document.get("reason", ""),
        dict(document.get("room", {})),
    )
