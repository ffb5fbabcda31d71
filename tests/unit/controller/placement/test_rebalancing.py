"""An application is placed anew because somebody asks; nothing else moves it back."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller import refusals
from volary.controller.placement import drain_previews, rebalancing
from volary.controller.status import application_statuses, cluster_releases
from volary.model.fleet import cluster_health
from volary.model.placement import failover_rules
from volary.placement.failover import move_plans, situations
from volary.store import records

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  placement:
    spread: [{by: cluster, maxGroups: 1}]
"""
State = cluster_health.ClusterState
ASKED = records.RequestRecord("q1", rebalancing.KIND, "ana", given.AT, application="shop")


@dataclass
class Placed:
    """A leader whose application is somewhere."""

    world: given.World
    commit: str
    asked: int = 0

    async def rebalance(self) -> str:
        """Ask for a rebalance; returns why not, or nothing."""
        self.asked += 1
        request = replace(ASKED, id=f"q{self.asked}")
        await self.world.store.requests.ask(request)
        return await rebalancing.carry_out(self.world.leader, self.world.shop, request)

    async def status(self) -> application_statuses.ApplicationStatus:
        return await self.world.status()


@contextlib.asynccontextmanager
async def placed(
    path: Path, placement: situations.PlacementState, file: str = FILE, **states: State
) -> AsyncIterator[Placed]:
    """Given an application that is so placed, on clusters that answer unless something is said."""
    (path / "volary.yaml").write_text(file)
    commit = command_world.commit(path, "Add the shop")
    releases = cluster_releases.ClusterReleases(
        commit, {placement.chosen[0]: cluster_releases.ClusterRelease(commit)}, commit
    ).with_placement(placement)
    status = application_statuses.ApplicationStatus(releases=releases)
    async with given.leading(sources=git_feed.Feed(path)) as world:
        record = records.ApplicationRecord(
            "shop", "shop", "volary.yaml", document=application_statuses.to_document(status)
        )
        await world.store.applications.keep(record, fence=None)
        register = world.leader.register
        await register.enter(given.MEMBERS, fence=None)
        now = given.Clock().now()
        known = tuple(
            cluster_health.ClusterHealth(
                name, states.get(name, State.READY), observed=now, steady=given.AT
            )
            for name in given.MEMBERS.names
        )
        await register.take(known, fence=None)
        await world.registry.load()
        yield Placed(world, commit)


LEFT = situations.PlacementState(("us",), {"eu": "eu was flooded"})


async def test_what_moved_away_comes_back(tmp_path: Path) -> None:
    async with placed(tmp_path, LEFT) as shop:
        shop.world.script.may_plan.clear()

        assert await shop.rebalance() == ""

        status = await shop.status()
        assert status.move is not None
        assert (status.move.id, status.move.by, status.move.commit) == ("q1", "ana", shop.commit)
        assert status.move.reason == "ana rebalances: new on eu; off us"
        assert status.move.shift == move_plans.MovePlan((), ("eu",), (), ("us",), fresh=True)
        assert (status.placed.chosen, status.placed.away) == (("eu",), {})
        assert [eviction.cluster for eviction in status.placed.leaving] == ["us"]
        shop.world.script.may_plan.set()


async def test_it_is_carried_out(tmp_path: Path) -> None:
    async with placed(tmp_path, LEFT) as shop:
        assert await shop.rebalance() == ""
        await shop.world.until(lambda each: '"leaving"' not in str(each.document))
        async with given.asyncio.timeout(given.process_time.HANG):
            while (await shop.status()).placed.leaving:
                await shop.world.leader.change_signal.wait(0.05)

        status = await shop.status()
        assert (status.placed.chosen, status.move) == (("eu",), None)
        assert status.releases.of("eu").commit == shop.commit
        assert await shop.rebalance() == "nothing would move: it is where it would be placed anew"


async def test_where_it_is_well_placed_nothing_moves(tmp_path: Path) -> None:
    async with placed(tmp_path, situations.PlacementState(("eu",))) as shop:
        assert await shop.rebalance() == "nothing would move: it is where it would be placed anew"
        assert (await shop.status()).move is None


async def test_what_left_a_cluster_may_be_chosen_there_again(tmp_path: Path) -> None:
    """Nothing moves, but what it left is not held against a cluster any more."""
    async with placed(
        tmp_path, situations.PlacementState(("eu",), {"us": "us was flooded"})
    ) as shop:
        assert await shop.rebalance() == ""

        assert (await shop.status()).placed == situations.PlacementState(("eu",))
        assert (await shop.status()).move is None


async def test_a_move_is_not_overtaken(tmp_path: Path) -> None:
    async with placed(tmp_path, LEFT) as shop:
        shop.world.script.may_plan.clear()
        assert await shop.rebalance() == ""

        assert await shop.rebalance() == "it is moving already; ask again when that has ended"
        shop.world.script.may_plan.set()


async def test_without_a_cluster_that_answers_there_is_no_place(tmp_path: Path) -> None:
    lost = {"us": State.UNREACHABLE, "eu": State.UNREACHABLE}
    async with placed(tmp_path, situations.PlacementState(("us",)), **lost) as shop:
        before = await shop.status()

        assert await shop.rebalance() == "nothing would move: it is where it would be placed anew"
        assert await shop.status() == before


async def test_what_was_never_released_has_no_place(tmp_path: Path) -> None:
    async with placed(tmp_path, LEFT) as shop:
        await shop.world.shop.change({"releases": cluster_releases.ClusterReleases()})

        with pytest.raises(refusals.Conflict, match="no release of it was completed yet"):
            await shop.rebalance()


async def test_what_a_drain_would_not_move_is_said_beforehand(tmp_path: Path) -> None:
    async with placed(tmp_path, situations.PlacementState(("us", "eu"))) as shop:
        leader = shop.world.leader

        async def drained(
            status: application_statuses.ApplicationStatus,
        ) -> drain_previews.DrainEffect:
            return await drain_previews.of_drain(
                leader.dependencies,
                shop.world.shop.place,
                status,
                leader.register,
                "us",
                project="",
                limits=failover_rules.FailoverLimits(),
            )

        effect = await drained(await shop.status())
        nothing = await drained(application_statuses.ApplicationStatus())
        mark = leader.register.of("us").drain

    stays = "its replicas are not divided, so nothing moves"
    assert effect == drain_previews.DrainEffect(False, reason=stays)
    assert nothing.reason == "no release of it was completed yet: nothing moves"
    assert mark is None, "it is only a preview"
