"""Many applications change at once: few are compared at a time, and none starves another."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import pytest

from volary.controller.applications import reconcilers
from volary.controller.drift import comparer, comparisons, drift_loop
from volary.controller.leadership import context
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
)
from volary.livestate import live_objects
from volary.model import errors
from volary.model.objects import ownership
from volary.store import records

pytestmark = pytest.mark.looptime
GAP = 10.0
PACE = drift_loop.Pace(timedelta(minutes=3), timedelta(seconds=GAP))


@dataclass
class Application:
    """As much of a reconciler as is asked here."""

    name: str
    why_orphaned: str = ""

    def __post_init__(self) -> None:
        self.record = records.ApplicationRecord(self.name, "shop", self.name)
        releases = replace(cluster_releases.ClusterReleases(), running="c1")
        owners = {"us": ownership.Owner(self.name, self.name)}
        self.status = application_statuses.ApplicationStatus(releases=releases, owners=owners)


class Watched:
    """Every cluster is followed."""

    def is_current(self, cluster: str) -> bool:
        return True


@dataclass
class Clusters:
    """Compares by waiting: some applications' clusters are slow."""

    slow: dict[str, float] = field(default_factory=dict)
    begun: list[tuple[float, str]] = field(default_factory=list)
    most: int = 0
    _under_way: Counter[str] = field(default_factory=Counter)

    async def compare(
        self, known: application_state.ApplicationState, *, memory: timedelta
    ) -> comparisons.Comparison:
        name = known.record.name
        self.begun.append((asyncio.get_running_loop().time(), name))
        self._under_way[name] += 1
        assert self._under_way[name] == 1, f"{name} is compared twice at once"
        self.most = max(self.most, self._under_way.total())
        await asyncio.sleep(self.slow.get(name, 0.01))
        self._under_way[name] -= 1
        raise errors.TemporaryError("what comes of it is not asked here")

    def times(self, name: str) -> list[float]:
        return [at for at, one in self.begun if one == name]


def loop_of(applications: list[Application], clusters: Clusters) -> drift_loop.DriftLoop:
    return drift_loop.DriftLoop(
        cast("context.LeaderContext", None),
        lambda: cast("list[reconcilers.ApplicationReconciler]", applications),
        cast("comparer.Comparer", clusters),
        cast("live_objects.LiveObjects", Watched()),
        PACE,
    )


async def playing(loop: drift_loop.DriftLoop, play: Any) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(loop.keep_running())
        await play
        running.cancel()


def changes(applications: list[Application]) -> frozenset[live_objects.Change]:
    return frozenset(("us", one.name) for one in applications)


async def test_300_that_change_at_once_are_compared_each_once_and_few_at_a_time() -> None:
    applications, clusters = [Application(f"app-{one:03}") for one in range(300)], Clusters()
    loop = loop_of(applications, clusters)

    async def play() -> None:
        await asyncio.sleep(60)  # each has had its first turn
        clusters.begun.clear()
        for _ in range(10):
            loop.hasten(changes(applications))
            await asyncio.sleep(0.15)
        await asyncio.sleep(3)

    await playing(loop, play())

    assert sorted(name for _, name in clusters.begun) == [one.name for one in applications]
    assert clusters.most == 4


async def test_one_that_is_slow_and_changes_all_the_time_starves_nobody() -> None:
    applications = [Application(f"app-{one:03}") for one in range(50)]
    clusters = Clusters(slow={"app-000": 100.0, "app-001": 100.0, "app-002": 100.0})
    loop = loop_of(applications, clusters)

    async def play() -> None:
        for _ in range(1000):
            loop.hasten(changes(applications))
            await asyncio.sleep(0.5)

    await playing(loop, play())

    for one in applications[3:]:
        times = clusters.times(one.name)
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert min(pauses) >= GAP
        assert max(pauses) < 2 * GAP


async def test_one_that_is_in_a_run_is_compared_after_it_only() -> None:
    application, clusters = Application("shop"), Clusters()
    loop = loop_of([application], clusters)

    async def play() -> float:
        await asyncio.sleep(30)
        clusters.begun.clear()
        application.status = replace(application.status, under_way=True, run="r2")
        loop.hasten(changes([application]))
        await asyncio.sleep(600)
        assert clusters.begun == []
        application.status = replace(application.status, under_way=False)
        await asyncio.sleep(2 * GAP)
        return 0

    await playing(loop, play())

    assert len(clusters.begun) == 1
