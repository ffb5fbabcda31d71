"""The live tree of an application as text: ``volary get app NAME --tree``.

Of one cluster with every object, of several summed: what was applied stands once, with the
clusters that have it, and what controllers made of it is counted.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rich import live, text

from volary.cli import console, durations, exit_codes, forms
from volary.cli.remote import client, output
from volary.controller import system_clock
from volary.model import errors, json, phrases

_Row = tuple[str, ...]
_HEALTHY = "healthy"
#: What is said of an object that is not as Git says; of one that is missing its health says it.
_DRIFT = {"differs": "not as Git says", "extra": "not in Git"}
#: The worst first, as the API calls them.
_SEVERITY = ("degraded", "missing", "progressing", "unknown", "suspended", _HEALTHY)
_MOST_EVENTS = 3


async def show(
    server: client.Client, name: str, cluster: str, form: forms.Form, *, watch: bool
) -> int:
    """Show an application's live objects; with `watch` for as long as nobody stops it.

    Raises:
        errors.UserError: There is no such application, or it is not on that cluster.
    """
    if watch:
        return await _watch(server, name, cluster, form)
    tree = await server.get("applications", name, "tree", cluster=cluster)
    shown = lines(tree, system_clock.SystemClock().now())
    return output.answer(tree, form, lambda: console.write_lines(shown))


async def _watch(server: client.Client, name: str, cluster: str, form: forms.Form) -> int:
    if form is forms.Form.YAML:
        raise errors.user_error("--watch writes no YAML", hint="leave --output out, or use json")
    path = ("applications", name, "tree", "stream")
    known: dict[str, json.JsonObject] = {}
    results, clock = console.results(), system_clock.SystemClock()
    is_terminal = results.is_terminal and form is not forms.Form.JSON
    screen = live.Live(console=results, auto_refresh=False, screen=False)
    with screen if is_terminal else _Nothing():
        async for piece in server.stream(*path, cluster=cluster):
            if form is forms.Form.JSON:
                console.write_json({"event": piece.event, **piece.data})
                continue
            before = dict(known)
            fold(known, piece.event, piece.data)
            tree = {"application": name, "clusters": list(known.values())}
            now = clock.now()
            if is_terminal:
                # As it is: what names hold is no markup.
                clean = map(console.without_secrets, lines(tree, now))
                screen.update(text.Text("\n".join(clean)), refresh=True)
            elif piece.event == "tree":
                console.write_lines(lines(tree, now))
            else:
                console.write_lines(changes(before, piece.data))
    return exit_codes.Exit.DONE


class _Nothing:
    """Shows nothing of its own."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *_: object) -> None:
        """End."""


def fold(known: dict[str, json.JsonObject], event: str, data: json.JsonObject) -> None:
    """Take an event of the stream into the clusters that are known, by name."""
    if event == "tree":
        known.clear()
        known.update({one["name"]: one for one in data["clusters"]})
        return
    if event != "change":
        return  # of a version that says more
    changed = data["cluster"]
    before = known.get(changed["name"], {"nodes": []})
    gone = {*data["removed"], *(node["uid"] for node in changed["nodes"])}
    kept = [node for node in before["nodes"] if node["uid"] not in gone]
    known[changed["name"]] = {**changed, "nodes": [*kept, *changed["nodes"]]}


def changes(before: Mapping[str, json.JsonObject], change: json.JsonObject) -> Iterator[str]:
    """Yield a line for each object of which something else is to be said than `before`."""
    cluster = change["cluster"]
    name = cluster["name"]
    old = before.get(name, {"nodes": [], "staleReason": ""})
    by_uid = {node["uid"]: node for node in old["nodes"]}
    if cluster["staleReason"] != old["staleReason"]:
        yield f"{name}  {cluster['staleReason'] or 'is followed'}"
    for uid in change["removed"]:
        if uid in by_uid:
            yield f"{name}  {_title(by_uid[uid])}  is gone"
    for node in cluster["nodes"]:
        told = _change(node)
        # That it was compared, for one, changes nothing here.
        if node["uid"] not in by_uid or told != _change(by_uid[node["uid"]]):
            yield f"{name}  {told}"


def _change(node: json.JsonObject) -> str:
    health = node["health"]
    numbers = f"  {_ready(node)}" if node["total"] else ""
    drift = _DRIFT.get(node["drift"], "")
    said = "; ".join(filter(None, (health["reason"], drift)))
    return f"{_title(node)}  {health['status']}{numbers}  {said}"


def lines(tree: json.JsonObject, now: datetime) -> Iterator[str]:
    """Yield the text of a tree, as the API gives it."""
    clusters = tree["clusters"]
    yield f"{tree['application']}: {_summary(clusters)}"
    for cluster in clusters:
        if cluster["staleReason"]:
            yield f"not current: {cluster['name']}: {cluster['staleReason']}"
        for warning in cluster["warnings"]:
            yield f"warning: {cluster['name']}: {warning}"
    yield ""
    if len(clusters) == 1:
        yield from _whole(clusters[0], now)
    elif clusters:
        yield from console.aligned(list(_summed(clusters)))


