"""After each round of probes: of several rounds the last one counts."""

import asyncio
from datetime import UTC, datetime

from volary.controller.fleet import health_probe
from volary.model.fleet import cluster_health

_AT = datetime(2026, 1, 1, tzinfo=UTC)


async def test_of_rounds_that_came_meanwhile_the_last_one_counts() -> None:
    seen: list[str] = []
    may_go_on, begun = asyncio.Event(), asyncio.Event()

    async def look(health: cluster_health.FleetHealth) -> None:
        seen.append(health.doubt)
        begun.set()
        await may_go_on.wait()

    listener = health_probe.RoundListener(look)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(listener.keep_running())

        await listener.take(cluster_health.FleetHealth(_AT, doubt="1"))
        await begun.wait()
        begun.clear()
        await listener.take(cluster_health.FleetHealth(_AT, doubt="2"))
        await listener.take(cluster_health.FleetHealth(_AT, doubt="3"))
        may_go_on.set()
        await begun.wait()
        running.cancel()

    assert seen == ["1", "3"]
