"""Failover on sandbox clusters: replacement first, nothing deleted where nobody answers."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path

from aiohttp import web

import command_world
import process_time
from controller_world import ANA, SPEED, Controlled, controlled
from volary.controller.api import representations
from volary.controller.status import application_statuses
from volary.model import server_settings
from volary.model.fleet import cluster_health
from volary.placement.failover import situations
from volary.store import records

V1, V2 = "example/simple:v1", "example/simple:v2"
#: Looks follow each other quickly, so that a test lasts seconds.
WATCHED = cluster_health.HealthRules(
    interval=timedelta(seconds=0.2),
    timeout=timedelta(seconds=1),
    failure_threshold=timedelta(seconds=0.2),
    success_threshold=timedelta(seconds=0.2),
)
DEAD = {"key": "example.com/dead", "value": "", "effect": "NoExecute", "reason": "flood"}
SPREAD = """
  placement:
    spread: [{by: cluster, minGroups: 2, maxGroups: 2}]
    failover: {cluster: {toleration: 300ms}, patience: 300ms}
"""
ILL = """
  placement:
    spread: [{by: cluster, minGroups: 2, maxGroups: 2}]
    failover: {application: {toleration: 500ms}}
"""
DIVIDED = """
  placement:
    replicas: {division: Divided}
"""
AUTOSCALER = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: simple}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: simple}
  minReplicas: 2
  maxReplicas: 8
"""
NAMES = ("asia", "eu", "sa", "us")


def described(placement: str) -> str:
    return f"""
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: simple}}
spec:{placement}
"""


