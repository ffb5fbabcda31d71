"""An application over all its clusters, as text: ``volary get app``."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from volary.cli import console
from volary.model import json

_NAMES = 5
_SHORT = 7
_LABEL = 11
_Row = tuple[str, ...]


def show(found: json.JsonObject, *, wide: bool) -> None:
    """Write one view of an application; with `wide` also each cluster."""
    for line in lines(found, wide=wide):
        console.write_text(line)


def lines(found: json.JsonObject, *, wide: bool) -> Iterator[str]:
    """Yield the text of a status, as the API gives it."""
    health = found["health"]
    yield _pair(found["name"], f"{health['status']}: {health['reason']}")
    yield from _server_status(found)
    silent = [each for each in found["clusters"] if not each["current"]]
    seen = len(found["clusters"]) - len(silent)
    where = (
        _count(seen, "cluster")
        if not silent
        else f"{seen} of {_count(len(silent) + seen, 'cluster')}"
    )
    if found["total"]:
        yield _pair("pods", f"{found['ready']} of {found['total']} ready in {where}")
    for each in found["releases"]:
        yield _pair("release", f"{_commit(each['commit'])} in {_named(each['clusters'])}")
    for each in found["variants"]:
        yield _pair(each["name"], _variant(each))
    for each in silent:
        yield _pair("not seen", _unreachable(each))
    for each in found["clusters"]:
        for warning in each["warnings"]:
            yield _pair("warning", f"{each['name']}: {warning}")
    yield ""
    yield from table(_objects(found["objects"]))
    if wide:
        yield ""
        yield from table(_clusters(found["clusters"]))


def _server_status(found: json.JsonObject) -> Iterator[str]:
    """Yield what only a server knows."""
    if found["status"]:
        yield _pair("server", f"{found['status']}: {found['reason']}")
    if found["run"]:
        yield _pair("run", found["run"])
    if found["waitingReason"]:
        yield _pair("waits", found["waitingReason"])
    if found["problem"]:
        yield _pair("problem", found["problem"])


def _objects(found: Sequence[json.JsonObject]) -> Iterator[_Row]:
    yield ("KIND", "NAME", "CLUSTERS", "READY", "HEALTH")
    for each in found:
        name = f"{each['namespace']}/{each['name']}" if each["namespace"] else each["name"]
        ready = f"{each['ready']}/{each['total']}" if each["total"] else "-"
        counted = ", ".join(f"{count} {word}" for word, count in each["health"].items())
        yield (each["kind"], name, str(len(each["clusters"])), ready, counted)


def _clusters(found: Sequence[json.JsonObject]) -> Iterator[_Row]:
    yield ("CLUSTER", "STATE", "HEALTH", "READY", "RELEASE", "VARIANTS", "SEEN", "REASON")
    for each in found:
        state = each["health"]
        was = f" (was {state['status']})" if each["seen"] else ""
        word = state["status"] if each["current"] else f"unknown{was}"
        yield (
            each["name"],
            _state(each),
            word,
            f"{each['ready']}/{each['total']}" if each["total"] else "-",
            ",".join(_commit(commit) for commit in each["commits"]) or "-",
            ", ".join(f"{one['name']} {_images(one)}" for one in each["variants"]) or "-",
            _time(each["seen"]),
            each["unreachableReason"] or state["reason"],
        )


def _state(found: json.JsonObject) -> str:
    """Return how the cluster itself is, which only a server knows."""
    marks = [found["state"]] * bool(found["state"]) + ["cordoned"] * found["cordoned"]
    return ", ".join(marks) or "-"


def _unreachable(found: json.JsonObject) -> str:
    since = f" since {_time(found['unknownSince'])}" if found["unknownSince"] else ""
    known = ""
    if found["seen"]:
        commits = ",".join(_commit(commit) for commit in found["commits"]) or "nothing"
        known = f"; last known: {commits}, {found['ready']} of {found['total']} ready"
    return f"{found['name']}{since}: {found['unreachableReason']}{known}"


def _variant(found: json.JsonObject) -> str:
    commits = ",".join(_commit(each) for each in found["commits"])
    return f"{found['ready']} of {found['total']} ready, {_images(found)} ({commits})"


def _images(found: json.JsonObject) -> str:
    return ",".join(each.rpartition("/")[2] for each in found["images"]) or "-"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    shown = ", ".join(names[:_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"{_count(len(names), 'cluster')}: {shown}"


def _commit(text: str) -> str:
    """Return a commit in short, also one that stands for a plain directory's content."""
    return text[:_SHORT] if "-" not in text else text[: text.index("-") + 1 + _SHORT]


def _time(text: str | None) -> str:
    if not text:
        return "never"
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _pair(name: str, value: str) -> str:
    return f"{name + ':':<{_LABEL}} {value}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def table(rows: Iterable[_Row]) -> Iterator[str]:
    """Yield rows in aligned columns."""
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    for row in every:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
