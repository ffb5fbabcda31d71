"""What is kept of a cluster, as JSON. Pure."""

from datetime import datetime

import msgspec

from volary.model.fleet import cluster_health
from volary.store import records

#: What outlives the process, besides name and state.
_KEPT = ("since", "reason", "taints", "first_seen", "left", "identity")


def write_cluster(known: cluster_health.ClusterHealth, now: datetime) -> records.ClusterRecord:
    """Return the record of a cluster."""
    document = {name: msgspec.to_builtins(getattr(known, name)) for name in _KEPT}
    return records.ClusterRecord(known.cluster, known.state.value, document, now)


def read_cluster(stored: records.ClusterRecord) -> cluster_health.ClusterHealth:
    """Read a cluster."""
    document = {**stored.document, "cluster": stored.name, "state": stored.state}
    return msgspec.convert(document, cluster_health.ClusterHealth)
