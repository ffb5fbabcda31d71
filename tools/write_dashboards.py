"""Writes deploy/grafana/*.json; a test checks that they are current and name what exists.

python tools/write_dashboards.py
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "deploy/grafana"
_WIDTH = 24
_EACH = "[$__rate_interval]"
_SOURCE = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph: its queries, each with the legend of its lines."""

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    description: str = ""
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Naming:
    """How a source of metrics calls what every dashboard of a release shows."""

    name: str
    title: str
    #: Label selectors of one workload's namespace and of a cluster, and the label of variants.
    where: str
    requests: str
    #: Selector of the requests that failed.
    failed: str
    buckets: str
    #: From the buckets' unit to seconds.
    scale: str = ""


_WHERE = 'cluster=~"$cluster",workload=~"$workload(-canary|-baseline)?"'
NAMINGS = (
    Naming(
        "application",
        "the application's own metrics",
        f'{_WHERE},kubernetes_namespace=~"$namespace"',
        "http_request_duration_seconds_count",
        'status=~"5.."',
        "http_request_duration_seconds_bucket",
    ),
    Naming(
        "istio",
        "Istio's metrics",
        f'{_WHERE},reporter="destination",destination_workload_namespace=~"$namespace"',
        "istio_requests_total",
        'response_code=~"5.."',
        "istio_request_duration_milliseconds_bucket",
        " / 1000",
    ),
    Naming(
        "linkerd",
        "Linkerd's metrics",
        f'{_WHERE},direction="inbound",namespace=~"$namespace"',
        "response_total",
        'classification="failure"',
        "response_latency_ms_bucket",
        " / 1000",
    ),
)


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards by file name."""
    made = {f"release-{each.name}.json": _release(each) for each in NAMINGS}
    return {"volary.json": _server(), **made}


def _server() -> dict[str, Any]:
    """Volary's own metrics."""
    rows = (
        (
            "Applications and clusters",
            (
                Graph(
                    "Applications",
                    (("sum by (status) (volary_applications{})", "{{status}}"),),
                    description="How applications stand: as after their last run.",
                    stacked=True,
                ),
                Graph("Clusters", (("sum by (status) (volary_clusters{})", "{{status}}"),)),
            ),
        ),
        (
            "Runs",
            (
                Graph(
                    "Runs that ended",
                    (
                        (
                            f"sum by (status) (rate(volary_run_seconds_count{{}}{_EACH}))",
                            "{{status}}",
                        ),
                    ),
                    "ops",
                    stacked=True,
                ),
                Graph(
                    "Time until a run begins",
                    tuple(
                        (
                            f"histogram_quantile({share}, sum by (le)"
                            " (rate(volary_run_wait_seconds_bucket{}[$__rate_interval])))",
                            f"p{share * 100:g}",
                        )
                        for share in (0.5, 0.95)
                    ),
                    "s",
                ),
                Graph(
                    "Median time of a stage",
                    (
                        (
                            "histogram_quantile(0.5, sum by (le, stage)"
                            " (rate(volary_stage_seconds_bucket{}[$__rate_interval])))",
                            "{{stage}}",
                        ),
                    ),
                    "s",
                ),
                Graph(
                    "Stages that did not succeed on a cluster",
                    (
                        (
                            "sum by (reason) (increase(volary_task_failures_total{}[5m]))",
                            "{{reason}} in 5 min",
                        ),
                    ),
                    stacked=True,
                ),
            ),
        ),
        (
            "Requests to the server",
            (
                Graph(
                    "Requests",
                    (
                        (
                            f"sum by (status) (rate(volary_http_requests_total{{}}{_EACH}))",
                            "{{status}}",
                        ),
                    ),
                    "reqps",
                    stacked=True,
                ),
                Graph(
                    "Time until the answer begins",
                    tuple(
                        (
                            f"histogram_quantile({share}, sum by (le)"
                            " (rate(volary_http_request_seconds_bucket{}[$__rate_interval])))",
                            f"p{share * 100:g}",
                        )
                        for share in (0.5, 0.95, 0.99)
                    ),
                    "s",
                ),
                Graph(
                    "Event streams",
                    (
                        ("sum(volary_streams{})", "open"),
                        ("sum(increase(volary_streams_dropped_total{}[5m]))", "dropped in 5 min"),
                    ),
                ),
                Graph(
                    "Refused",
                    (
                        ("sum(increase(volary_failed_logins_total{}[5m]))", "logins in 5 min"),
                        ("sum(increase(volary_denied_total{}[5m]))", "not allowed in 5 min"),
                        (
                            "sum by (reason) (increase(volary_requests_limited_total{}[5m]))",
                            "requests, no {{reason}} left, in 5 min",
                        ),
                    ),
                ),
                Graph(
                    "Connections",
                    (
                        ("sum(volary_connections{})", "open"),
                        (
                            "sum by (reason) (increase(volary_connections_ended_total{}[5m]))",
                            "ended ({{reason}}) in 5 min",
                        ),
                        (
                            "sum by (reason) (increase(volary_connections_refused_total{}[5m]))",
                            "refused ({{reason}}) in 5 min",
                        ),
                    ),
                ),
            ),
        ),
    )
    return _dashboard("volary", "Volary", rows, [_source()])