def _summary(clusters: Sequence[json.JsonObject]) -> str:
    if not clusters:
        return "on no cluster"
    ready = sum(cluster["ready"] for cluster in clusters)
    total = sum(cluster["total"] for cluster in clusters)
    health = _counted(Counter(cluster["health"]["status"] for cluster in clusters))
    where = clusters[0]["name"] if len(clusters) == 1 else phrases.count(len(clusters), "cluster")
    said = clusters[0]["health"]["reason"] if len(clusters) == 1 else health
    pods = f", {ready} of {total} pods ready" if total else ""
    return f"{said} in {where}{pods}"


def _whole(cluster: json.JsonObject, now: datetime) -> Iterator[str]:
    """Yield the tree of one cluster."""
    below = _by_parent(cluster["nodes"])
    rows: list[_Row] = [("OBJECT", "READY", "RESTARTS", "HEALTH", "AGE", "DETAILS")]
    notes: list[str] = []

    def add(node: json.JsonObject, indent: str, branch: str) -> None:
        rows.append((indent + branch + _title(node), *_columns(node, now)))
        notes.extend(_events(node))
        children = below.get(node["uid"], [])
        inner = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for place, child in enumerate(children):
            add(child, inner, "└─ " if place == len(children) - 1 else "├─ ")

    for root in below.get("", []):
        add(root, "", "")
    yield from console.aligned(rows)
    if cluster["omitted"]:
        yield f"… and {phrases.count(cluster['omitted'], 'object')} more"
    if notes:
        yield ""
        yield from notes


def _columns(node: json.JsonObject, now: datetime) -> _Row:
    health = node["health"]
    details = health["reason"] if health["status"] != _HEALTHY else ", ".join(node["images"])
    if node["node"]:
        details = f"{details} on {node['node']}"
    if node["drift"] in _DRIFT:
        details = "; ".join(filter(None, (_DRIFT[node["drift"]], details)))
    return (
        _ready(node),
        str(node["restarts"]) if node["restarts"] else "-",
        health["status"],
        durations.age(node["created"], now) if node["created"] else "-",
        details or "-",
    )


def _events(node: json.JsonObject) -> Iterator[str]:
    for event in node["events"][:_MOST_EVENTS]:
        times = f" ({event['count']} times)" if event["count"] > 1 else ""
        yield f"{_title(node)}: {event['reason']}: {event['message']}{times}"


@dataclass(slots=True)
class _Sum:
    """One object over the clusters that have it."""

    title: str
    clusters: int = 0
    ready: int = 0
    total: int = 0
    restarts: int = 0
    health: Counter[str] = field(default_factory=Counter)
    #: In how many clusters it is not as Git says.
    drifted: int = 0
    #: Of what was made of it: kinds and how many of each are how.
    below: dict[str, Counter[str]] = field(default_factory=dict)


def _summed(clusters: Sequence[json.JsonObject]) -> Iterator[_Row]:
    """Yield the rows of several clusters as one tree."""
    sums: dict[tuple[str, ...], _Sum] = {}
    for cluster in clusters:
        below = _by_parent(cluster["nodes"])
        for root in below.get("", []):
            key = (root["group"], root["kind"], root["namespace"], root["name"])
            summed = sums.setdefault(key, _Sum(_title(root)))
            summed.clusters += 1
            summed.ready += root["ready"]
            summed.total += root["total"]
            summed.restarts += root["restarts"]
            summed.health[root["health"]["status"]] += 1
            summed.drifted += root["drift"] in _DRIFT
            for node in _descendants(root["uid"], below):
                counted = summed.below.setdefault(node["kind"], Counter())
                counted[node["health"]["status"]] += 1
    yield ("OBJECT", "CLUSTERS", "READY", "RESTARTS", "HEALTH")
    for _, summed in sorted(sums.items()):
        ready = f"{summed.ready}/{summed.total}" if summed.total else "-"
        restarts = str(summed.restarts) if summed.restarts else "-"
        health = _counted(summed.health)
        if summed.drifted:
            health = f"{health}; {summed.drifted} not as Git says"
        yield (summed.title, str(summed.clusters), ready, restarts, health)
        for place, (kind, counted) in enumerate(sorted(summed.below.items())):
            branch = "└─ " if place == len(summed.below) - 1 else "├─ "
            yield (f"{branch}{kind} × {counted.total()}", "", "", "", _counted(counted))


def _by_parent(nodes: Sequence[json.JsonObject]) -> dict[str, list[json.JsonObject]]:
    there = {node["uid"] for node in nodes}
    below: dict[str, list[json.JsonObject]] = {}
    for node in sorted(nodes, key=lambda one: (one["kind"], one["namespace"], one["name"])):
        parent = node["parent"] if node["parent"] in there else ""
        below.setdefault(parent, []).append(node)
    return below


def _descendants(
    uid: str, below: Mapping[str, Sequence[json.JsonObject]]
) -> Iterator[json.JsonObject]:
    for child in below.get(uid, ()):
        yield child
        yield from _descendants(child["uid"], below)


def _counted(health: Mapping[str, int]) -> str:
    known = [word for word in _SEVERITY if word in health]
    others = sorted(set(health) - set(known))
    return ", ".join(f"{health[word]} {word}" for word in (*known, *others))


def _title(node: json.JsonObject) -> str:
    place = f"{node['namespace']}/" if node["namespace"] and not node["parent"] else ""
    return f"{node['kind']} {place}{node['name']}"


def _ready(node: json.JsonObject) -> str:
    return f"{node['ready']}/{node['total']}" if node["total"] else "-"
