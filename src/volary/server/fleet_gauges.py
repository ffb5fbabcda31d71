"""Gauges of applications and clusters by status, counted when Prometheus scrapes."""

from collections import Counter
from datetime import datetime, timedelta

import prometheus_client as prometheus

from volary.controller.api import service
from volary.controller.status import application_statuses
from volary.model import clocks
from volary.model.fleet import cluster_health, taints
from volary.placement.failover import decisions
from volary.store import records

#: A count is good for so long: it reads every application.
_VALID_FOR = timedelta(seconds=10)
_CLUSTERS = tuple(cluster_health.ClusterState)


class FleetGauges:
    """Gauges in the server's registry, without names: who may see numbers may not see all."""

    def __init__(self, registry: prometheus.CollectorRegistry, clock: clocks.Clock) -> None:
        self._clock = clock
        self._taken: datetime | None = None

        def gauge(name: str, words: str, *labels: str) -> prometheus.Gauge:
            return prometheus.Gauge(name, words, labels, registry=registry)

        self._applications = gauge("volary_applications", "Applications by status.", "status")
        self._clusters = gauge("volary_clusters", "Clusters by status.", "status")
        self._tainted = gauge(
            "volary_clusters_tainted", "Clusters with a taint of this effect.", "effect"
        )
        self._moving = gauge(
            "volary_placements_moving", "Applications on their way off a cluster, by why.", "cause"
        )
        self._stopped = gauge(
            "volary_failover_stopped",
            "1 while failover is suppressed because too much of the fleet is unreachable.",
        )

    async def take(self, backing: service.Service) -> None:
        """Count anew unless that was done a moment ago."""
        now = self._clock.now()
        if self._taken is not None and now - self._taken < _VALID_FOR:
            return
        self._taken = now
        everything = backing.every_application(records.ApplicationFilter())
        counts = Counter([item.status async for item in everything])
        for status in application_statuses.StatusWord:
            self._applications.labels(status.value).set(counts[status.value])
        clusters = await backing.clusters()
        counted = Counter(cluster.status for cluster in clusters)
        for word in _CLUSTERS:
            self._clusters.labels(word.value).set(counted[word.value])
        tainted = Counter(
            effect for cluster in clusters for effect in {mark.effect for mark in cluster.taints}
        )
        for effect in taints.Effect:
            self._tainted.labels(effect.value).set(tainted[effect.value])
        moving = await backing.placements.moving()
        for cause in decisions.Cause:
            self._moving.labels(cause.value).set(moving[cause.value])
        self._stopped.set(bool(backing.placements.alarm))
