"""The shop on a cluster in memory: both variants run, all traffic is primary's."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import memory_cluster
import stage_contexts
from memory_cluster import pod, service, split
from volary.engine import executor
from volary.model import applications, json, routing_options
from volary.model.objects import manifest
from volary.stages.runtime import contexts, execution
from volary.stages.traffic import division, routes

SHOP = applications.Application(
    name="shop",
    service=routing_options.ObjectReference(name="shop"),
    traffic_routing=routing_options.TrafficRouting(method=routing_options.RoutingMethod.SMI),
)
SELECTING = applications.Application(name="shop")


LoopClock = stage_contexts.LoopClock


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class World:
    """The shop on a cluster: both variants run, all traffic is primary's."""

    application: applications.Application = SHOP
    cluster: memory_cluster.MemoryCluster = field(default_factory=memory_cluster.MemoryCluster)
    report: stage_contexts.Report = field(default_factory=stage_contexts.Report)
    stop: executor.StopFlag = field(default_factory=executor.StopFlag)
    source: list[manifest.Manifest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.source = [
            manifest.Manifest(body)
            for body in (service(), memory_cluster.deployment("primary"), split())
        ]
        self.cluster.put(
            service(),
            service("shop-canary", "canary"),
            split(),
            pod("old", "primary"),
            pod("new", "canary"),
        )

    def work(self, seconds: float = 1000, **given: Any) -> execution.Work:
        context = stage_contexts.context(
            application=self.application,
            client=self.cluster,
            report=self.report,
            stop=self.stop,
            propagation=contexts.RoutePropagation(timedelta(seconds=3)),
            **given,
        )
        return execution.Work(context, asyncio.get_running_loop().time() + seconds)

    @property
    def weights(self) -> dict[str, int]:
        live = cast("json.JsonObject", self.cluster.find("TrafficSplit", "shop"))
        return {each["service"]: each["weight"] for each in live["spec"]["backends"]}

    async def divide(self, wanted: division.Division, seconds: float = 1000) -> execution.Work:
        work = self.work(seconds)
        self.observed = await routes.divide(work, self.source, wanted)
        return work

    def later(self, seconds: float, change: Callable[[], Any]) -> None:
        asyncio.get_running_loop().call_later(seconds, change)
