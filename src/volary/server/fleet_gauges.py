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

_PAGE = 200
#: A count is good for so long: it reads every application.
_VALID_FOR = timedelta(seconds=10)
_CLUSTERS = tuple(cluster_health.ClusterState)


class FleetGauges:
    """Gauges in the server's registry, without names: who may see numbers may not see all."""

    def __init__(self, registry: prometheus.CollectorRegistry, clock: clocks.Clock) -> None:
        self._clock = clock
        self._taken: datetime | None = None
        self._applications = prometheus.Gauge(
            "volary_applications",
            "Applications by status.",
            ("status",),
            registry=registry,
        )
        self._clusters = prometheus.Gauge(
            "volary_clusters",
            "Clusters by status.",
            ("status",),
            registry=registry,
        )
        self._tainted = prometheus.Gauge(
            "volary_clusters_tainted",
            "Clusters with a taint of this effect.",
            ("effect",),
            registry=registry,
        )

        self._moving = prometheus.Gauge(
            "volary_placements_moving",
            "Applications on their way off a cluster, by why.",
            ("cause",),
            registry=registry,
        )
        self._stopped = prometheus.Gauge(
            "volary_failover_stopped",
            "1 while failover is suppressed because too much of the fleet is unreachable.",
            registry=registry,
        )

    async def take(self, backing: service.Service) -> None:
        """Count anew unless that was done a moment ago."""
        now = self._clock.now()
        if self._taken is not None and now - self._taken < _VALID_FOR:
            return
        self._taken = now
        counts = await _applications(backing)
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


async def _applications(backing: service.Service) -> Counter[str]:
    counts: Counter[str] = Counter()
    cursor = ""
    while True:
        page = await backing.applications(records.ApplicationFilter(), cursor=cursor, limit=_PAGE)
        counts.update(item.status for item in page.items)
        if not page.cursor:
            return counts
        cursor = page.cursor
