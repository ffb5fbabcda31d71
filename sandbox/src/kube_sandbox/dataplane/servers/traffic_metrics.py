"""What can be asked about a fleet's traffic over HTTP: targets for Prometheus, and counters.

``GET /targets`` is what Prometheus' HTTP service discovery reads. ``GET /counters`` sums the
pods' own counters over a window, so that an analysis needs no other program.
"""

import asyncio
import json as text
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence

from kube_sandbox import errors, json
from kube_sandbox.controllers.kubelet import behaviours
from kube_sandbox.dataplane.protocols import http1, listeners
from kube_sandbox.dataplane.servers import counters, exposition, pods

#: On the first cluster's gateway address.
PORT = 9100
_WINDOW = 60.0
_SELECTORS = ("cluster", "namespace", "workload", "variant", "version")
_JSON = (("content-type", "application/json"),)


class TrafficMetrics:
    """Answers for all clusters of a fleet."""

    def __init__(self, clusters: Mapping[str, pods.Pods]) -> None:
        self._clusters = clusters
        self._events = asyncio.get_running_loop()

    def handle(self, request: http1.Request, respond: listeners.Respond) -> None:
        """Answer a request."""
        query = dict(urllib.parse.parse_qsl(request.target.partition("?")[2]))
        try:
            body: json.JsonObject | list[json.JsonObject]
            match request.path:
                case "/targets":
                    body = self.targets()
                case "/counters":
                    body = self.count(query)
                case _:
                    respond(http1.Response(404, _JSON, b'{"error": "/targets or /counters"}'))
                    return
        except errors.UserError as problem:
            told = text.dumps({"error": str(problem)}).encode()
            respond(http1.Response(400, _JSON, told))
            return
        respond(http1.Response(200, _JSON, text.dumps(body).encode()))

    def targets(self) -> list[json.JsonObject]:
        """All ports of all pods, with the labels that scraping adds."""
        return [
            {
                "targets": [f"{address}:{server.port}"],
                "labels": {
                    "cluster": server.answers.identity.cluster,
                    "kubernetes_namespace": server.answers.identity.namespace,
                    "kubernetes_pod_name": server.answers.identity.pod,
                    "workload": server.answers.identity.workload,
                    "variant": server.answers.identity.variant,
                    "version": server.answers.identity.version,
                },
            }
            for each in self._clusters.values()
            for address, server in each.servers()
        ]

    def count(self, query: Mapping[str, str]) -> json.JsonObject:
        """Sum the counters of the pods that `query` selects, over its ``window``.

        Numbers about nothing are null.

        Raises:
            UserError: An unknown field, or a window that cannot be read.
        """
        unknown = sorted(set(query) - {*_SELECTORS, "window"})
        if unknown:
            known = ", ".join((*_SELECTORS, "window"))
            raise errors.UserError(f"{unknown[0]!r} is not known", hint=f"one of {known}")
        window = behaviours.seconds(query["window"]) if "window" in query else _WINDOW
        wanted = {key: query[key] for key in _SELECTORS if key in query}
        start = self._events.time() - window
        total = counters.Second(0)
        for identity, counted in self._counters():
            if all(getattr(identity, key) == value for key, value in wanted.items()):
                for second in counted.since(start):
                    total.include(second)
        return {"window": window, **summary(total, window)}

    def _counters(self) -> Iterator[tuple[exposition.Identity, counters.Counters]]:
        for each in self._clusters.values():
            for _, server in each.servers():
                yield server.answers.identity, server.answers.counted
            for past in each.past:
                yield past.answers.identity, past.answers.counted


def summary(total: counters.Second, window: float) -> json.JsonObject:
    """The usual numbers about requests; null where there was none."""
    requests, failed = total.requests, total.errors

    def quantile(share: float) -> float | None:
        found = total.durations.quantile(share)
        return None if found is None else round(found * 1000, 3)

    return {
        "requests": requests,
        "errors": failed,
        "perSecond": requests / window if window else None,
        "errorRate": failed / requests if requests else None,
        "successRate": 100 * (requests - failed) / requests if requests else None,
        "p50Milliseconds": quantile(0.5),
        "p90Milliseconds": quantile(0.9),
        "p99Milliseconds": quantile(0.99),
    }


async def start(address: str, clusters: Mapping[str, pods.Pods]) -> listeners.Listener:
    """Listen on `PORT` of an address.

    Raises:
        UserError: The port is taken.
    """
    try:
        listener = listeners.bind(address, PORT, TrafficMetrics(clusters).handle)
    except OSError as problem:
        raise errors.UserError(f"cannot listen on {address}:{PORT}: {problem}") from problem
    await listener.start()
    return listener


def prometheus_settings(
    url: str, *, interval: str = "1s", rules: Sequence[str] = ()
) -> json.JsonObject:
    """A Prometheus configuration that scrapes every pod that ``url`` tells of."""
    return {
        "global": {"scrape_interval": interval, "evaluation_interval": interval},
        "rule_files": list(rules),
        "scrape_configs": [
            {
                "job_name": "sandbox-pods",
                "http_sd_configs": [{"url": f"{url}/targets", "refresh_interval": interval}],
            }
        ],
    }
