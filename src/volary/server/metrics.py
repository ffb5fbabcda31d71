"""Numbers for Prometheus: what the server did, and how applications and clusters are."""

from collections import Counter
from datetime import datetime, timedelta

import prometheus_client as prometheus
from prometheus_client import exposition

from volary import __version__
from volary.controller.api import service
from volary.controller.status import application_statuses, drift_states
from volary.model import clocks
from volary.model.fleet import cluster_health, taints
from volary.placement.failover import situations

#: A count is good for so long: it reads every application.
_VALID_FOR = timedelta(seconds=10)


class Metrics:
    """The server's own numbers, and those of its fleet."""

    def __init__(self, clock: clocks.Clock) -> None:
        self.registry = prometheus.CollectorRegistry()
        self.fleet = FleetGauges(self.registry, clock)
        self.requests = prometheus.Counter(
            "volary_http_requests",
            "Requests answered, by route, method and status.",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = prometheus.Histogram(
            "volary_http_request_seconds",
            "Time until the answer began, by route.",
            ("route",),
            registry=self.registry,
            buckets=(0.005, 0.02, 0.1, 0.5, 2, 10),
        )
        self.streams = prometheus.Gauge(
            "volary_streams", "Event streams that are open.", registry=self.registry
        )
        self.dropped = prometheus.Counter(
            "volary_streams_dropped",
            "Streams ended because their reader took nothing.",
            registry=self.registry,
        )
        self.failed_logins = prometheus.Counter(
            "volary_failed_logins",
            "Requests with credentials that were refused.",
            registry=self.registry,
        )
        self.denied = prometheus.Counter(
            "volary_denied",
            "Requests of known people that were not allowed.",
            registry=self.registry,
        )
        self.connections = prometheus.Gauge(
            "volary_connections", "Connections that are open.", registry=self.registry
        )
        self.tunnels = prometheus.Gauge(
            "volary_agent_tunnels",
            "Connections of agents that this server asks clusters through.",
            registry=self.registry,
        )
        self.connections_refused = prometheus.Counter(
            "volary_connections_refused",
            "Connections that were not taken, or only for health, by the limit that was reached.",
            ("reason",),
            registry=self.registry,
        )
        self.connections_ended = prometheus.Counter(
            "volary_connections_ended",
            "Connections ended for taking too long, by what they waited for, or for another one.",
            ("reason",),
            registry=self.registry,
        )
        self.requests_limited = prometheus.Counter(
            "volary_requests_limited",
            "Requests answered 429 or 503 because of what there is of something, by what.",
            ("reason",),
            registry=self.registry,
        )
        self.servers = prometheus.Gauge(
            "volary_servers",
            "Servers of this database that are there, as this one knows.",
            registry=self.registry,
        )
        self.servers.set(1)
        build = prometheus.Info("volary_build", "Version of the server.", registry=self.registry)
        build.info({"version": __version__})

    def write(self, *others: prometheus.CollectorRegistry) -> bytes:
        """Return all numbers in Prometheus' text form, with those of others behind them."""
        return b"".join(map(exposition.generate_latest, (self.registry, *others)))


class FleetGauges:
    """Gauges of applications and clusters by status, counted when Prometheus scrapes.

    They are without names: who may see numbers may not see all.
    """

    def __init__(self, registry: prometheus.CollectorRegistry, clock: clocks.Clock) -> None:
        self._clock = clock
        self._taken: datetime | None = None

        def gauge(name: str, words: str, *labels: str) -> prometheus.Gauge:
            return prometheus.Gauge(name, words, labels, registry=registry)

        self._applications = gauge("volary_applications", "Applications by status.", "status")
        self._clusters = gauge("volary_clusters", "Clusters by status.", "status")
        self._drift = gauge(
            "volary_application_clusters",
            "Clusters of applications by how they compare with Git.",
            "drift",
        )
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
        if self._taken is not None and timedelta() <= now - self._taken < _VALID_FOR:
            return
        self._taken = now
        counts, drifted = await backing.count_applications()
        for status in application_statuses.StatusWord:
            self._applications.labels(status.value).set(counts[status.value])
        clusters = await backing.fleet.list()
        counted = Counter(cluster.status for cluster in clusters)
        for word in cluster_health.ClusterState:
            self._clusters.labels(word.value).set(counted[word.value])
        tainted = Counter(
            effect for cluster in clusters for effect in {mark.effect for mark in cluster.taints}
        )
        for effect in taints.Effect:
            self._tainted.labels(effect.value).set(tainted[effect.value])
        for sync in (drift_states.SyncWord.IN_SYNC, drift_states.SyncWord.OUT_OF_SYNC):
            self._drift.labels(sync.value).set(drifted[sync.value])
        moving = await backing.placements.moving()
        for cause in situations.Cause:
            self._moving.labels(cause.value).set(moving[cause.value])
        self._stopped.set(bool(backing.placements.alarm))
