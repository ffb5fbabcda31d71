"""A server releases and rolls back what people made or changed with kubectl."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import command_world
import kubectl
from controller_world import ANA, SPEED, Controlled, controlled
from kube_sandbox import fleet
from volary.controller import refusals

pytestmark = kubectl.needed

V1, V2, V3 = "example/simple:v1", "example/simple:v2", "example/simple:v3"
#: As people made it before Volary, with more than Git has.
BEFORE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: simple, labels: {team: shop}}
data: {GREETING: good morning, OLD: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: simple}
spec:
  selector: {app: simple}
  ports: [{port: 80, targetPort: 9085}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: simple, labels: {app: simple, team: shop}}
spec:
  replicas: 3
  selector: {matchLabels: {app: simple, pipecd.dev/variant: primary}}
  template:
    metadata: {labels: {app: simple, pipecd.dev/variant: primary}}
    spec:
      containers:
        - name: simple
          image: example/simple:v0
          args: [--old]
          ports: [{containerPort: 9085}]
"""
BRAND_NEW = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: brand-new\n"
NOT_ROLLED_BACK = "spec:\n  planner: {autoRollback: false}\n"


@contextlib.asynccontextmanager
async def server(tmp_path: Path, *names: str) -> AsyncIterator[tuple[command_world.World, str]]:
    """Given: clusters that stock kubectl reaches, and a store that a server leaves behind."""
    async with command_world.world(tmp_path, *names, tls=True, speed=SPEED) as world:
        yield world, f"sqlite:{tmp_path / 'volary.db'}"


async def by_people(world: command_world.World) -> None:
    """Given: people made everything with kubectl."""
    for cluster in world.running.clusters.values():
        await kubectl.run(cluster, "apply", "-f", "-", text=BEFORE)
        await kubectl.run(cluster, "rollout", "status", "deployment/simple", "--timeout=120s")


async def edit(cluster: fleet.Cluster, name: str, old: str, new: str) -> None:
    """``kubectl edit`` by an editor that changes one text."""
    editor = f"sed -i s#{old}#{new}#"
    await kubectl.run(cluster, "edit", name, KUBE_EDITOR=editor)


async def said(given: Controlled, run: str) -> str:
    """Return what the run's tasks told, from the events that a server keeps."""
    told = await given.told()
    return " ".join(
        line for event in told if event["run"] == run for line in event.get("details", ())
    )


async def rolled_back(given: Controlled, commit: str, *, to: str = "") -> str:
    """Roll back and wait until a commit runs again; returns the run."""
    asked = await given.service.ask_application("rollback", "simple", ANA, to=to)
    await given.ended(asked.run)
    await given.back_at(commit)
    return asked.run


async def test_a_first_release_that_succeeded_is_not_undone(tmp_path: Path) -> None:
    """Nobody knows any more how adopted objects were: that is said, and nothing is touched."""
    async with server(tmp_path, "us", "eu") as (world, _):
        await by_people(world)
        world.write({"new.yaml": BRAND_NEW}, message="And something new")
        async with controlled(world) as given:
            first = await given.until_application(lambda each: each.status == "synced")
            before = await world.settled()

            with pytest.raises(refusals.Conflict) as caught:
                await given.service.ask_application("rollback", "simple", ANA)

            after = await world.settled()
            status = (await given.application()).status

        (problem,) = caught.value.problems
        assert (after, status) == (before, "synced")
        assert problem.message.startswith(
            f"nothing of simple ran on us and eu before run {first.run}, and what others had"
        )
        assert "`volary rollback simple --to COMMIT`" in problem.hint


async def test_a_first_release_that_failed_is_undone_by_hand(tmp_path: Path) -> None:
    """It was not to be rolled back by itself; until it has succeeded everything is kept."""
    async with server(tmp_path, "us") as (world, _):
        await by_people(world)
        world.edit("app.pipecd.yaml", "spec:\n", NOT_ROLLED_BACK)
        world.edit("deployment.yaml", V1, "example/simple:bad")
        world.write({"new.yaml": BRAND_NEW}, message="Something new, and bad")
        async with controlled(world) as given:
            failed = await given.until_application(lambda each: each.status == "failed")
            asked = await given.service.ask_application("rollback", "simple", ANA)
            ended = await given.ended(asked.run)

        assert (ended.status, ended.trigger) == (
            "succeeded",
            f"ana undoes the first release, run {failed.run}",
        )
        assert world.images("us") == "example/simple:v0 3/3"
        assert world.find("us", "ConfigMap", "simple")["data"]["OLD"] == "1"
        assert world.find("us", "ConfigMap", "brand-new") is None


async def test_after_a_rollback_to_a_commit_it_says_so_with_both(tmp_path: Path) -> None:
    async with server(tmp_path, "us", "eu") as (world, _), controlled(world) as given:
        first = (await given.until_application(lambda each: each.status == "synced")).head
        second = given.push(V1, V2)
        await given.synced(second)

        await rolled_back(given, first, to=first)

        shown = await given.service.statuses.get("simple")
        assert shown.status == "out_of_sync"
        both = f"{first[:7]} runs, Git has {second[:7]}"
        assert shown.reason.startswith(f"{both}: rolled back by ana: ")
        assert {world.images(name) for name in ("us", "eu")} == {f"{V1} 2/2"}


