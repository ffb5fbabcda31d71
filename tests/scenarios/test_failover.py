"""Failover on sandbox clusters: replacement first, nothing deleted where nobody answers."""

import asyncio
from datetime import timedelta
from pathlib import Path

import command_world
from controller_world import ANA, SPEED, Controlled, controlled
from volary.controller import standings
from volary.model import attendance, taints
from volary.placement import failover

V1, V2 = "example/simple:v1", "example/simple:v2"
#: Looks follow each other quickly, so that a test lasts seconds.
WATCHED = attendance.Rules(
    interval=timedelta(seconds=0.2),
    patience=timedelta(seconds=1),
    failure_threshold=timedelta(seconds=0.2),
    success_threshold=timedelta(seconds=0.2),
)
DEAD = taints.Taint("example.com/dead", "", taints.Effect.NO_EXECUTE, reason="flood")
SPREAD = """
  placement:
    spread: [{by: cluster, minGroups: 2, maxGroups: 2}]
    failover: {cluster: {toleration: 300ms}, patience: 300ms}
"""
DIVIDED = """
  placement:
    replicas: {division: Divided}
"""
NAMES = ("asia", "eu", "sa", "us")


def described(placement: str) -> str:
    return f"""
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: simple}}
spec:{placement}
"""


async def placed(given: Controlled) -> failover.Standing:
    found = await given.controller.service.store.applications.get("simple")
    assert found is not None
    return standings.from_document(found.document).placed


async def until_placed(
    given: Controlled, holds: object, *, timeout: float = 20.0
) -> failover.Standing:
    found = None
    try:
        async with asyncio.timeout(timeout):
            while True:
                found = await placed(given)
                if holds(found):  # type: ignore[operator]
                    return found
                await asyncio.sleep(0.02)
    except TimeoutError:
        runs = [(each.trigger, each.status, each.reason) for each in await given.runs()]
        raise AssertionError(f"it never was placed so, but: {found}\n{runs}") from None


def on(world: command_world.World) -> list[str]:
    return [name for name in NAMES if world.find(name, "Deployment", "simple") is not None]


async def test_a_lost_cluster_is_replaced_and_cleaned_up_when_it_is_back(tmp_path: Path) -> None:
    async with (
        command_world.world(tmp_path, *NAMES, speed=SPEED) as world,
    ):
        world.write({"volary.yaml": described(SPREAD)})
        (world.directory / "app.pipecd.yaml").unlink(missing_ok=True)
        world.write({}, message="Spread it")
        async with controlled(world, cluster_health=WATCHED) as given:
            await given.until_application(lambda each: each.status == "synced")
            assert on(world) == ["asia", "eu"]
            clusters = given.service.fleet

            world.running.clusters["eu"].faults.change({"lost": "refuse"})
            await asyncio.sleep(1)
            assert on(world) == ["asia", "eu"], "a lost connection alone moves nothing"
            await clusters.taint("eu", ANA, DEAD)
            moved = await until_placed(
                given, lambda each: "cleaned up once it answers" in each.waiting.get("eu", "")
            )
            assert on(world) == ["asia", "eu", "sa"]
            assert moved.chosen == ("asia", "sa")

            world.running.clusters["eu"].faults.change({"lost": ""})
            await clusters.untaint("eu", ANA, key=DEAD.key, effect="", reason="")
            after = await until_placed(given, lambda each: not each.leaving)
            runs = await given.runs()

        assert on(world) == ["asia", "sa"], "cleaned up, and nothing went back"
        assert after.chosen == ("asia", "sa")
        assert list(after.away) == ["eu"]
        assert [each.status for each in runs] == ["succeeded"] * 3, [
            (e.trigger, e.targets) for e in runs
        ]
        assert runs[0].trigger.startswith("eu answers again: what moved away at ")
        assert "eu carries example.com/dead:NoExecute (ana: flood)" in runs[1].trigger
