"""What is kept of a cluster, as JSON. Pure."""

from datetime import datetime

from volary.model import json
from volary.model.fleet import cluster_health, taints
from volary.store import records


def write_cluster(known: cluster_health.ClusterHealth, now: datetime) -> records.ClusterRecord:
    """Return the record of a cluster."""
    document: json.JsonObject = {
        "since": _time(known.since),
        "reason": known.reason,
        "firstSeen": _time(known.first_seen),
        "left": _time(known.left),
        "identity": known.identity,
        "taints": [write_taint(taint) for taint in known.taints],
    }
    return records.ClusterRecord(known.cluster, known.state.value, document, now)


def read_cluster(stored: records.ClusterRecord) -> cluster_health.ClusterHealth:
    """Read a cluster; what an earlier version did not write is empty."""
    document = stored.document
    states = {each.value: each for each in cluster_health.ClusterState}
    return cluster_health.ClusterHealth(
        cluster=stored.name,
        state=states.get(stored.state, cluster_health.ClusterState.UNKNOWN),
        since=_read_time(document.get("since")),
        reason=document.get("reason", ""),
        taints=tuple(read_taint(each) for each in document.get("taints", ())),
        first_seen=_read_time(document.get("firstSeen")),
        left=_read_time(document.get("left")),
        identity=document.get("identity", ""),
    )


def write_taint(taint: taints.Taint) -> json.JsonObject:
    """Return a mark as JSON."""
    return {
        "key": taint.key,
        "value": taint.value,
        "effect": taint.effect.value,
        "since": _time(taint.since),
        "by": taint.by,
        "reason": taint.reason,
    }


def read_taint(document: json.JsonObject) -> taints.Taint:
    """Read a mark."""
    return taints.Taint(
        document["key"],
        document.get("value", ""),
        taints.Effect(document.get("effect", taints.Effect.NO_SCHEDULE)),
        _read_time(document.get("since")),
        document.get("by", ""),
        document.get("reason", ""),
    )


def _time(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def _read_time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
