"""Clusters fail at random while a release divides traffic in waves; what holds always, holds."""

import asyncio
import dataclasses
import os
import random
from datetime import timedelta

import pytest

import process_time
import stage_world
from router_world import ROUTERS, stages
from stage_world import KEY, World
from volary.engine.runs import policies
from volary.model.placement import rollouts
from volary.model.statuses import RunStatus
from wave_invariants import Allowed, watched
from wave_world import NEW, OLD, Story, moved, world

GROUPS = (("us",), ("eu-1", "eu-2"), ("asia-1", "asia-2", "asia-3"))
NAMES = tuple(name for each in GROUPS for name in each)
#: More of them: ``VOLARY_CHAOS_SEEDS=1-200``.
_FIRST, _, _LAST = os.environ.get("VOLARY_CHAOS_SEEDS", "1-2").partition("-")
#: A cluster that hangs is given up after half a second.
LIMITS = dataclasses.replace(stage_world.LIMITS, timeout=0.5)
#: Not ``continue``: then failures have no budget.
FAILING = tuple(each for each in rollouts.OnWaveFailure if each.value != "continue")
#: What a cluster suffers from, for a while.
FAULTS: tuple[dict[str, object], ...] = (
    {"lost": "refuse"},
    {"lost": "refuse"},
    {"lost": "hang"},
    {"latency": "100ms"},
    {"errorRate": "30%"},
    {"denied": ["patch *", "create *", "update *", "delete *"]},
)


def waves(chance: random.Random) -> rollouts.Waves:
    """Of each of them one may fail and one may be unreachable; the rest is drawn."""
    one = rollouts.Share(1)
    return rollouts.Waves(
        tuple(
            rollouts.Wave(
                f"wave-{number}",
                rollouts.ClusterSelector(names=names),
                budget=rollouts.Budget(failures=one, unreachable=one),
                on_failure=chance.choice(FAILING),
                on_unreachable=chance.choice(tuple(rollouts.OnWaveUnreachable)),
                progress_deadline=timedelta(seconds=4),
            )
            for number, names in enumerate(GROUPS, start=1)
        )
    )


async def chaos(given: World, chance: random.Random) -> None:
    """Make clusters unhealthy and healthy again, one after the other, without end."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(chance.uniform(0.05, 0.5))
        ill = given.running.clusters[chance.choice(NAMES)].faults
        ill.change(chance.choice(FAULTS))
        loop.call_later(chance.uniform(0.1, 1.2), ill.clear)


@pytest.mark.parametrize("seed", range(int(_FIRST), int(_LAST or _FIRST) + 1))
@pytest.mark.usefixtures("engine")
async def test_whatever_happens_to_clusters_what_holds_always_holds(seed: int) -> None:
    chance = random.Random(seed)
    router = ROUTERS[chance.choice(tuple(ROUTERS))]
    async with world(
        *NAMES, application=router.application, definitions=router.definitions, limits=LIMITS
    ) as given:
        given.sources = {OLD: router.manifests("shop:v1"), NEW: router.manifests("shop:v2")}
        await given.deployed(OLD)
        story = Story()
        policy = policies.Policy(again_after=timedelta(seconds=0.3), grace=timedelta(seconds=2))

        with watched(given, story, allowed=Allowed(failures=1, unreachable=1)):
            async with asyncio.timeout(process_time.HANG), asyncio.TaskGroup() as group:
                storm = group.create_task(chaos(given, chance))
                await moved(
                    given, waves(chance), stages=stages(router, 6), story=story, policy=policy
                )
                storm.cancel()

        run = story.run
        assert run is not None
        for name in NAMES:
            given.running.clusters[name].faults.clear()
        if run.status is RunStatus.SUCCEEDED:
            assert {given.images(name) for name in NAMES} == {"shop:v2 2/2"}
            assert all(given.traffic(name).by_label(KEY) == {"primary": 1.0} for name in NAMES)
            assert {given.count(name, "Deployment") for name in NAMES} == {1}
