"""What a cluster is made of: its version, its nodes, what they can hold and what is left of it.

Read now and then, and bounded: of a cluster with very many pods nobody says what is left.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from volary.clusters.api import api_errors
from volary.clusters.client import client_pool, clients
from volary.manifests import objects
from volary.manifests.workloads import quantities
from volary.model import errors, json
from volary.placement.replicas import capacity

#: How long one cluster may take to answer.
PATIENCE = timedelta(seconds=15)
#: Nodes and pods that are read at most.
_MOST_NODES, _MOST_PODS = 5_000, 5_000
#: Ended pods take nothing.
_ALIVE = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class Resources:
    """An amount of what pods take."""

    pods: int
    #: In cores.
    cpu: float
    #: In bytes.
    memory: int


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster as it was read."""

    read_at: datetime
    #: Such as ``v1.36.0``; empty: it did not say.
    version: str = ""
    #: None: they may not be read.
    nodes: int | None = None
    ready_nodes: int | None = None
    #: Of the nodes that are ready; None: it is not known.
    capacity: Resources | None = None
    #: What the requests of their pods leave; None: it is not known.
    free: Resources | None = None
    #: Why something of it is not known, one clause; empty: all of it is.
    problem: str = ""


async def read(
    clusters: client_pool.FleetClients, name: str, *, patience: timedelta = PATIENCE
) -> ClusterFacts:
    """Read what a cluster is made of; every failure is an answer."""
    now = clusters.clock.now()
    client = await clusters.client(name)
    if isinstance(client, client_pool.Unavailable):
        return ClusterFacts(now, problem=client.reason)
    facts = ClusterFacts(now)
    try:
        async with asyncio.timeout(patience.total_seconds()):
            facts = ClusterFacts(now, await client.version())
            return await _with_nodes(client, facts)
    except TimeoutError:
        problem = f"no answer within {patience.total_seconds():g} s"
    except errors.VolaryError as error:
        problem = str(error)
    return ClusterFacts(now, facts.version, problem=problem)


async def _with_nodes(client: clients.Client, facts: ClusterFacts) -> ClusterFacts:
    catalog = await client.discover()
    nodes, pods = catalog.find("", "Node"), catalog.find("", "Pod")
    if nodes is None or pods is None:
        return _facts(facts, (), problem="it serves neither nodes nor pods")
    try:
        listed = (await client.list(nodes, most=_MOST_NODES)).items
    except (api_errors.Forbidden, api_errors.TooLarge) as error:
        return ClusterFacts(facts.read_at, facts.version, problem=str(error))
    try:
        running = (await client.list(pods, field_selector=_ALIVE, most=_MOST_PODS)).items
    except (api_errors.Forbidden, api_errors.TooLarge) as error:
        return _facts(facts, listed, problem=str(error))
    return _facts(facts, listed, running)


def _facts(
    facts: ClusterFacts,
    nodes: Iterable[json.JsonObject],
    pods: Iterable[json.JsonObject] | None = None,
    *,
    problem: str = "",
) -> ClusterFacts:
    """Return the facts with what its nodes say, and their pods where these are known."""
    nodes = tuple(nodes)
    ready = [node for node in nodes if capacity.is_ready(node)]
    left = None
    if pods is not None:
        rooms = capacity.cluster_capacity(ready, pods, facts.read_at)
        left = _resources(room.free for room in rooms.nodes)
    return ClusterFacts(
        facts.read_at,
        facts.version,
        len(nodes),
        len(ready),
        _resources(map(_allocatable, ready)),
        left,
        problem,
    )


def _allocatable(node: json.JsonObject) -> Mapping[str, Decimal]:
    written = objects.mapping(node, "status", "allocatable")
    parsed = ((name, quantities.parse(value)) for name, value in written.items())
    return {name: amount for name, amount in parsed if amount is not None}


def _resources(amounts: Iterable[Mapping[str, Decimal]]) -> Resources:
    """Return the sum; a node that is taken beyond what it has leaves nothing."""
    pods, cpu, memory = Decimal(), Decimal(), Decimal()
    for amount in amounts:
        pods += max(Decimal(), amount.get("pods", Decimal()))
        cpu += max(Decimal(), amount.get("cpu", Decimal()))
        memory += max(Decimal(), amount.get("memory", Decimal()))
    return Resources(int(pods), float(cpu), int(memory))
