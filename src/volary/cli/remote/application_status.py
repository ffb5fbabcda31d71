"""An application over all its clusters, as text: ``volary get app``."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from volary.cli import console
from volary.model import json, phrases

_SHORT = 7
_LABEL = 11
#: Clusters of which it is said what drifted there.
_MOST_DRIFTED = 5
_Row = tuple[str, ...]


def lines(status: json.JsonObject, *, wide: bool) -> Iterator[str]:
    """Yield the text of a status, as the API gives it; with `wide` also each cluster."""
    health = status["health"]
    yield _pair(status["name"], f"{health['status']}: {health['reason']}")
    yield from _server_status(status)
    silent = [cluster for cluster in status["clusters"] if not cluster["current"]]
    seen = len(status["clusters"]) - len(silent)
    where = (
        phrases.count(seen, "cluster")
        if not silent
        else f"{seen} of {phrases.count(len(silent) + seen, 'cluster')}"
    )
    if status["total"]:
        yield _pair("pods", f"{status['ready']} of {status['total']} ready in {where}")
    for entry in status["releases"]:
        yield _pair("release", f"{_commit(entry['commit'])} in {_named(entry['clusters'])}")
    for entry in status["variants"]:
        yield _pair(entry["name"], _variant(entry))
    for entry in silent:
        yield _pair("not seen", _unreachable(entry))
    for entry in status["clusters"]:
        for warning in entry["warnings"]:
            yield _pair("warning", f"{entry['name']}: {warning}")
    yield ""
    yield from console.aligned(list(_objects(status["objects"])))
    if wide:
        yield ""
        yield from console.aligned(list(_clusters(status["clusters"])))


def _server_status(status: json.JsonObject) -> Iterator[str]:
    """Yield what only a server knows."""
    if status["status"]:
        yield _pair("server", f"{status['status']}: {status['reason']}")
    drifted = status.get("drift", {})
    for name in list(drifted)[:_MOST_DRIFTED]:
        yield _pair("drift", f"{name}: {drifted[name]}")
    if drifted:
        more = len(drifted) - _MOST_DRIFTED
        rest = f"{phrases.count(more, 'cluster')} more; " if more > 0 else ""
        yield _pair("drift", f"{rest}type volary diff {status['name']}")
    waits = status["waitingReason"]
    for name, key in (("run", "run"), ("waits", "waitingReason"), ("problem", "problem")):
        if status[key] and status[key] != status["reason"]:
            yield _pair(name, status[key])
    if status["status"] and status["status"] != "synced" and "type volary" not in waits:
        yield _pair("type", f"volary explain {status['name']}")
    for warning in status.get("warnings", ()):
        yield _pair("warning", warning)


def _objects(summaries: Sequence[json.JsonObject]) -> Iterator[_Row]:
    yield ("KIND", "NAME", "CLUSTERS", "READY", "HEALTH")
    for summary in summaries:
        name = (
            f"{summary['namespace']}/{summary['name']}" if summary["namespace"] else summary["name"]
        )
        ready = f"{summary['ready']}/{summary['total']}" if summary["total"] else "-"
        counted = ", ".join(f"{count} {word}" for word, count in summary["health"].items())
        yield (summary["kind"], name, str(len(summary["clusters"])), ready, counted)


def _clusters(clusters: Sequence[json.JsonObject]) -> Iterator[_Row]:
    yield ("CLUSTER", "STATE", "HEALTH", "READY", "RELEASE", "VARIANTS", "SEEN", "REASON")
    for cluster in clusters:
        state = cluster["health"]
        was = f" (was {state['status']})" if cluster["seen"] else ""
        word = state["status"] if cluster["current"] else f"unknown{was}"
        yield (
            cluster["name"],
            _state(cluster),
            word,
            f"{cluster['ready']}/{cluster['total']}" if cluster["total"] else "-",
            ",".join(_commit(commit) for commit in cluster["commits"]) or "-",
            ", ".join(f"{one['name']} {_images(one)}" for one in cluster["variants"]) or "-",
            _time(cluster["seen"]),
            cluster["unreachableReason"] or state["reason"],
        )


def _state(cluster: json.JsonObject) -> str:
    """Return how the cluster itself is, which only a server knows."""
    marks = [cluster["state"]] * bool(cluster["state"]) + ["cordoned"] * cluster["cordoned"]
    return ", ".join(marks) or "-"


def _unreachable(cluster: json.JsonObject) -> str:
    since = f" since {_time(cluster['unknownSince'])}" if cluster["unknownSince"] else ""
    known = ""
    if cluster["seen"]:
        commits = ",".join(_commit(commit) for commit in cluster["commits"]) or "nothing"
        known = f"; last known: {commits}, {cluster['ready']} of {cluster['total']} ready"
    return f"{cluster['name']}{since}: {cluster['unreachableReason']}{known}"


def _variant(variant: json.JsonObject) -> str:
    commits = ",".join(_commit(commit) for commit in variant["commits"])
    return f"{variant['ready']} of {variant['total']} ready, {_images(variant)} ({commits})"


def _images(variant: json.JsonObject) -> str:
    return ",".join(image.rpartition("/")[2] for image in variant["images"]) or "-"


def _named(names: Sequence[str]) -> str:
    return f"{phrases.count(len(names), 'cluster')}: {phrases.first_of(names)}"


def _commit(text: str) -> str:
    """Return a commit in short, also one that stands for a plain directory's content."""
    return text[:_SHORT] if "-" not in text else text[: text.index("-") + 1 + _SHORT]


def _time(text: str | None) -> str:
    if not text:
        return "never"
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _pair(name: str, value: str) -> str:
    return f"{name + ':':<{_LABEL}} {value}"
