"""When an application is moved off a cluster by itself, and what keeps it from moving."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aiohttp import test_utils, web

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.placement import failover_loop
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import state
from volary.model.fleet import cluster_health, taints
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
FAILOVER = "    failover: {cluster: {toleration: 0s}, patience: 0s}\n"
State = cluster_health.ClusterState
FLOOD = taints.Taint(
    "example.com/dead", "", taints.Effect.NO_EXECUTE, given.AT, "ana", "it is flooded"
)
PAUSE = state.Pause("ana", given.AT, "on television")


@dataclass
class FailedOver:
    """A leader whose application is on us and may be on eu, and the loop."""

    world: given.World
    loop: failover_loop.FailoverLoop
    commit: str

    async def look(
        self,
        *,
        tainted: Sequence[str] = (),
        mark: taints.Taint = FLOOD,
        doubt: str = "",
        **states: State,
    ) -> situations.PlacementState:
        """Look after a round of probes; a cluster of which nothing is said is ready."""
        now = given.Clock().now()
        known = tuple(
            cluster_health.ClusterHealth(
                name,
                states.get(name, State.READY),
                taints=(mark,) if name in tainted else (),
                observed=now,
                steady=given.AT,
            )
            for name in given.MEMBERS.names
        )
        register = self.world.leader.register
        await register.take(known, fence=None)
        for health in known:
            await register.change(
                health.cluster, lambda was, now=health: replace(was, taints=now.taints), fence=None
            )
        await self.loop.look(cluster_health.FleetHealth(now, known, doubt))
        return await self.placed()

    async def placed(self) -> situations.PlacementState:
        return (await self.world.status()).placed

    async def actions(self) -> list[str]:
        """Return what the audit says the loop did, the newest first."""
        page = await self.world.store.audit.list(records.AuditFilter(by="failover"))
        return [entry.action for entry in page.items]


@contextlib.asynccontextmanager
async def spread_out(
    path: Path, failover: str = FAILOVER, **fields: object
) -> AsyncIterator[FailedOver]:
    """Given an application whose last release succeeded on us."""
    (path / "volary.yaml").write_text(FILE + failover)
    commit = command_world.commit(path, "Add the shop")
    covered = cluster_releases.ReleaseState.COVERED
    known = cluster_releases.ClusterReleases(
        commit,
        {"us": cluster_releases.ClusterRelease(commit, covered, "id-us", chosen=True)},
        running=commit,
    )
    status = replace(application_statuses.ApplicationStatus(releases=known), **fields)  # type: ignore[arg-type]
    ids = itertools.count(1)
    async with given.leading(
        sources=git_feed.Feed(path), new_id=lambda: f"new{next(ids)}"
    ) as world:
        record = records.ApplicationRecord(
            "shop",
            "shop",
            "volary.yaml",
            status="synced",
            document=application_statuses.to_document(status),
        )
        await world.store.applications.keep(record, fence=None)
        await world.leader.register.enter(given.MEMBERS, fence=None)
        await world.registry.load()
        yield FailedOver(
            world, failover_loop.FailoverLoop(world.leader, world.registry.all), commit
        )


async def test_what_a_person_tainted_is_left_and_what_ran_there_runs_elsewhere(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path) as shop:
        assert (await shop.look()).waiting == {}
        assert shop.world.script.prepared == []

        await shop.look(tainted=["us"])
        await shop.world.until(lambda each: "move new1" in each.reason)

        after = await shop.placed()
        assert (after.chosen, after.leaving) == (("eu",), ())
        assert "us carries example.com/dead:NoExecute" in after.away["us"]
        releases = (await shop.world.status()).releases
        assert (releases.of("us").commit, releases.of("eu").commit) == ("", shop.commit)
        assert await shop.actions() == ["failover.moved"]
        assert (await shop.look(tainted=["us"])).chosen == ("eu",), "it stays where it is now"
        assert shop.world.script.prepared == ["new1"]


async def test_what_is_to_move_is_kept_before_it_moves(tmp_path: Path) -> None:
    async with spread_out(tmp_path) as shop:
        shop.world.script.may_plan.clear()

        placed = await shop.look(tainted=["us"])

        move = (await shop.world.status()).move
        assert move is not None
        assert (move.kind, move.by, move.commit) == (given.Kind.MOVE, "failover", shop.commit)
        assert move.shift == move_plans.MovePlan(place=("eu",), last=("us",))
        assert [eviction.cluster for eviction in placed.leaving] == ["us"]


async def test_without_failover_in_its_file_nothing_moves(tmp_path: Path) -> None:
    async with spread_out(tmp_path, failover="") as shop:
        placed = await shop.look(tainted=["us"])

        assert placed == situations.PlacementState(("us",))
        assert shop.world.script.prepared == []


async def test_a_cluster_that_does_not_answer_is_no_evidence_by_itself(tmp_path: Path) -> None:
    async with spread_out(tmp_path) as shop:
        placed = await shop.look(us=State.UNREACHABLE)

        assert (placed.chosen, placed.leaving) == (("us",), ())
        assert shop.world.script.prepared == []


async def test_a_move_is_taken_back_when_its_reason_has_gone(tmp_path: Path) -> None:
    async with spread_out(tmp_path) as shop:
        shop.world.script.may_plan.clear()
        await shop.look(tainted=["us"])
        await shop.world.script.planning.wait()

        placed = await shop.look()

        assert (placed.chosen, placed.leaving, placed.away) == (("us",), (), {})
        assert (await shop.world.status()).move is None
        shop.world.script.may_plan.set()
        await shop.look()
        assert await shop.world.store.runs.load("new1") is None


async def test_what_is_paused_stays_and_says_why(tmp_path: Path) -> None:
    async with spread_out(tmp_path, pause=PAUSE) as shop:
        placed = await shop.look(tainted=["us"])

        assert placed.chosen == ("us",)
        assert "paused by ana: on television" in placed.waiting["us"]
        assert shop.world.script.prepared == []


async def test_where_there_is_nowhere_to_go_it_stays_and_says_so(tmp_path: Path) -> None:
    async with spread_out(tmp_path) as shop:
        placed = await shop.look(tainted=["us", "eu"])

        assert (placed.chosen, placed.leaving) == (("us",), ())
        assert placed.waiting["us"].startswith("us carries example.com/dead:NoExecute")


async def test_when_most_of_the_fleet_looks_lost_nothing_moves_and_people_are_told_once(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path) as shop:
        for _ in range(2):
            await shop.look(tainted=["us"], us=State.UNREACHABLE, eu=State.UNREACHABLE)

        assert "failover suppressed: at least 55 % unreachable" in shop.loop.alarm
        assert await shop.actions() == ["failover.stopped"]
        assert (await shop.placed()).leaving == ()

        await shop.look()
        assert shop.loop.alarm == ""


async def test_a_doubtful_round_moves_nothing_and_ends_no_alarm(tmp_path: Path) -> None:
    async with spread_out(tmp_path) as shop:
        await shop.look(us=State.UNREACHABLE, eu=State.UNREACHABLE)
        raised = shop.loop.alarm

        placed = await shop.look(tainted=["us"], doubt="this process was asleep")

        assert (shop.loop.alarm, bool(raised)) == (raised, True)
        assert placed.leaving == ()


async def test_a_run_under_way_is_interrupted_and_its_commit_is_released_after_the_move(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path) as shop:
        stages = shop.world.script.stages
        stages.may_end.clear()
        await shop.world.shop.submit(given.request("r1", "c1"))
        await stages.begun.wait()

        await shop.look(tainted=["us"])
        status = await shop.world.status()
        assert status.run_request is not None
        assert status.run_request.reason.startswith("goes on after run r1 was interrupted")
        stages.may_end.set()
        await shop.world.until(lambda each: each.running_commit == "c1")

        assert shop.world.script.prepared == ["r1", "new1", "new2"]
        interrupted = await shop.world.store.runs.load("r1")
        assert interrupted is not None
        assert interrupted.head.reason.startswith("cancelled by failover: interrupted by a move")


async def test_what_was_removed_or_never_released_is_left_alone(tmp_path: Path) -> None:
    nothing = cluster_releases.ClusterReleases()
    async with spread_out(tmp_path, releases=nothing) as shop:
        assert await shop.look(tainted=["us"]) == situations.PlacementState()
    async with spread_out(tmp_path) as shop:
        await shop.world.shop.change(removed=given.AT)
        assert (await shop.look(tainted=["us"])).leaving == ()


@contextlib.asynccontextmanager
async def served(status: int) -> AsyncIterator[tuple[str, list[str]]]:
    """Given a witness that says so of every cluster; yields its address, and what was asked."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=status)

    site = web.Application()
    site.router.add_get("/{cluster}", answer)
    async with test_utils.TestServer(site, host="127.0.0.1") as server:
        yield str(server.make_url("/")), asked


