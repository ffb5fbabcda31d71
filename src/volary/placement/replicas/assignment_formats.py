"""An assignment as JSON, kept with a run and with the application, and as text for people."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from volary.model import json
from volary.model.objects import manifest
from volary.placement.replicas import assignment


def to_document(made: assignment.Assignment) -> json.JsonObject:
    """Return an assignment as JSON."""
    return {
        "workloads": [_workload_document(workload) for workload in made.workloads],
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


def _workload_document(divided: assignment.WorkloadAssignment) -> json.JsonObject:
    key = divided.key
    return {
        "group": key.group,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "shares": {name: _share_document(each) for name, each in divided.shares.items()},
        "reason": divided.reason,
        "room": dict(divided.room),
    }


def _share_document(share: assignment.Share) -> json.JsonObject:
    found: json.JsonObject = {"replicas": share.replicas}
    if share.completions is not None:
        found["completions"] = share.completions
    if share.least is not None:
        found["least"] = share.least
    return found


def _read_workload(document: json.JsonObject) -> assignment.WorkloadAssignment:
    key = manifest.ResourceKey(*(document[part] for part in ("group", "kind", "namespace", "name")))
    shares: Mapping[str, json.JsonObject] = document["shares"]
    return assignment.WorkloadAssignment(
        key,
        {
            name: assignment.Share(each["replicas"], each.get("completions"), each.get("least"))
            for name, each in shares.items()
        },
        document.get("reason", ""),
        dict(document.get("room", {})),
    )


def describe(made: assignment.Assignment) -> Iterator[str]:
    """Yield a line for each workload, with what was free for it and when that was read."""
    for workload in made.workloads:
        yield f"{workload.key.title}: {workload.reason}{_describe_capacity(workload, made)}"


def read_at(made: assignment.Assignment) -> str:
    """Return when the free capacity was read; empty: nobody needed it."""
    times = sorted(f"{each:%Y-%m-%d %H:%M:%S} UTC" for each in made.read_at.values())
    if not times:
        return ""
    return times[0] if times[0] == times[-1] else f"{times[0]} to {times[-1]}"


def _describe_capacity(divided: assignment.WorkloadAssignment, made: assignment.Assignment) -> str:
    known = {name: count for name, count in divided.room.items() if name in made.read_at}
    if not known:
        return ""
    listed = ", ".join(f"{name} {count}" for name, count in known.items())
    return f" (free, read at {read_at(made)}: {listed})"
