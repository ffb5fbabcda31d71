"""Clusters are lost, come back, join, are cordoned and built anew; a server runs all the while."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import command_world
import controller_world
import process_time
from kube_sandbox import fleet as sandboxes
from sandbox_fixtures import Kubectl
from volary.controller.api import cluster_service, representations
from volary.engine.runs import policies
from volary.model.fleet import cluster_health, fleets
from volary.store import records
from wave_invariants import watched

QUICK = cluster_health.HealthRules(
    interval=timedelta(seconds=0.1),
    timeout=timedelta(seconds=0.5),
    failure_threshold=timedelta(seconds=0.4),
    success_threshold=timedelta(seconds=0.4),
)
V1, V2, V3 = (f"example/simple:v{number} 2/2" for number in (1, 2, 3))
APPLICATION = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  service: {kind: Service, name: simple}
"""
ASKS = """\
  planner: {alwaysUsePipeline: true}
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT, with: {replicas: 1}}
    - {name: WAIT_APPROVAL, with: {approvers: [ana]}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""
WAVES = """\
  waves:
  - name: first
    targets: {names: [us]}
    gate: {approval: {approvers: [ana], count: 1}}
  - name: rest
"""
WAITS = """\
  waves:
  - name: all
    onUnreachable: wait
"""


@contextlib.asynccontextmanager
async def controlled(
    base: Path,
    *names: str,
    again_after: timedelta = policies.AGAIN_AFTER,
    patience: timedelta = controller_world.RULES.patience,
) -> AsyncIterator[controller_world.Controlled]:
    speed = controller_world.SPEED
    async with command_world.world(base, *names, speed=speed, tls=True) as world:
        (world.directory / "app.pipecd.yaml").unlink()
        world.write({"volary.yaml": APPLICATION}, message="Deploy v1")
        rules = replace(controller_world.RULES, again_after=again_after, patience=patience)
        parts = {"rules": rules}
        async with controller_world.controlled(world, cluster_health=QUICK, parts=parts) as made:
            yield made


async def until_cluster(
    made: controller_world.Controlled,
    name: str,
    holds: Callable[[cluster_service.Cluster], bool],
) -> cluster_service.Cluster:
    found = None
    try:
        async with asyncio.timeout(process_time.HANG):
            while True:
                found = await made.service.fleet.get(name)
                if holds(found):
                    return found
                await made.changed()
    except TimeoutError:
        raise AssertionError(f"{name} never was so, but: {found}") from None


async def until_image(made: controller_world.Controlled, target: str, wanted: str) -> None:
    found = ""
    try:
        async with asyncio.timeout(process_time.HANG):
            while found != wanted:
                if made.world.find(target, "Deployment", "simple") is not None:
                    found = made.world.images(target)
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{target} never ran {wanted}, but {found!r}") from None


def without(members: fleets.Fleet, name: str) -> fleets.Fleet:
    return replace(members, clusters=tuple(each for each in members.clusters if each.name != name))


def of_eu(run: representations.Run) -> representations.Task:
    """Return the first task of a run on eu."""
    return next(each for each in run.stages[0].tasks if each.target == "eu")


async def newest(made: controller_world.Controlled) -> representations.RunSummary:
    return (await made.runs())[0]


async def test_a_lost_cluster_is_left_out_and_gets_what_it_missed(
    tmp_path: Path,
    kubectl: Kubectl,
) -> None:
    async with controlled(tmp_path, "us", "eu") as made:
        await made.synced(made.world.write({"x": "1"}, message="Deploy v1 again"))
        await until_cluster(made, "eu", lambda each: each.status == "ready")
        with watched(made.world, application="simple"):
            made.world.running.clusters["eu"].faults.change({"lost": "refuse"})
            lost = await until_cluster(made, "eu", lambda each: each.status == "unreachable")
            second = made.push("simple:v1", "simple:v2")
            await made.synced(second)
            went_without = await newest(made)
            third = made.push("simple:v2", "simple:v3")
            await made.synced(third)
            old = made.world.images("eu")

            made.world.running.clusters["eu"].faults.clear()
            back = await until_cluster(made, "eu", lambda each: each.status == "ready")
            await until_image(made, "eu", V3)
        stands = await made.until_application(lambda each: each.status == "synced")
        caught_up = await made.ended((await newest(made)).id)
        witness = await kubectl(made.world.running.clusters["eu"], "get", "deployment", "simple")

    assert [str(each.key) for each in lost.taints] == ["volary.dev/unreachable"]
    assert not lost.schedulable
    assert went_without.targets == ("us",)
    assert went_without.reason.startswith("every stage is done on us; left out: eu (unreachable: ")
    assert old == V1
    assert (back.taints, back.schedulable) == ((), True)
    assert (caught_up.commit, caught_up.targets, caught_up.status) == (third, ("eu",), "succeeded")
    assert "eu: the release went on without it" in caught_up.trigger
    assert stands.running_commit == third
    assert "2/2" in witness.out


async def test_a_run_that_waits_for_a_cluster_goes_on_because_a_probe_sees_it(
    tmp_path: Path,
) -> None:
    """Its timer would not let it go on for days, so that nothing but the probe is the cause."""
    async with controlled(tmp_path, "us", "eu", again_after=timedelta(days=1)) as made:
        made.world.write({"volary.yaml": APPLICATION + WAITS}, message="Wait for clusters")
        await made.synced(made.world.write({"x": "1"}, message="Deploy v1 again"))
        eu = made.world.running.clusters["eu"]
        eu.faults.change({"lost": "refuse"})
        second = made.push("simple:v1", "simple:v2")
        begun = await made.until_application(
            lambda each: each.head == second and each.status == "running"
        )
        waits = await made.until_run(begun.run, lambda each: of_eu(each).status == "waiting")
        lost = await until_cluster(made, "eu", lambda each: each.status == "unreachable")
        still = await made.service.run(begun.run)

        eu.faults.clear()
        ended = await made.ended(begun.run)
        run = await made.service.run(begun.run)

    assert "waiting for eu to answer" in waits.waiting_reason
    assert lost.taints
    assert (of_eu(still).status, of_eu(still).attempt) == ("waiting", 1)
    assert (ended.status, ended.targets) == ("succeeded", ("us", "eu"))
    assert (of_eu(run).status, of_eu(run).attempt) == ("succeeded", 2)


async def test_a_joiner_gets_what_was_completed_and_not_half_a_release(tmp_path: Path) -> None:
    async with controlled(tmp_path, "us", "eu", "ap") as made:
        everybody = made.controller.service.fleet.register.members
        made.controller.change_fleet(without(everybody, "ap"))
        first = made.world.write({"x": "1"}, message="Deploy v1 again")
        await made.synced(first)
        gone = made.world.find("ap", "Deployment", "simple")
        made.world.write({"volary.yaml": APPLICATION + ASKS})
        made.push("simple:v1", "simple:v2")
        held = await made.until_application(
            lambda each: each.run != "" and each.status == "running"
        )
        await made.until_run(held.run, lambda each: each.pending_approval is not None)

        made.controller.change_fleet(everybody)
        await until_cluster(made, "ap", lambda each: each.status == "ready")
        await asyncio.sleep(0.5)
        waits = made.world.find("ap", "Deployment", "simple")
        await made.ask_run("reject", held.run, controller_world.ANA, comment="not today")
        await until_image(made, "ap", V1)
        joined = await made.ended((await newest(made)).id)

    assert gone is None
    assert waits is None
    assert (joined.commit, joined.targets, joined.status) == (first, ("ap",), "succeeded")


async def test_what_could_not_be_proven_rolled_back_is_tried_again_when_the_cluster_answers(
    tmp_path: Path,
) -> None:
    """A canary runs on both when the run is cancelled, and nobody can reach eu."""
    async with controlled(tmp_path, "us", "eu") as made:
        await made.synced(made.world.write({"x": "1"}, message="Deploy v1 again"))
        made.world.write({"volary.yaml": APPLICATION + ASKS})
        second = made.push("simple:v1", "simple:v2")
        held = await made.until_application(
            lambda each: each.head == second and each.status == "running"
        )
        await made.until_run(held.run, lambda each: each.pending_approval is not None)
        assert made.world.find("eu", "Deployment", "simple-canary") is not None
        made.world.running.clusters["eu"].faults.change({"lost": "refuse"})
        await made.ask_run("cancel", held.run, controller_world.ANA, rollback=True)
        first = await made.ended(held.run)
        made.world.running.clusters["eu"].faults.clear()

        stands = await made.until_application(
            lambda each: each.run != held.run and each.status not in ("running", "waiting")
        )
        again = await made.ended(stands.run)

        assert first.status == "failed"
        assert "rollback not verified: eu (" in first.reason
        assert (again.status, again.by) == ("succeeded", "volary")
        assert again.trigger == (
            f"run {held.run} was not proven rolled back on eu, which did not answer then"
        )
        assert made.world.find("eu", "Deployment", "simple-canary") is None
        assert made.world.images("eu") == V1


async def test_whom_a_preparation_waits_for_is_said_while_it_does(tmp_path: Path) -> None:
    """One of two takes connections and answers nothing."""
    async with controlled(tmp_path, "us", "eu", patience=timedelta(seconds=8)) as made:
        await made.synced(made.world.write({"x": "1"}, message="Deploy v1 again"))
        made.world.running.clusters["eu"].faults.change({"lost": "hang"})
        made.push("simple:v1", "simple:v2")

        waits = await made.until_application(
            lambda each: each.waiting is not None and "to answer" in each.waiting.waiting_reason
        )

        made.world.running.clusters["eu"].faults.clear()
        assert waits.waiting is not None
        assert waits.waiting.waiting_reason == "waiting for eu to answer"
        await until_image(made, "eu", V2)


async def test_a_cordoned_cluster_is_left_out_where_nothing_has_begun(tmp_path: Path) -> None:
    async with controlled(tmp_path, "us", "eu") as made:
        await made.synced(made.world.write({"x": "1"}, message="Deploy v1 again"))
        made.world.write({"volary.yaml": APPLICATION + WAVES})
        second = made.push("simple:v1", "simple:v2")
        held = await made.until_application(
            lambda each: each.head == second and each.status == "running"
        )
        await made.until_run(held.run, lambda each: each.pending_approval is not None)
        cordoned = await made.service.fleet.ask("cordon", "eu", controller_world.ANA, reason="1.36")
        touched = await made.service.fleet.ask("cordon", "us", controller_world.ANA, reason="1.36")
        await made.until_run(held.run, lambda each: any(one.left_out for one in each.targets))
        await made.ask_run("approve", held.run, controller_world.ANA)
        ended = await made.ended(held.run)
        stood, old = await made.application(), made.world.images("eu")
        await made.service.fleet.ask("uncordon", "eu", controller_world.ANA, reason="done")
        await until_image(made, "eu", V2)
        stands = await made.synced(second)
        audit = await made.service.audit(records.AuditFilter(action="cluster.uncordon"))

    assert [each.reason for each in (*cordoned.taints, *touched.taints)] == ["1.36", "1.36"]
    assert (stood.status, stood.running_commit == second) == ("out_of_sync", False)
    assert ended.reason.endswith(
        "done on us, but the run went on without eu (cordoned by ana: 1.36)"
    )
    assert old == V1
    assert stands.reason == f"every cluster has {second[:7]}; eu came last"
    assert audit.items[0].document == {"cluster": "eu", "reason": "done"}


async def test_a_cluster_that_was_built_anew_gets_the_release_again(tmp_path: Path) -> None:
    """Under its old name, with another certificate and token: its kubeconfig is read again."""
    async with controlled(tmp_path, "us", "eu") as made:
        first = made.world.write({"x": "1"}, message="Deploy v1 again")
        await made.synced(first)
        old = made.world.running.clusters["eu"]
        known = made.service.fleet.register
        await until_cluster(made, "eu", lambda _: known.identity("eu") != "")
        await asyncio.sleep(0.3)
        await old.stop()
        settings = sandboxes.Settings(speed=controller_world.SPEED, seed=70)
        async with sandboxes.start(
            ["eu"],
            ports=[int(old.url.rpartition(":")[2])],
            directory=tmp_path / "2",
            settings=settings,
        ) as again:
            anew = again.clusters["eu"]
            shutil.copy(anew.kubeconfig_path, old.kubeconfig_path)
            await anew.until(
                lambda view: bool(view.get("Deployment", "default", "simple")), timeout=15
            )
            brought = await made.ended((await newest(made)).id)

    assert (brought.commit, brought.targets, brought.status) == (first, ("eu",), "succeeded")
    assert "eu: it was built anew" in brought.trigger
