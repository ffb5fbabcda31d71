"""One view of an application over its clusters: shared, bounded, and honest about silence."""

import asyncio
from datetime import timedelta

from stage_world import NEW, OLD, Clock, World, config, made, shop, world
from volary.clusters.observe import live_state
from volary.controller.fleet import surveys
from volary.model.objects import manifest
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import HealthStatus

SYNC = rollout_stages.SyncOptions()


class Looking:
    """Looks at the shop, and counts how often the clusters were read."""

    def __init__(self, given: World, *, memory: float = 0.0) -> None:
        self.reads = 0
        self._given = given
        self.surveyor = surveys.Surveyor(
            given.clients,
            Clock(),
            memory=timedelta(seconds=memory),
            patience=timedelta(seconds=0.4),
            hurry=timedelta(seconds=0.1),
        )

    async def __call__(self) -> surveys.Survey:
        return await self.surveyor.survey("shop", self._subject)

    async def _subject(self) -> surveys.Subject:
        self.reads += 1
        whose = live_state.ApplicationObjects("shop", self._given.application.origin)
        return surveys.Subject("shop", whose, self._given.names)


async def test_everybody_who_looks_at_the_same_time_shares_one_look() -> None:
    async with world("us", "eu") as given:
        await given.deployed(NEW)
        looking = Looking(given, memory=60)

        seen = await asyncio.gather(*(looking() for _ in range(10)))

        assert looking.reads == 1
        assert len({id(each) for each in seen}) == 1
        whole = seen[0].whole
        assert (whole.health.status, whole.ready, whole.total) == (HealthStatus.HEALTHY, 4, 4)
        assert [(each.commit, each.clusters) for each in whole.releases] == [(NEW, ("us", "eu"))]
        assert {each.key.kind for each in whole.objects} == {"Deployment", "Service"}


async def test_the_commit_that_runs_is_shown_also_where_it_changed_nothing() -> None:
    async with world("us") as given:
        await given.deployed(OLD)
        given.sources[NEW] = given.sources[OLD]
        await given.deployed(NEW)

        seen = (await Looking(given)()).whole

        assert [each.commit for each in seen.releases] == [NEW]
        assert [each.commits for each in seen.variants] == [(NEW,)]
        assert {each.commit for each in seen.clusters[0].state.objects} == {OLD}


async def test_a_silent_cluster_holds_nobody_up_and_is_shown_as_it_was_last_known() -> None:
    async with world("us", "eu") as given:
        await given.deployed(OLD)
        looking = Looking(given)
        before = await looking()
        eu = given.running.clusters["eu"]
        eu.faults.change({"lost": "hang"})
        began = asyncio.get_running_loop().time()

        now = (await looking()).whole

        assert asyncio.get_running_loop().time() - began < 2
        assert now.health.status is HealthStatus.UNKNOWN
        assert now.health.reason == "eu cannot be seen"
        assert (now.ready, now.total) == (2, 2)
        silent = now.clusters[1]
        assert silent.unreachable_reason == "it did not answer within 0.4 s"
        assert silent.silent_since == before.whole.clusters[1].seen
        assert silent.state is not None
        assert (silent.state.ready, silent.state.commits) == (2, (OLD,))

        again = (await looking()).whole.clusters[1]
        assert again.unreachable_reason == "it did not answer within 0.1 s"
        assert again.silent_since == silent.silent_since

        eu.faults.clear()
        back = (await looking()).whole
        assert (back.health.status, back.ready) == (HealthStatus.HEALTHY, 4)


async def test_what_was_applied_and_is_gone_is_missing_and_what_is_forbidden_is_said() -> None:
    async with world("us") as given:
        given.sources[NEW] = [*shop("shop:v2"), made(config())]
        await given.deployed(NEW)
        us = given.running.clusters["us"]
        us.registry.delete(us.registry.kind("apps/v1", "Deployment"), "default", "shop")
        looking = Looking(given)

        gone = (await looking()).whole

        key = manifest.ResourceKey("apps", "Deployment", "default", "shop")
        assert gone.health.reason == "us: Deployment default/shop: does not exist"
        assert [each.key for each in gone.objects if HealthStatus.MISSING in each.health] == [key]

        us.faults.change({"denied": ["list services"]})
        (report,) = (await looking()).whole.clusters
        assert report.state is not None
        (warning,) = report.state.warnings
        assert warning.startswith("services may not be read: ")
