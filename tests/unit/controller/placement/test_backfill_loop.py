"""Who gets the last completed release by itself, and what it waits for."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.placement import backfill_loop
from volary.controller.status import application_statuses, cluster_releases
from volary.engine.runs import state
from volary.model.fleet import cluster_health, fleets, taints
from volary.placement.failover import move_plans, situations
from volary.store import records

FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
"""
State = cluster_health.ClusterState
Release, Has = cluster_releases.ClusterRelease, cluster_releases.ReleaseState
PAUSE = state.Pause("ana", given.AT, "on television")


@dataclass
class Backfilled:
    """A leader whose application has missed clusters, and the loop."""

    world: given.World
    loop: backfill_loop.BackfillLoop
    commit: str

    async def look(
        self,
        doubt: str = "",
        marks: Mapping[str, taints.Taint] | None = None,
        **states: State,
    ) -> None:
        """Look after a round of probes; a cluster of which nothing is said is ready."""
        names = self.world.leader.dependencies.clusters.fleet.names
        known = tuple(
            cluster_health.ClusterHealth(
                name,
                states.get(name, State.READY),
                identity=f"id-{name}",
                taints=(marks[name],) if marks and name in marks else (),
            )
            for name in names
        )
        await self.world.leader.register.take(known, fence=None)
        await self.loop.look(cluster_health.FleetHealth(given.AT, known, doubt))

    async def releases(self) -> cluster_releases.ClusterReleases:
        return (await self.world.status()).releases


@contextlib.asynccontextmanager
async def missed(
    path: Path,
    releases: cluster_releases.ClusterReleases | None = None,
    *,
    others: int = 0,
    file: str = FILE,
    **fields: object,
) -> AsyncIterator[Backfilled]:
    """Given an application whose release went on without eu, unless something else is said."""
    (path / "app.pipecd.yaml").write_text(file)
    commit = command_world.commit(path, "Add the shop")
    known = releases or cluster_releases.ClusterReleases(
        commit, {"us": Release(commit, Has.COVERED, "id-us"), "eu": Release("old", Has.MISSED)}
    )
    known = replace(known, running=commit)
    status = replace(application_statuses.ApplicationStatus(releases=known), **fields)  # type: ignore[arg-type]
    async with given.leading(sources=git_feed.Feed(path)) as world:
        document = application_statuses.to_document(status)
        await world.store.applications.keep(
            records.ApplicationRecord(
                "shop",
                "shop",
                "app.pipecd.yaml",
                status="failed",
                document=document,
            ),
            fence=None,
        )
        for number in range(others):
            request = given.request(f"b{number}", kind=given.Kind.BACKFILL, targets=("eu",))
            held = application_statuses.ApplicationStatus(backfill=request, pause=PAUSE)
            await world.store.applications.keep(
                records.ApplicationRecord(
                    f"other{number}",
                    "shop",
                    f"other{number}/app.pipecd.yaml",
                    document=application_statuses.to_document(held),
                ),
                fence=None,
            )
        await world.leader.register.enter(given.MEMBERS, fence=None)
        await world.registry.load()
        loop = backfill_loop.BackfillLoop(world.leader, world.registry.all)
        yield Backfilled(world, loop, commit)


async def test_who_is_back_gets_the_release_and_then_nobody_misses_it(tmp_path: Path) -> None:
    async with missed(tmp_path) as shop:
        await shop.look(eu=State.UNREACHABLE)
        assert (await shop.releases()).waiting == {"eu": "it is unreachable"}
        assert shop.world.script.prepared == []

        await shop.look()
        await shop.world.until(lambda each: "came last" in each.reason)

        assert (await shop.releases()).of("eu") == Release(shop.commit, Has.COVERED, "id-eu")
        await shop.look()
        assert shop.world.script.prepared == ["new"]


async def test_a_doubtful_round_is_evidence_of_nothing(tmp_path: Path) -> None:
    async with missed(tmp_path) as shop:
        await shop.look(doubt="this process was asleep")

        assert shop.world.script.prepared == []
        assert (await shop.releases()).waiting == {}


async def test_who_was_built_anew_gets_it_as_well(tmp_path: Path) -> None:
    async with missed(tmp_path) as shop:
        known = await shop.releases()
        anew = Release(shop.commit, Has.COVERED, "another")
        both = replace(known, clusters={**known.clusters, "eu": anew})
        await shop.world.shop.change({"releases": both})

        await shop.look()
        await shop.world.until(
            lambda each: each.document["releases"]["clusters"]["eu"]["identity"] == "id-eu"
        )

        run = await shop.world.store.runs.load("new")
        assert run is not None
        assert run.origin["targets"] == ["eu"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"pause": PAUSE}, "the application is paused by ana: on television"),
        ({"held": "a policy"}, "the application is held back in Git: a policy"),
    ],
)
async def test_what_is_paused_waits_and_says_why(
    tmp_path: Path, fields: dict[str, object], told: str
) -> None:
    async with missed(tmp_path, **fields) as shop:
        await shop.look()

        assert (await shop.releases()).waiting == {"eu": told}
        assert shop.world.script.prepared == []


async def test_what_has_not_begun_is_withdrawn_when_its_cluster_is_gone_again(
    tmp_path: Path,
) -> None:
    request = given.request(kind=given.Kind.BACKFILL, targets=("eu",))
    async with missed(tmp_path, backfill=request, pause=PAUSE) as shop:
        await shop.look()
        assert (await shop.world.status()).backfill == request

        await shop.look(eu=State.NOT_READY)
        assert (await shop.world.status()).backfill is None


