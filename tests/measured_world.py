"""Given clusters with v1 everywhere and somebody who knows the numbers; when v2 is released."""

import contextlib
import textwrap
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import command_world
import metrics_server

V1, V2 = "simple:v1", "simple:v2"
_APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
  workloads: [{kind: Deployment, name: simple}]
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: K8S_BASELINE_ROLLOUT, with: {replicas: 1}}
    - name: ANALYSIS
      with:
        duration: 3s
        holdFor: 1s
        judgePods: false
"""
_METRIC = """\
        - name: NAME
          provider: prom
          interval: 1s
          query: 'NAME{cluster="{{ cluster }}",variant="{{ .Variant.Name }}"}'
"""
_REST = """\
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
    - {name: K8S_BASELINE_CLEAN}
"""


@dataclass
class World:
    """Clusters, and what is measured there."""

    clusters: command_world.World
    metrics: metrics_server.MetricsServer

    def measures(self, rule: str, *, names: Sequence[str] = ("errors",), options: str = "") -> str:
        """Given: an application file with an analysis by this rule, and a new version.

        Args:
            rule: What is said of each metric.
            names: Of the metrics; each is asked for by its name.
            options: More of the analysis.

        Returns:
            The commit.
        """
        rule = textwrap.indent(f"{textwrap.dedent(rule).rstrip()}\n", " " * 10)
        metrics = "".join(_METRIC.replace("NAME", name) + rule for name in names)
        options = textwrap.indent(f"{textwrap.dedent(options)}metrics:\n", " " * 8)
        text = _APPLICATION + options + metrics + _REST
        (self.clusters.directory / "app.pipecd.yaml").unlink(missing_ok=True)
        self.clusters.write({"volary.yaml": text}, message="Measure")
        return self.clusters.edit("deployment.yaml", V1, V2, message="Release v2")

    async def run(self) -> command_world.Ended:
        """When the new version is released."""
        return await self.clusters.run("--strategy", "pipeline", "--output", "json")


def findings(ended: command_world.Ended, kind: str) -> list[dict[str, Any]]:
    """Then: what the analyses reported of a kind, as the lines that said it."""
    return [
        each for each in ended.events if each["event"] == "task-finding" and each["kind"] == kind
    ]


@contextlib.asynccontextmanager
async def world(base: Path, *names: str) -> AsyncIterator[World]:
    """Start the clusters and whoever is asked for measurements."""
    async with metrics_server.serve() as metrics, command_world.world(base, *names) as clusters:
        fleet = Path(clusters.fleet)
        fleet.write_text(metrics.fleet_text(fleet.read_text()))
        await clusters.deployed()
        yield World(clusters, metrics)
