"""A pod's counters in Prometheus' text form, in three namings; pure.

Plain (the application's own histogram, to which scraping adds namespace and pod), Istio (as
told by the sidecar of the destination) and Linkerd (inbound, as told by its proxy), with the
labels that the usual queries of Flagger and of these meshes select by.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kube_sandbox.dataplane.servers import counters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PLAIN_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ISTIO_BOUNDS = (0.0005, 0.001, 0.005, *_PLAIN_BOUNDS[1:], 30.0, 60.0)
_LINKERD_BOUNDS = (
    *(0.001, 0.002, 0.003, 0.004, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
    *(1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 30.0, 60.0),
)
_HELP = {
    "http_requests_total": ("counter", "Requests answered."),
    "http_request_duration_seconds": ("histogram", "Seconds until the answer."),
    "istio_requests_total": ("counter", "Requests as the destination's sidecar tells them."),
    "istio_request_duration_milliseconds": ("histogram", "Milliseconds until the answer."),
    "request_total": ("counter", "Requests as Linkerd's proxy tells them."),
    "response_total": ("counter", "Answers as Linkerd's proxy tells them."),
    "response_latency_ms": ("histogram", "Milliseconds until the answer."),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose counters they are."""

    cluster: str
    namespace: str
    pod: str
    #: The Deployment, StatefulSet or DaemonSet; the pod itself when it has none.
    workload: str
    app: str
    version: str
    variant: str


def write(identity: Identity, counted: counters.Counters) -> bytes:
    """Write all three namings."""
    families: dict[str, list[str]] = {}
    for (method, status), durations in sorted(counted.answers.items()):
        for name, lines in _plain(method, status, durations):
            families.setdefault(name, []).extend(lines)
        for name, lines in _istio(identity, status, durations):
            families.setdefault(name, []).extend(lines)
        for name, lines in _linkerd(identity, status, durations):
            families.setdefault(name, []).extend(lines)
    text: list[str] = []
    for name, (kind, sentence) in _HELP.items():
        if name in families:
            text += (f"# HELP {name} {sentence}", f"# TYPE {name} {kind}", *families[name])
    return "\n".join((*text, "")).encode()


_Family = tuple[str, Sequence[str]]


def _plain(method: str, status: int, durations: counters.Histogram) -> Iterator[_Family]:
    labels = {"method": method, "path": "root", "status": str(status)}
    yield "http_requests_total", [f"http_requests_total{_text(labels)} {durations.count}"]
    name = "http_request_duration_seconds"
    yield name, _histogram(name, labels, durations, _PLAIN_BOUNDS, scale=1.0)


def _istio(identity: Identity, status: int, durations: counters.Histogram) -> Iterator[_Family]:
    labels = {
        "reporter": "destination",
        "source_workload": "unknown",
        "source_workload_namespace": "unknown",
        "destination_workload": identity.workload,
        "destination_workload_namespace": identity.namespace,
        "destination_app": identity.app,
        "destination_version": identity.version,
        "destination_cluster": identity.cluster,
        "request_protocol": "http",
        "response_code": str(status),
        "response_flags": "-",
        "connection_security_policy": "mutual_tls",
    }
    yield "istio_requests_total", [f"istio_requests_total{_text(labels)} {durations.count}"]
    name = "istio_request_duration_milliseconds"
    yield name, _histogram(name, labels, durations, _ISTIO_BOUNDS, scale=1000.0)


def _linkerd(identity: Identity, status: int, durations: counters.Histogram) -> Iterator[_Family]:
    whose = {
        "direction": "inbound",
        "namespace": identity.namespace,
        "deployment": identity.workload,
        "pod": identity.pod,
    }
    yield "request_total", [f"request_total{_text(whose)} {durations.count}"]
    classified = {
        **whose,
        "classification": "failure" if status >= 500 else "success",
        "status_code": str(status),
    }
    yield "response_total", [f"response_total{_text(classified)} {durations.count}"]
    labels = {**whose, "status_code": str(status)}
    name = "response_latency_ms"
    yield name, _histogram(name, labels, durations, _LINKERD_BOUNDS, scale=1000.0)


def _histogram(
    name: str,
    labels: Mapping[str, str],
    durations: counters.Histogram,
    bounds: Sequence[float],
    *,
    scale: float,
) -> list[str]:
    lines: list[str] = []
    seen = 0
    position = 0
    for bound in bounds:
        end = counters.BOUNDS.index(bound) + 1
        seen += sum(durations.counts[position:end])
        position = end
        lines.append(f"{name}_bucket{_text({**labels, 'le': f'{bound * scale:g}'})} {seen}")
    count = durations.count
    lines.append(f"{name}_bucket{_text({**labels, 'le': '+Inf'})} {count}")
    lines.append(f"{name}_sum{_text(labels)} {durations.total * scale:.9g}")
    lines.append(f"{name}_count{_text(labels)} {count}")
    return lines


def _text(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
