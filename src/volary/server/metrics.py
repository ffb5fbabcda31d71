"""Numbers for Prometheus."""

import prometheus_client as prometheus
from prometheus_client import exposition

from volary import __version__


class Metrics:
    """The server's own numbers, in a registry that others may add to."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
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
        build = prometheus.Info("volary_build", "Version of the server.", registry=self.registry)
        build.info({"version": __version__})

    def write(self) -> bytes:
        """Return all numbers in Prometheus' text form."""
        return exposition.generate_latest(self.registry)