async def test_after_a_rollback_that_left_some_clusters_nobody_is_said_to_have_the_release(
    tmp_path: Path,
) -> None:
    """What stopped half-way is brought to nobody; the next completed release is."""
    half = cluster_releases.ClusterReleases("", {"eu": Release("new")})
    placement = situations.PlacementState(("us", "eu"))
    async with missed(tmp_path, half.with_placement(placement)) as shop:
        before = await shop.releases()

        await shop.look()

        assert await shop.releases() == before
        assert (before.completed, before.covered) == ("", ())
        assert shop.world.script.prepared == []


@contextlib.asynccontextmanager
async def releasing(path: Path, file: str = FILE) -> AsyncIterator[Backfilled]:
    """Given a release that is at us, and has not begun at eu."""
    everywhere = cluster_releases.ClusterReleases("", {})
    async with missed(path, everywhere, file=file) as shop:
        script = shop.world.script
        script.concurrency = 1
        script.stages.may_end.clear()
        await shop.world.shop.submit(given.request("r1", shop.commit))
        await script.stages.begun.wait()
        yield shop
        script.stages.may_end.set()
        await shop.world.until(_has_ended)


def _has_ended(kept: records.ApplicationRecord) -> bool:
    return not application_statuses.from_document(kept.document).under_way


def without(shop: Backfilled) -> dict[str, str]:
    """Return the clusters that the run under way goes on without, and why."""
    run = shop.world.shop.run_under_way
    assert run is not None
    return {cluster.name: cluster.left_out for cluster in run.clusters if cluster.left_out}


def marked(key: str) -> taints.Taint:
    return taints.Taint(key, "", taints.Effect.NO_SCHEDULE, given.AT, "ana", "an upgrade")


async def test_a_cluster_cordoned_in_the_middle_of_a_run_is_left_out_where_nothing_has_begun(
    tmp_path: Path,
) -> None:
    async with releasing(tmp_path) as shop:
        await shop.look(marks={"us": marked("example.com/gpu"), "eu": marked("example.com/gpu")})
        assert without(shop) == {}

        cordoned = {name: marked(taints.CORDONED) for name in ("us", "eu")}
        await shop.look(marks=cordoned)
        assert without(shop) == {"eu": "cordoned by ana: an upgrade"}, "us has begun"


TOLERANT = f"""\
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: shop}}
spec:
  placement:
    tolerations: [{{key: {taints.CORDONED}, operator: Exists}}]
"""


async def test_who_tolerates_a_cordon_is_not_left_out(tmp_path: Path) -> None:
    async with releasing(tmp_path, TOLERANT) as shop:
        await shop.look(marks={"eu": marked(taints.CORDONED)})

        assert without(shop) == {}


async def test_a_move_off_a_cordoned_cluster_goes_on(tmp_path: Path) -> None:
    shift = move_plans.MovePlan(place=("us",), last=("eu",))
    async with missed(tmp_path) as shop:
        stages = shop.world.script.stages
        stages.may_end.clear()
        move = given.request("m1", shop.commit, kind=given.Kind.MOVE, shift=shift)
        await shop.world.shop.amend(lambda status: replace(status, move=move))
        await stages.begun.wait()

        await shop.look(marks={"eu": marked(taints.CORDONED)})
        assert without(shop) == {}
        stages.may_end.set()


async def test_a_cluster_that_left_is_held_on_to_only_while_a_run_is_there(
    tmp_path: Path,
) -> None:
    async with releasing(tmp_path) as shop:
        register = shop.world.leader.register
        register.replace(fleets.Fleet((*given.MEMBERS.clusters, fleets.Cluster("ap"))))
        register.replace(fleets.Fleet((fleets.Cluster("us"),)))
        clusters = shop.world.leader.dependencies.clusters
        assert clusters.former == ("eu", "ap")

        await shop.look()
        assert clusters.former == ("eu",), "nothing is done at ap"
        shop.world.script.stages.may_end.set()
        await shop.world.until(_has_ended)
        await shop.look()

        assert clusters.former == ()


async def test_while_a_run_is_only_taken_up_nobody_is_let_go(tmp_path: Path) -> None:
    """Where it is going on is not known yet."""
    async with missed(tmp_path) as shop:
        await shop.world.shop.change({"under_way": True})
        shop.world.leader.register.replace(fleets.Fleet((fleets.Cluster("us"),)))

        await shop.look()

        assert shop.world.leader.dependencies.clusters.former == ("eu",)


async def test_a_backfill_that_fails_says_so_and_is_not_tried_again_at_once(tmp_path: Path) -> None:
    async with missed(tmp_path) as shop:
        shop.world.script.stages.outcome = given.statuses.TaskStatus.FAILED

        await shop.look()
        await shop.world.until(lambda each: "run new" in str(each.document["releases"]))
        await shop.look()
        await shop.look()

        assert shop.world.script.prepared == ["new"]
        assert (await shop.releases()).of("eu").commit == "old"
        assert (await shop.world.stored()).status == "failed", (
            "how the last release stands stays said"
        )


@pytest.mark.parametrize(("others", "prepared"), [(7, ["new"]), (8, [])])
async def test_eight_applications_are_backfilled_at_once(
    tmp_path: Path, others: int, prepared: list[str]
) -> None:
    async with missed(tmp_path, others=others) as shop:
        await shop.look()
        status = await shop.world.status()
        if prepared:
            await shop.world.until(lambda each: "came last" in each.reason)

        assert (status.backfill is not None or status.under_way) == bool(prepared)
        assert shop.world.script.prepared == prepared
