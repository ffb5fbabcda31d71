"""What runs in every cluster at a moment of the demo, and which pods users' requests go to."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet, traffic
from volary.engine.observers import feed
from volary.engine.runs import state
from volary.model import json

NAMESPACE = "default"
#: Seconds between two samples of the traffic.
_PERIOD = 0.05


@dataclass(slots=True)
class TrafficProbe:
    """Resolves again and again where users' requests go, and counts what would be lost."""

    service: str
    clusters: Mapping[str, fleet.Cluster]
    samples: int = 0
    lost: float = 0.0
    reasons: dict[str, None] = field(default_factory=dict)

    async def watch(self) -> None:
        """Sample until cancelled."""
        while True:
            for cluster in self.clusters.values():
                resolved = self.resolve(cluster)
                self.samples += 1
                self.lost += resolved.lost
                self.reasons.update(dict.fromkeys(resolved.reasons))
            await asyncio.sleep(_PERIOD)

    def resolve(self, cluster: fleet.Cluster) -> traffic.Traffic:
        """Return where requests go in one cluster right now."""
        return traffic.resolve(cluster.view, NAMESPACE, self.service, rules=cluster.faults.images)


def show(console: rich_console.Console, title: str, probe: TrafficProbe) -> None:
    """Print a line per cluster: Deployments with their ready pods, and who gets the traffic."""
    console.print(f"\n  [bold]{markup.escape(title)}[/]")
    width = max(len(name) for name in probe.clusters)
    for name, cluster in probe.clusters.items():
        deployments = sorted(cluster.view.list("Deployment", NAMESPACE), key=_name)
        summary = "  ".join(map(_pods, deployments))
        shares = _shares(probe.resolve(cluster))
        console.print(f"    {name:{width}}  {summary}   [dim]users:[/] {shares}")
    console.print()


def _name(deployment: json.JsonObject) -> str:
    return str(deployment["metadata"]["name"])


def _pods(deployment: json.JsonObject) -> str:
    ready = deployment.get("status", {}).get("readyReplicas", 0)
    return f"{_name(deployment)} {ready}/{deployment['spec'].get('replicas', 1)}"


def _shares(resolved: traffic.Traffic) -> str:
    parts = [
        f"{image.rpartition(':')[2]} {share:.0%}"
        for image, share in sorted(resolved.by_image().items())
    ]
    if resolved.unrouted:
        parts.append(f"[red]lost {resolved.unrouted:.0%}[/]")
    return ", ".join(parts) or "none"


@dataclass(slots=True)
class StageSnapshots:
    """An observer of a run that shows a snapshot before each stage but the first."""

    console: rich_console.Console
    probe: TrafficProbe
    _previous: str = ""

    def notify(self, event: feed.RunEvent) -> None:
        """Show a snapshot if a stage begins."""
        if isinstance(event, feed.StageStarted):
            if self._previous and event.stage != state.ROLLBACK_ID:
                show(self.console, f"after {self._previous}", self.probe)
            self._previous = event.stage_name
