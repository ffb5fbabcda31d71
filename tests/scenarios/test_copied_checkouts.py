"""A checkout without a remote is copied to begin a second application with it."""

import asyncio
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import command_world
import kubectl
import process_time

PRUNED = "    kubernetes_multicluster:\n      quickSync: {prune: true}\n"
NAMES = ("us", "eu")
ID = "volary.dev/application-id"
SETTINGS = """\
apiVersion: volary.dev/v1
kind: Controller
fleet: {fleet}
listen: 127.0.0.1:0
dataDirectory: {base}/data
authentication: none
repositories:
- {{name: first, url: {first}, interval: 1s}}
- {{name: copy, url: {copy}, interval: 1s}}
"""


async def first(world: command_world.World) -> None:
    """Given: an application without a pipeline, that prunes, runs."""
    text = (world.directory / "app.pipecd.yaml").read_text()
    text = text[: text.index("  pipeline:")].replace("    kubernetes_multicluster:\n", PRUNED)
    world.write({"app.pipecd.yaml": text}, message="No pipeline")
    await world.deployed()


def copied(world: command_world.World, base: Path, *renamed: str) -> command_world.Repository:
    """``cp -r``, and other names for the objects of some files."""
    directory = base / "copy"
    shutil.copytree(world.directory, directory)
    copy = command_world.Repository(directory, world.environment)
    for name in renamed:
        text = (directory / name).read_text()
        copy.write({name: text.replace("name: simple", "name: front")})
    return copy


async def test_a_copy_of_the_same_name_deletes_nothing_of_the_first(tmp_path: Path) -> None:
    """It looks like the next commit of the first; what it would delete is asked about."""
    async with command_world.world(tmp_path, *NAMES) as world:
        await first(world)
        renamed = ("config.yaml", "deployment.yaml", "service.yaml", "app.pipecd.yaml")
        copy = copied(world, tmp_path, *renamed)
        copy.edit("app.pipecd.yaml", "name: front", "name: simple", message="Another application")
        before = await world.settled()

        planned = await copy.volary("plan", ".", "--fleet", world.fleet)
        ended = await copy.volary("run", ".", "--fleet", world.fleet)

        for refused in (planned, ended):
            said = " ".join(refused.err.split())
            assert refused.code == 2, refused
            assert "simple was released to us and eu last from another checkout" in said
            assert "this commit would delete ConfigMap simple, Deployment simple" in said
            assert "give it another name" in said
        assert await world.settled() == before

        copy.edit("app.pipecd.yaml", "  name: simple", "  name: front", message="Its own name")
        ended = await copy.volary("run", ".", "--fleet", world.fleet)

        assert ended.code == 0, ended
        for name in NAMES:
            assert world.find(name, "Deployment", "front") is not None
            assert world.images(name) == "example/simple:v1 2/2"
        again = await world.run()
        assert (again.code, "another checkout" in again.err) == (0, False), again


async def test_a_copy_that_changes_the_first_s_objects_says_so(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, *NAMES) as world:
        await first(world)
        copy = copied(world, tmp_path)
        commit = copy.edit("deployment.yaml", "simple:v1", "simple:v2")

        planned = await copy.volary("plan", ".", "--fleet", world.fleet)
        ended = await copy.volary("run", ".", "--fleet", world.fleet)

        said = "simple was released to us and eu last from another checkout"
        assert (planned.code, ended.code) == (4, 0), (planned, ended)
        for told in (planned, ended):
            assert said in " ".join(told.err.split()), told
        world.edit("deployment.yaml", "simple:v1", "simple:v3")
        behind = await world.run()
        assert behind.code == 2, behind
        assert f"the clusters run commit {commit[:12]}, which this repository" in behind.err
        assert "give one of the two another name" in " ".join(behind.err.split())
        # Nobody else comes along: it is the same application from there on.
        copy.edit("deployment.yaml", "simple:v2", "simple:v4")
        again = await copy.volary("run", ".", "--fleet", world.fleet)
        assert (again.code, said in " ".join(again.err.split())) == (0, False), again


@kubectl.needed
async def test_a_checkout_that_was_moved_says_once_that_it_is_the_same(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", tls=True) as world:
        await first(world)
        moved = copied(world, tmp_path)
        (moved.directory / "service.yaml").unlink()
        moved.write({}, message="No Service")
        refused = await moved.volary("run", ".", "--fleet", world.fleet)
        assert refused.code == 2, refused
        said = " ".join(refused.err.split())
        command = shlex.split(said.partition("clusters with `")[2].partition("`")[0])
        await kubectl.run(world.running.clusters["us"], *command[1:])

        ended = await moved.volary("run", ".", "--fleet", world.fleet)

        assert ended.code == 0, ended
        assert world.find("us", "Service", "simple") is None
        assert "another checkout" not in ended.err


async def test_a_server_that_begins_with_both_keeps_them_apart(tmp_path: Path) -> None:
    """At once, no cluster knows either, and both run; one after the other, the second is asked.

    Neither deletes what the other has.
    """
    async with command_world.world(tmp_path, *NAMES) as world:
        text = (world.directory / "app.pipecd.yaml").read_text()
        text = text[: text.index("  pipeline:")].replace("    kubernetes_multicluster:\n", PRUNED)
        world.write({"app.pipecd.yaml": text}, message="No pipeline")
        copy = copied(world, tmp_path, "config.yaml", "deployment.yaml", "service.yaml")
        copy.write({}, message="Another application")
        (tmp_path / "data").mkdir(mode=0o700)
        places = {"first": world.directory, "copy": copy.directory}
        file = tmp_path / "volary-server.yaml"
        file.write_text(SETTINGS.format(fleet=world.fleet, base=tmp_path, **places))
        async with world.start("server", "--config", str(file)) as server:
            await server.until("listening on http")
            address = re.search(r"http://127\.0\.0\.1:\d+", server.said)
            assert address
            listed = await both(world, address.group())

        objects = {"first": "simple", "copy": "front"}
        ids = []
        for application in listed:
            if application["status"] == "failed":
                assert "from another checkout" in application["reason"]
                continue
            title = objects[application["repository"]]
            for name in NAMES:
                assert world.images(name, title) == "example/simple:v1 2/2"
            ids.append(world.find("us", "Deployment", title)["metadata"]["labels"][ID])
        assert ids
        assert len(ids) == len(set(ids))


async def both(world: command_world.World, server: str) -> list[dict[str, Any]]:
    """Wait until a server has ended with two applications."""
    async with asyncio.timeout(process_time.HANG):
        while True:
            answer = await world.volary("get", "apps", "-o", "json", VOLARY_SERVER=server)
            listed: list[dict[str, Any]] = json.loads(answer.out)
            if [one["status"] in ("synced", "failed") for one in listed] == [True, True]:
                return listed
            await asyncio.sleep(0.1)