async def test_a_sync_repairs_everything_that_people_did(tmp_path: Path) -> None:
    async with server(tmp_path, "us", "eu") as (world, _), controlled(world) as given:
        await given.until_application(lambda each: each.status == "synced")
        us = world.running.clusters["us"]
        await kubectl.run(us, "scale", "deployment/simple", "--replicas=4")
        await kubectl.run(us, "set", "image", "deployment/simple", "simple=example/other:v9")
        await edit(us, "configmap/simple", "hello", "goodbye")
        await kubectl.run(us, "delete", "service", "simple")
        untouched = world.find("eu", "Deployment", "simple")["metadata"]["generation"]

        asked = await given.service.sync("simple", ANA)
        ended = await given.ended(asked.run)

        assert ended.status == "succeeded"
        assert world.images("us") == f"{V1} 2/2"
        assert world.find("us", "ConfigMap", "simple")["data"] == {"GREETING": "hello"}
        assert world.find("us", "Service", "simple") is not None
        assert world.find("eu", "Deployment", "simple")["metadata"]["generation"] == untouched
        logged = " ".join(line.text for line in await given.logs(asked.run))
        image = '.spec.template.spec.containers[name="simple"].image'
        for text in (await said(given, asked.run), logged):
            assert "takes back .spec.replicas (4 → 2) from kubectl" in text
            assert f"takes back {image} (example/other:v9 → {V1}) from kubectl-set" in text
            assert "takes back .data.GREETING (goodbye → hello) from kubectl-edit" in text
            assert "created Service default/simple" in text


async def test_what_is_edited_between_releases_stops_neither_them_nor_a_rollback(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, "us", "eu") as (world, _), controlled(world) as given:
        await given.until_application(lambda each: each.status == "synced")
        us = world.running.clusters["us"]

        await edit(us, "configmap/simple", "hello", "goodbye")
        await edit(us, "deployment/simple", V1, "example/other:v9")
        second = given.push(V1, V2)
        released = (await given.synced(second)).run

        assert "takes back .data.GREETING (goodbye → hello) from kubectl-edit" in await said(
            given, released
        )
        assert {world.images(name) for name in ("us", "eu")} == {f"{V2} 2/2"}

        third = given.push(V2, V3)
        await given.synced(third)
        await edit(us, "configmap/simple", "hello", "goodbye")
        await edit(us, "deployment/simple", V3, "example/other:v9")
        back = await rolled_back(given, second)

        text = await said(given, back)
        assert "takes back .data.GREETING (goodbye → hello) from kubectl-edit" in text
        assert f"(example/other:v9 → {V2}) from kubectl-edit" in text
        assert {world.images(name) for name in ("us", "eu")} == {f"{V2} 2/2"}
        assert world.find("us", "ConfigMap", "simple")["data"] == {"GREETING": "hello"}


EXTRA = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {0}\ndata:\n  of: {0}\n"
PRUNED = "    kubernetes_multicluster:\n      quickSync: {prune: true}\n"


def quick(world: command_world.World) -> None:
    """Given: an application without a pipeline, that prunes."""
    text = (world.directory / "app.pipecd.yaml").read_text()
    text = text[: text.index("  pipeline:")].replace("    kubernetes_multicluster:\n", PRUNED)
    world.write({"app.pipecd.yaml": text, "extra.yaml": EXTRA.format("first")}, message="Quick")


def released(world: command_world.World, old: str, new: str, name: str) -> str:
    """Another image, and the ConfigMap is called `name` from now on."""
    world.edit("deployment.yaml", old, new)
    return world.write({"extra.yaml": EXTRA.format(name)}, message=f"{new}, {name}")


def owned(world: command_world.World, target: str) -> set[str]:
    """The application's objects in a cluster."""
    view = world.running.clusters[target].view
    return {
        f"{kind} {body['metadata']['name']}"
        for kind in ("ConfigMap", "Service", "Deployment")
        for body in view.list(kind, "default")
        if body["metadata"].get("annotations", {}).get("volary.dev/application") == "simple"
        and not body["metadata"]["name"].startswith("volary-inventory")
    }


THIRD = {"ConfigMap simple", "ConfigMap third", "Service simple", "Deployment simple"}


@pytest.mark.parametrize("is_stuck", [False, True])
async def test_two_releases_in_a_row_end_with_what_the_second_has(
    tmp_path: Path, is_stuck: bool
) -> None:
    """An object is renamed by both; the second is pushed while the first is under way."""
    async with server(tmp_path, "us", "eu") as (world, _):
        quick(world)
        async with controlled(world) as given:
            await given.until_application(lambda each: each.status == "synced")
            if is_stuck:
                world.running.clusters["eu"].faults.images.add("*:v2", "never-ready")
            released(world, V1, V2, "second")
            await given.until_application(lambda each: each.status == "running")
            third = released(world, V2, V3, "third")
            if is_stuck:
                await given.until_application(
                    lambda each: each.waiting is not None and each.waiting.commit == third
                )
                world.running.clusters["eu"].faults.clear()
            await given.synced(third)

        for name in ("us", "eu"):
            assert world.images(name) == f"{V3} 2/2"
            assert owned(world, name) == THIRD


async def test_a_server_and_a_laptop_right_after_it_leave_what_the_laptop_has(
    tmp_path: Path,
) -> None:
    async with server(tmp_path, "us", "eu") as (world, store):
        quick(world)
        async with controlled(world, store=store) as given:
            await given.until_application(lambda each: each.status == "synced")
            await given.synced(released(world, V1, V2, "second"))
        released(world, V2, V3, "third")

        ended = await world.run()

        assert ended.code == 0, ended
        for name in ("us", "eu"):
            assert world.images(name) == f"{V3} 2/2"
            assert owned(world, name) == THIRD
