"""Reads what clusters are made of, now and then, beside the rounds of probes.

After each round a few clusters have their turn: those that answer and were read longest ago, none
of them more often than every ten minutes. So a large fleet costs no more at a time than a small
one.
"""

from dataclasses import dataclass
from datetime import timedelta

from volary.clusters.observe import cluster_facts
from volary.concurrency import fan_out
from volary.controller.fleet import cluster_registry
from volary.model.fleet import cluster_health

#: What is read is believed for so long.
_LIFETIME = timedelta(minutes=10)
#: Clusters that have their turn after one round, and of these at the same time.
_MOST, _AT_ONCE = 8, 2


@dataclass(slots=True)
class FactsReader:
    """See the module."""

    register: cluster_registry.ClusterRegistry

    async def look(self, fleet: cluster_health.FleetHealth) -> None:
        """Read some of the clusters that are due, after a round of probes."""
        known = self.register.facts
        for gone in known.keys() - {health.cluster for health in fleet.clusters}:
            del known[gone]
        answering = [health.cluster for health in fleet.clusters if health.answers]
        due = [
            *(name for name in answering if name not in known),
            *sorted(
                (
                    name
                    for name in answering
                    if name in known and fleet.at - known[name].read_at >= _LIFETIME
                ),
                key=lambda name: known[name].read_at,
            ),
        ]
        names = due[:_MOST]
        read = await fan_out.run_all(
            names,
            lambda name: cluster_facts.read(self.register.clusters, name),
            at_once=_AT_ONCE,
        )
        known.update(zip(names, read, strict=True))
