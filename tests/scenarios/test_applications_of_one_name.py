"""Applications of one name live side by side, and one is known again wherever it comes from."""

import dataclasses
import shutil
from pathlib import Path

import pygit2

import command_world

_EXTRA = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata: {}\n"


def in_namespace(
    world: command_world.World, directory: Path, namespace: str
) -> command_world.World:
    """Return a second repository of the same example, for a namespace of its own."""
    shutil.copytree(world.directory, directory, ignore=shutil.ignore_patterns(".git"))
    other = dataclasses.replace(world, directory=directory)
    other.edit(
        "app.pipecd.yaml",
        "    kubernetes_multicluster:\n",
        "    kubernetes_multicluster:\n"
        "      quickSync:\n        prune: true\n"
        f"      input:\n        namespace: {namespace}\n        autoCreateNamespace: true\n",
    )
    other.write({"extra.yaml": _EXTRA}, message=f"Deploy into {namespace}")
    return other


def clone(world: command_world.World, home: Path) -> command_world.World:
    """Return the same repository on another machine, which remembers nothing."""
    home.mkdir()
    (home / "tmp").mkdir()
    directory = home / "checkout"
    pygit2.clone_repository(str(world.directory), str(directory))
    return command_world.World(directory, command_world.environment(home), world.running)


async def test_a_prune_of_one_leaves_the_other_of_its_name(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as base:
        mine = in_namespace(base, tmp_path / "mine", "mine")
        theirs = in_namespace(base, tmp_path / "theirs", "theirs")
        await mine.deployed()
        await theirs.deployed()
        (mine.directory / "extra.yaml").unlink()
        mine.write({}, message="extra goes")

        ended = await mine.run("--strategy", "quick")

        assert ended.code == 0, ended
        assert mine.find("us", "ConfigMap", "extra", "mine") is None
        for kind, name in (("ConfigMap", "extra"), ("Deployment", "simple"), ("Service", "simple")):
            assert theirs.find("us", kind, name, "theirs") is not None, (kind, name)
        ids = {
            world.find("us", "Deployment", "simple", namespace)["metadata"]["labels"][
                "volary.dev/application-id"
            ]
            for world, namespace in ((mine, "mine"), (theirs, "theirs"))
        }
        assert len(ids) == 2


async def test_the_end_of_a_pipeline_leaves_the_canary_of_the_other(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us") as base:
        mine = in_namespace(base, tmp_path / "mine", "mine")
        theirs = in_namespace(base, tmp_path / "theirs", "theirs")
        await mine.deployed()
        await theirs.deployed()
        file = theirs.directory / "app.pipecd.yaml"
        waits = (
            "      - name: WAIT\n        with:\n          duration: 1h\n"
            "      - name: K8S_PRIMARY_ROLLOUT"
        )
        file.write_text(file.read_text().replace("      - name: K8S_PRIMARY_ROLLOUT", waits, 1))
        theirs.edit("deployment.yaml", "simple:v1", "simple:v2")
        mine.edit("deployment.yaml", "simple:v1", "simple:v3")
        words = ("run", ".", "--fleet", theirs.fleet, "--strategy", "pipeline")
        async with theirs.start(*words) as waiting:
            await waiting.until(r"us WAIT: waiting for 1h")
            assert theirs.find("us", "Deployment", "simple-canary", "theirs") is not None

            ended = await mine.run("--strategy", "pipeline")

            assert ended.code == 0, ended
            assert mine.find("us", "Deployment", "simple-canary", "mine") is None
            assert theirs.find("us", "Deployment", "simple-canary", "theirs") is not None


async def test_another_machine_knows_the_application_and_what_runs(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", "eu") as first:
        await first.deployed()
        before = await first.settled()
        second = clone(first, tmp_path / "second")

        ended = await second.volary("plan", ".", "--fleet", second.fleet)

        assert ended.code == 0, ended
        assert "us, eu run it" in ended.out + ended.err, ended
        assert await first.settled() == before
        second.edit("deployment.yaml", "simple:v1", "simple:v2")
        assert (await second.run("--strategy", "quick")).code == 0
        inventories = [
            name
            for name in await first.settled()
            if "ConfigMap" in name and "volary-inventory" in name
        ]
        assert len(inventories) == 2, inventories


async def test_stale_memory_loses_to_what_clusters_say(tmp_path: Path) -> None:
    """What is compared with, and gone back to, is what the clusters run."""
    async with command_world.world(tmp_path, "us", "eu") as first:
        await first.deployed()
        second = clone(first, tmp_path / "second")
        second.edit("deployment.yaml", "simple:v1", "simple:v3")
        assert (await second.run("--strategy", "quick")).code == 0
        git = pygit2.Repository(str(first.directory))
        git.remotes.create("second", str(second.directory))
        git.remotes["second"].fetch()
        git.reset(git.references["refs/remotes/second/main"].target, pygit2.enums.ResetMode.HARD)
        third = str(git.head.target)[:7]
        first.edit("deployment.yaml", "example/simple:v3", "example/simple:v4")

        planned = await first.volary("plan", ".", "--fleet", first.fleet)

        assert planned.code == 4, planned
        assert f"running {third}: us, eu run it" in " ".join(planned.out.split()), planned