def with_witness(address: str) -> str:
    return (
        "    failover:\n      cluster: {toleration: 0s}\n"
        f"      witness: {{url: '{address}${{cluster.name}}'}}\n"
    )


SILENT = replace(FLOOD, key=taints.UNREACHABLE, by=taints.BY_RULE)


async def test_the_witness_is_asked_about_marks_of_rules_where_the_application_is(
    tmp_path: Path,
) -> None:
    async with (
        served(503) as (address, asked),
        spread_out(tmp_path, with_witness(address)) as shop,
    ):
        await shop.look(tainted=["us", "eu"], mark=replace(FLOOD, since=None))
        new_work = replace(SILENT, effect=taints.Effect.NO_SCHEDULE)
        await shop.look(tainted=["us"], mark=new_work)
        assert asked == [], "a person's mark needs no witness, and what only keeps away nobody"

        placed = await shop.look(tainted=["us", "eu"], mark=SILENT)
        assert asked == ["/us"]
        assert placed.leaving == ()


async def test_what_the_witness_says_decides_about_a_mark_of_a_rule(tmp_path: Path) -> None:
    async with (
        served(200) as (address, _),
        spread_out(tmp_path, with_witness(address)) as shop,
    ):
        placed = await shop.look(tainted=["us"], mark=SILENT)

        assert placed.waiting["us"].endswith("the external probe says that its users are served")


