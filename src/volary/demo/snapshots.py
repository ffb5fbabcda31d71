"""What stands in every cluster at a moment of the demo, and what users see of it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet, traffic
from volary.clusters.client import client_pool
from volary.engine import executor
from volary.engine.runs import state
from volary.model import errors, json, statuses

NAMESPACE = "default"
#: Seconds between two looks at the traffic.
_PERIOD = 0.05


@dataclass(slots=True)
class TrafficProbe:
    """Asks again and again where users' requests go, and counts what would be lost."""

    service: str
    clusters: Mapping[str, fleet.Cluster]
    samples: int = 0
    lost: float = 0.0
    reasons: dict[str, None] = field(default_factory=dict)

    async def watch(self) -> None:
        """Sample until cancelled."""
        while True:
            for cluster in self.clusters.values():
                seen = self.look(cluster)
                self.samples += 1
                self.lost += seen.lost
                self.reasons.update(dict.fromkeys(seen.reasons))
            await asyncio.sleep(_PERIOD)

    def look(self, cluster: fleet.Cluster) -> traffic.Traffic:
        """Return where requests go in one cluster right now."""
        return traffic.resolve(cluster.view, NAMESPACE, self.service, rules=cluster.faults.images)


async def show(
    console: rich_console.Console, title: str, clusters: client_pool.ClientPool, users: TrafficProbe
) -> None:
    """Print a line per cluster: Deployments with their ready pods, and who gets the traffic."""
    console.print(f"\n  [bold]{markup.escape(title)}[/]")
    width = max(len(name) for name in users.clusters)
    for name, cluster in users.clusters.items():
        summary = "  ".join(await deployments(clusters, name))
        shares = users.look(cluster)
        console.print(f"    {name:{width}}  {summary}   [dim]users:[/] {_shares(shares)}")
    console.print()


async def deployments(clusters: client_pool.ClientPool, name: str) -> list[str]:
    """Return ``simple 2/2`` for each Deployment, as read from the cluster's API."""
    client = await clusters.client(name)
    if isinstance(client, client_pool.Unavailable):
        return [client.reason]
    try:
        kind = (await client.discover()).find("apps", "Deployment")
        if kind is None:
            return []
        listed = await client.list(kind, namespace=NAMESPACE)
    except errors.VolaryError as error:
        return [str(error)]
    return [_line(body) for body in sorted(listed.items, key=_name)]


def _name(body: json.JsonObject) -> str:
    return str(body["metadata"]["name"])


def _line(body: json.JsonObject) -> str:
    ready = body.get("status", {}).get("readyReplicas", 0)
    return f"{_name(body)} {ready}/{body['spec'].get('replicas', 1)}"


def _shares(seen: traffic.Traffic) -> str:
    parts = [
        f"{image.rpartition(':')[2]} {share:.0%}"
        for image, share in sorted(seen.by_image().items())
    ]
    if seen.unrouted:
        parts.append(f"[red]lost {seen.unrouted:.0%}[/]")
    return ", ".join(parts) or "none"


class SnapshotExecutor:
    """An executor that shows a snapshot before the first task of each stage but the first."""

    def __init__(
        self,
        performer: executor.StageExecutor,
        console: rich_console.Console,
        clusters: client_pool.ClientPool,
        users: TrafficProbe,
    ) -> None:
        self._performer = performer
        self._console = console
        self._clusters = clusters
        self._users = users
        self._lock = asyncio.Lock()
        self._seen = ""

    async def execute(
        self, task: executor.TaskContext, report: executor.Reporter
    ) -> statuses.Outcome:
        """Look if a new stage begins, then carry the task out."""
        async with self._lock:
            if self._seen and task.stage_id != self._seen and task.stage_id != state.ROLLBACK_ID:
                before = self._seen.rpartition("/")[2].partition("-")[2]
                await show(self._console, f"after {before}", self._clusters, self._users)
            self._seen = task.stage_id
        return await self._performer.execute(task, report)