@contextlib.asynccontextmanager
async def spread_out(
    base: Path, placement: str, names: Sequence[str] = NAMES, **more: object
) -> AsyncIterator[Controlled]:
    """Given: an application that a server has brought to where its placement says."""
    async with command_world.world(base, *names, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": described(placement)}, message="Spread it")
        async with controlled(world, cluster_health=WATCHED, **more) as given:
            await given.until_application(lambda each: each.status == "synced")
            yield given


async def placed(given: Controlled) -> situations.PlacementState:
    found = await given.controller.service.store.applications.get("simple")
    assert found is not None
    return application_statuses.from_document(found.document).placed


async def until_placed(
    given: Controlled,
    holds: Callable[[situations.PlacementState], object],
    *,
    timeout: float = 20.0,
) -> situations.PlacementState:
    found = None
    try:
        async with asyncio.timeout(timeout):
            while True:
                found = await placed(given)
                if holds(found):
                    return found
                await given.changed()
    except TimeoutError:
        runs = [(each.trigger, each.status, each.reason) for each in await given.runs()]
        raise AssertionError(f"it never was placed so, but: {found}\n{runs}") from None


async def until_state(given: Controlled, name: str, state: str) -> None:
    async with asyncio.timeout(process_time.HANG):
        while True:
            if (await given.service.fleet.get(name)).status == state:
                return
            await given.changed()


async def moving(given: Controlled) -> representations.RunSummary:
    """Wait until the newest run is the move."""
    async with asyncio.timeout(process_time.HANG):
        while True:
            newest = (await given.runs())[0]
            if newest.trigger.startswith("eu carries"):
                return newest
            await given.changed()


def on(world: command_world.World) -> list[str]:
    return [name for name in NAMES if world.find(name, "Deployment", "simple") is not None]


def pods(world: command_world.World) -> dict[str, int]:
    """What each cluster is told to run; clusters without it are left out."""
    names = world.running.clusters
    found = {name: world.find(name, "Deployment", "simple") for name in names}
    return {name: body["spec"]["replicas"] for name, body in found.items() if body is not None}


async def test_a_lost_cluster_is_replaced_and_cleaned_up_when_it_is_back(tmp_path: Path) -> None:
    async with spread_out(tmp_path, SPREAD) as given:
        world, clusters = given.world, given.service.fleet
        assert on(world) == ["asia", "eu"]

        world.running.clusters["eu"].faults.change({"lost": "refuse"})
        await until_state(given, "eu", "unreachable")
        assert on(world) == ["asia", "eu"], "a lost connection alone moves nothing"
        await clusters.ask("taint", "eu", ANA, **DEAD)
        moved = await until_placed(
            given, lambda each: "cleaned up once it answers" in each.waiting.get("eu", "")
        )
        assert on(world) == ["asia", "eu", "sa"]
        assert moved.chosen == ("asia", "sa")

        world.running.clusters["eu"].faults.change({"lost": ""})
        await clusters.untaint("eu", ANA, key=DEAD["key"], effect="", reason="")
        after = await until_placed(given, lambda each: not each.leaving)
        runs = await given.runs()

        assert on(world) == ["asia", "sa"], "cleaned up, and nothing went back"
        assert after.chosen == ("asia", "sa")
        assert list(after.away) == ["eu"]
        assert [each.status for each in runs] == ["succeeded"] * 3
        assert runs[0].trigger.startswith("eu answers again: what moved away at ")
        standing = await given.application()
        assert standing.status == "synced"
        since = f"it is on asia and sa since move {runs[0].id}: eu carries example.com/dead"
        assert standing.reason.startswith(since)
        assert "eu carries example.com/dead:NoExecute (ana: flood)" in runs[1].trigger


async def test_a_drained_cluster_gives_its_replicas_away_and_gets_them_back_on_request(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path, DIVIDED, ("eu", "us")) as given:
        world, service = given.world, given.service
        assert pods(world) == {"eu": 1, "us": 1}
        foreseen = await service.placements.preview("drain", "eu", ("simple",))
        cordoned = await service.placements.preview("cordon", "eu", ("simple",))
        assert foreseen.sentence == (
            "nothing new begins on eu; of 1 application there 1 would move"
        )
        assert [(each.moves, each.replacements, each.reason) for each in foreseen.applications] == [
            (True, ("us",), "its replicas go to us")
        ]
        assert [each.moves for each in cordoned.applications] == [False]

        await service.fleet.ask("drain", "eu", ANA, reason="1.36")
        drained = await until_placed(given, lambda each: each.away and not each.leaving)
        assert pods(world) == {"us": 2}
        assert drained.away["eu"] == "eu was drained by ana: 1.36; what it runs is shared by us"

        await service.fleet.ask("uncordon", "eu", ANA, reason="")
        found = await service.placements.plan("simple", ANA)
        assert pods(world) == {"us": 2}, "it does not go back by itself"
        assert (found.more, found.less, found.off) == (("eu",), ("us",), ())
        asked = await service.placements.rebalance("simple", ANA)
        await given.until_run(asked.run, lambda each: each.summary.status == "succeeded")

        assert pods(world) == {"eu": 1, "us": 1}
        actions = (await service.audit(records.AuditFilter())).items
        assert [each.action for each in actions][:2] == ["application.rebalance"] * 2


async def test_what_an_autoscaler_owns_stays_on_a_drained_cluster_unless_its_bounds_are_divided(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path, "", ("eu", "us")) as given:
        world, service = given.world, given.service
        world.write({"autoscaler.yaml": AUTOSCALER, "volary.yaml": described(DIVIDED)})
        await given.synced(given.push(V1, V2))

        await service.fleet.ask("drain", "eu", ANA, reason="1.36")
        waiting = await until_placed(given, lambda each: each.waiting)
        assert waiting.waiting["eu"].startswith("eu was drained by ana: 1.36; it has nothing that")
        assert pods(world) == {"eu": 2, "us": 2}

        await service.fleet.ask("uncordon", "eu", ANA, reason="")
        by_choice = DIVIDED.replace("Divided}", "Divided, autoscaled: divideBounds}")
        world.write({"volary.yaml": described(by_choice)})
        await given.synced(given.push(V2, V1))
        assert bounds(world) == {"eu": (1, 4), "us": (1, 4)}

        await service.fleet.ask("drain", "eu", ANA, reason="1.36")
        await until_placed(given, lambda each: each.away and not each.leaving)
        assert bounds(world) == {"us": (2, 8)}
        assert pods(world) == {"us": 2}


def bounds(world: command_world.World) -> dict[str, tuple[int, int]]:
    """Return the least and most replicas of the autoscaler by cluster, where there is one."""
    names = world.running.clusters
    found = {name: world.find(name, "HorizontalPodAutoscaler", "simple") for name in names}
    limits = {name: body["spec"] for name, body in found.items() if body is not None}
    return {name: (each["minReplicas"], each["maxReplicas"]) for name, each in limits.items()}


async def test_a_move_interrupts_a_run_that_waits_and_its_commit_goes_on_after_it(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path, SPREAD) as given:
        world = given.world
        waits = (
            SPREAD + "  pipeline: {stages: [{name: WAIT, with: {duration: 2s}}, {name: K8S_SYNC}]}"
        )
        world.write({"volary.yaml": described(waits)})
        commit = given.push(V1, V2)
        running = await given.until_application(lambda each: each.status == "running")
        world.running.clusters["eu"].faults.change({"lost": "refuse"})
        await given.service.fleet.ask("taint", "eu", ANA, **DEAD)
        told = await given.until_run(running.run, lambda run: "end first" in run.move)
        ended = await given.ended(running.run)
        await given.synced(commit)
        runs = await given.runs()

        assert re.search(
            rf"^eu: eu carries example.com/dead.*run {running.run} has to end first;"
            r" it is interrupted at \d\d:\d\d:\d\d$",
            told.move,
        ), told.move
        assert (await given.service.run(running.run)).move == ""
        assert ended.status == "cancelled"
        assert "interrupted by a move: eu carries example.com/dead" in ended.reason
        assert runs[1].trigger.startswith("eu carries example.com/dead")
        assert runs[0].trigger.startswith(f"goes on after run {running.run} was interrupted")
        assert runs[0].targets == ("asia", "sa")
        assert world.images("sa") == f"{V2} 2/2"


async def test_where_it_is_ill_and_well_elsewhere_it_leaves_and_removes_itself(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path, ILL) as given:
        world = given.world
        eu = world.running.clusters["eu"]
        eu.faults.images.add(V1, "never-ready")
        pod = eu.registry.kind("v1", "Pod")
        for body in eu.registry.objects(pod):
            eu.registry.delete(pod, "default", body["metadata"]["name"])

        after = await until_placed(given, lambda each: each.away and not each.leaving)
        runs = await given.runs()

        assert on(world) == ["asia", "sa"]
        assert after.away["eu"].startswith("simple is unhealthy on eu, which answers, since ")
        assert "and well on asia; what it runs goes to sa" in after.away["eu"]
        assert [each.targets for each in runs] == [("sa", "eu"), ("asia", "eu")]


async def test_a_move_outlives_the_process_that_began_it(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES, speed=SPEED) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": described(SPREAD)}, message="Spread it")
        kept = {"store": f"sqlite:{tmp_path}/volary.db", "cluster_health": WATCHED}
        async with controlled(world, **kept) as given:
            await given.until_application(lambda each: each.status == "synced")
            world.running.clusters["sa"].faults.change({"latency": 0.3})
            world.running.clusters["eu"].faults.change({"lost": "refuse"})
            # Of one that answers by what is known, the old copy is removed in the same run.
            await until_state(given, "eu", "unreachable")
            await given.service.fleet.ask("taint", "eu", ANA, **DEAD)
            await until_placed(given, lambda each: each.leaving)
            begun = await moving(given)
        world.running.clusters["sa"].faults.change({"latency": 0.0})
        async with controlled(world, **kept) as given:
            await until_placed(given, lambda each: each.leaving and each.leaving[0].replaced)
            runs = await given.runs()

        assert on(world) == ["asia", "eu", "sa"]
        assert [each.status for each in runs] == ["succeeded"] * 2
        assert runs[0].id == begun.id


async def test_when_most_of_the_fleet_is_lost_nothing_moves_and_somebody_is_told(
    tmp_path: Path,
) -> None:
    heard: list[dict[str, object]] = []

    async def take(request: web.Request) -> web.Response:
        heard.append(await request.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        hook = server_settings.OutgoingWebhook(f"http://127.0.0.1:{runner.addresses[0][1]}/")
        told = server_settings.Notifications(
            (server_settings.Route("lost", "hook", groups=("FAILOVER",)),),
            (server_settings.Receiver("hook", webhook=hook),),
        )
        async with spread_out(tmp_path, SPREAD, notifications=told) as given:
            for name in ("asia", "eu", "us"):
                given.world.running.clusters[name].faults.change({"lost": "refuse"})
                await given.service.fleet.ask("taint", name, ANA, **DEAD)
            stands = await until_placed(given, lambda each: heard and len(each.waiting) == 2)

            assert len(await given.runs()) == 1
            assert stands.leaving == ()
            assert all(
                "the controller's own network is suspected" in why
                for why in stands.waiting.values()
            )
            assert given.service.placements.alarm
            (noted, *_) = (await given.service.audit(records.AuditFilter())).items
            assert (noted.action, noted.by) == ("failover.stopped", "failover")
    finally:
        await runner.cleanup()
    (alarm,) = heard
    assert (alarm["event"], alarm["application"]) == ("FAILOVER_STOPPED", "simple")


async def test_a_pause_pins_where_it_is_and_what_has_gone_meanwhile_moves_nothing(
    tmp_path: Path,
) -> None:
    async with spread_out(tmp_path, SPREAD) as given:
        world, service = given.world, given.service
        await service.ask_application("pause", "simple", ANA, reason="on television")
        world.running.clusters["eu"].faults.change({"lost": "refuse"})
        await service.fleet.ask("taint", "eu", ANA, **DEAD)
        stands = await until_placed(
            given, lambda each: "paused by ana: on television" in each.waiting.get("eu", "")
        )
        assert stands.leaving == ()

        world.running.clusters["eu"].faults.change({"lost": ""})
        await service.fleet.untaint("eu", ANA, key=DEAD["key"], effect="", reason="")
        await until_state(given, "eu", "ready")
        await service.ask_application("resume", "simple", ANA)
        await until_placed(given, lambda each: not each.waiting and not each.leaving)

        assert on(world) == ["asia", "eu"]
        assert len(await given.runs()) == 1
