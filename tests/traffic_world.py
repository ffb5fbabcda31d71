"""Given clusters whose pods really answer; when a release goes on; then count the requests.

The vocabulary of the scenarios about real traffic.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

import process_time
import stage_world
from kube_sandbox import fleet, proxies
from kube_sandbox.dataplane import load

#: Requests per second and cluster during a release.
RATE = 100.0
#: Sandbox seconds per second: a rollout takes a second or two.
SPEED = 4.0


@dataclass
class Users:
    """A steady load on every cluster."""

    loads: dict[str, load.Load] = field(default_factory=dict)

    def tally(self, target: str) -> load.Tally:
        return self.loads[target].tally

    def assert_nothing_lost(self, *, at_least: int = 1) -> None:
        """Then: every request that was sent on any cluster got a good answer."""
        for target, each in self.loads.items():
            tally = each.tally
            assert tally.failed == 0, (target, tally.failed, tally.sent, tally.failures)
            assert tally.skipped == 0, (target, tally.skipped)
            assert tally.answered >= at_least, (target, tally.answered)


def settings(**options: object) -> fleet.Settings:
    """Clusters with real traffic; `options` are those of `fleet.Settings`."""
    chosen = {"speed": SPEED, "tls": False, "seed": 1, "traffic": True, **options}
    return fleet.Settings(**chosen)  # type: ignore[arg-type] # names of its fields


@contextlib.asynccontextmanager
async def through(given: stage_world.World, kind: proxies.Kind) -> AsyncIterator[Mapping[str, str]]:
    """Given: a proxy of a kind in every cluster; skips where it is not installed."""
    if reason := proxies.missing(kind):
        pytest.skip(reason)
    if kind is not proxies.Kind.BUILT_IN:
        # Real ones read their configuration again in their own time.
        given.options = replace(given.options, drain_delay=timedelta(seconds=3))
    async with proxies.before(given.running, kind) as urls:
        yield urls


@contextlib.asynccontextmanager
async def users(
    given: stage_world.World,
    urls: Mapping[str, str] | None = None,
    *,
    host: str = "shop",
    rate: float = RATE,
) -> AsyncIterator[Users]:
    """When: users of every cluster ask all the time; by the built-in proxies or `urls`.

    From the moment on at which the proxies have found the way.
    """
    places = urls or {
        name: cluster.traffic.gateway for name, cluster in given.running.clusters.items()
    }
    await until_answered(places, host=host)
    asking = Users(
        {name: load.Load(load.Aim(url, host), rate=rate) for name, url in places.items()}
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in asking.loads.values()]
        try:
            yield asking
        finally:
            for task in tasks:
                task.cancel()


async def until_answered(
    urls: Mapping[str, str], *, host: str = "shop", seconds: float = process_time.HANG
) -> None:
    """Given: every proxy has found the way."""
    async with asyncio.timeout(seconds):
        for url in urls.values():
            while (await ask(url, 10, host=host, rate=100)).failed:
                pass


async def ask(url: str, count: int, *, host: str = "shop", rate: float = 600.0) -> load.Tally:
    """When: so many requests are sent."""
    return await load.Load(load.Aim(url, host), rate=rate).run(count=count)


def assert_split(tally: load.Tally, shares: Mapping[str, float]) -> None:
    """Then: the variants answered so many requests, within five standard deviations.

    Of binomial counts; a right split fails this once in more than a million tests.
    """
    assert_shares(tally.by_variant(), shares)


def assert_shares(counted: Mapping[str, int], shares: Mapping[str, float]) -> None:
    """Then: so many answers came from each variant, within five standard deviations."""
    total = sum(counted.values())
    assert sum(counted.values()) == sum(counted.get(each, 0) for each in shares), counted
    for variant, share in shares.items():
        bound = 5 * math.sqrt(total * share * (1 - share))
        assert abs(counted.get(variant, 0) - total * share) <= bound, (variant, counted)
