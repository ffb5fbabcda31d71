"""What clusters have left for more pods, read from their nodes and pods.

Read page by page, a few clusters at a time: the pods of a large cluster are many. A cluster that
does not answer in time, or does not let its nodes be read, is one about which nothing is known.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from volary.clusters.client import client_pool, clients
from volary.concurrency import fan_out
from volary.model import errors
from volary.placement.replicas import capacity

#: How long one cluster may take to answer.
PATIENCE = timedelta(seconds=15)
#: Clusters that are read at once.
_AT_ONCE = 8
#: Ended pods take nothing.
_ALIVE = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class FreeCapacities:
    """What was read, and why the rest was not."""

    rooms: Mapping[str, capacity.ClusterCapacity] = field(default_factory=dict)
    #: By cluster, one clause.
    unreadable: Mapping[str, str] = field(default_factory=dict)


async def read(
    clusters: client_pool.FleetClients, names: Sequence[str], *, patience: timedelta = PATIENCE
) -> FreeCapacities:
    """Read what is left in each cluster; a failure of one is no failure of the others."""
    answers = await fan_out.run_all(
        names, lambda name: _read_cluster(clusters, name, patience), at_once=_AT_ONCE
    )
    by_name = dict(zip(names, answers, strict=True))
    return FreeCapacities(
        {
            name: answer
            for name, answer in by_name.items()
            if isinstance(answer, capacity.ClusterCapacity)
        },
        {name: answer for name, answer in by_name.items() if isinstance(answer, str)},
    )


async def _read_cluster(
    clusters: client_pool.FleetClients, name: str, patience: timedelta
) -> capacity.ClusterCapacity | str:
    client = await clusters.client(name)
    if isinstance(client, client_pool.Unavailable):
        return client.reason
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await _free_capacity(clusters, client)
    except TimeoutError:
        return f"no answer within {patience.total_seconds():g} s"
    except errors.VolaryError as error:
        return f"its free capacity cannot be read: {error}"


async def _free_capacity(
    clusters: client_pool.FleetClients, client: clients.Client
) -> capacity.ClusterCapacity:
    catalog = await client.discover()
    nodes, pods = catalog.find("", "Node"), catalog.find("", "Pod")
    if nodes is None or pods is None:
        raise errors.PermanentError("it serves neither nodes nor pods")
    read_at = clusters.clock.now()
    listed = await client.list(nodes)
    running = await client.list(pods, field_selector=_ALIVE)
    return capacity.cluster_capacity(listed.items, running.items, read_at)