async def test_a_witness_with_no_address_for_a_cluster_is_not_asked(tmp_path: Path) -> None:
    nowhere = with_witness("http://127.0.0.1:9/${cluster.region}/")
    async with spread_out(tmp_path, nowhere) as shop:
        placed = await shop.look(tainted=["us"], mark=SILENT)

        assert "the external probe is not asked: cluster us has no" in placed.waiting["us"]


async def test_a_run_is_not_interrupted_before_a_move_that_has_patience(tmp_path: Path) -> None:
    patient = "    failover: {cluster: {toleration: 0s}, patience: 1h}\n"
    async with spread_out(tmp_path, patient) as shop:
        stages = shop.world.script.stages
        stages.may_end.clear()
        await shop.world.shop.submit(given.request("r1", "c1"))
        await stages.begun.wait()

        placed = await shop.look(tainted=["us"])

        assert "run r1 has to end first; it is interrupted at" in placed.waiting["us"]
        assert (await shop.world.status()).run_request is None
        stages.may_end.set()
        await shop.world.until(lambda each: "move new1" in each.reason)


async def test_moves_of_all_applications_share_the_rate(tmp_path: Path) -> None:
    """Also those that have ended: they are remembered for as long as they count."""
    async with spread_out(tmp_path) as shop:
        shop.loop.limits = failover_rules.FailoverLimits(moves_per_minute=1)
        await shop.look(tainted=["us"])
        await shop.world.until(lambda each: "move new1" in each.reason)
        assert (await shop.placed()).leaving == ()

        placed = await shop.look(tainted=["eu"])

        assert placed.chosen == ("eu",)
        assert "it has to wait: 1 of 1 moves in a minute" in placed.waiting["eu"]