def _release(naming: Naming) -> dict[str, Any]:
    """Canary, baseline and primary side by side: rate, errors, duration, for each cluster."""
    by = "by (cluster, variant)"
    rate = f"rate({naming.requests}{{{naming.where}}}[$__rate_interval])"
    failed = f"rate({naming.requests}{{{naming.where},{naming.failed}}}[$__rate_interval])"
    buckets = f"rate({naming.buckets}{{{naming.where}}}[$__rate_interval])"
    legend = "{{cluster}} {{variant}}"
    share = f"(sum {by} ({failed}) or 0 * sum {by} ({rate})) / sum {by} ({rate})"
    quantiles = [
        Graph(
            f"p{number} of the durations",
            (
                (
                    f"histogram_quantile({number / 100}, sum by (le, cluster, variant)"
                    f" ({buckets})){naming.scale}",
                    legend,
                ),
            ),
            "s",
        )
        for number in (50, 90, 99)
    ]
    traffic = f"sum {by} ({rate}) / on (cluster) group_left sum by (cluster) ({rate})"
    rows = (
        (
            "$cluster: rate, errors, duration",
            (
                Graph("Requests", ((f"sum {by} ({rate})", legend),), "reqps"),
                Graph(
                    "Share of the traffic",
                    ((traffic, legend),),
                    "percentunit",
                    "What each variant really gets; the weights of the routes should show here.",
                ),
                Graph("Share of errors", ((share, legend),), "percentunit"),
                *quantiles,
            ),
        ),
    )
    variables = [
        _source(),
        _variable("cluster", f"label_values({naming.requests}{{}}, cluster)", repeated=True),
        _variable("namespace", f"label_values({naming.requests}{{}}, {_namespace(naming)})"),
        _variable(
            "workload",
            f"label_values({naming.requests}{{}}, workload)",
            regex="/^(?!.*-(?:canary|baseline)$).*$/",
        ),
    ]
    title = f"Volary: releases by {naming.title}"
    made = _dashboard(f"volary-release-{naming.name}", title, rows, variables)
    made["panels"][0]["repeat"] = "cluster"
    return made


def _namespace(naming: Naming) -> str:
    return naming.where.rpartition(",")[2].partition("=")[0]


def _dashboard(
    uid: str,
    title: str,
    rows: Sequence[tuple[str, Sequence[Graph]]],
    variables: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    top = 0
    for name, graphs in rows:
        panels.append(_row(len(panels) + 1, name, top))
        top += 1
        width = _WIDTH // (3 if len(graphs) % 3 == 0 else 2)
        for position, graph in enumerate(graphs):
            left = position * width % _WIDTH
            if position and not left:
                top += 8
            place = {"x": left, "y": top, "w": width, "h": 8}
            panels.append(_panel(len(panels) + 1, graph, place))
        top += 8
    return {
        "uid": uid,
        "title": title,
        "tags": ["volary"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "10s",
        "templating": {"list": list(variables)},
        "panels": panels,
    }


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": _WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "gridPos": place, "panels": []}


def _panel(number: int, graph: Graph, place: dict[str, int]) -> dict[str, Any]:
    custom = {
        "drawStyle": "line",
        "fillOpacity": 20 if graph.stacked else 0,
        "stacking": {"mode": "normal" if graph.stacked else "none"},
    }
    return {
        "id": number,
        "type": "timeseries",
        "title": graph.title,
        "description": graph.description,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": graph.unit, "min": 0, "custom": custom},
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _SOURCE,
                "expr": query,
                "legendFormat": legend,
            }
            for index, (query, legend) in enumerate(graph.queries)
        ],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}


def _variable(name: str, query: str, *, repeated: bool = False, regex: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "regex": regex,
        "refresh": 2,
        "sort": 1,
        "multi": repeated,
        "includeAll": repeated,
    }


def write(folder: Path = FOLDER) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in dashboards().items():
        (folder / name).write_text(json.dumps(body, indent=2) + "\n")


if __name__ == "__main__":
    write()
