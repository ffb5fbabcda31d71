"""Applications of one name live side by side, and one is known again wherever it comes from."""

import dataclasses
import re
from pathlib import Path

import pygit2

from cluster_access import PIPELINE, Application, Clusters, config_map


def clone(application: Application, home: Path) -> Application:
    """Return the same repository on another machine, which remembers nothing."""
    home.mkdir()
    root = application.directory
    directory = home / "checkout"
    pygit2.clone_repository(str(root), str(directory))
    environment = {**application.environment, "XDG_STATE_HOME": str(home / "state")}
    return dataclasses.replace(application, directory=directory, environment=environment)


async def two(clusters: Clusters, *, text: str = "") -> tuple[Application, Application]:
    """Return applications of one name in two namespaces, both deployed."""
    mine = await clusters.application(await clusters.namespace(), text=text)
    theirs = await clusters.application(await clusters.namespace(), name=mine.name, text=text)
    for application in (mine, theirs):
        application.write({"extra.yaml": config_map("extra")}, message="Extra")
        await application.deployed()
    return mine, theirs


async def test_a_prune_of_one_leaves_the_other_of_its_name(clusters: Clusters) -> None:
    mine, theirs = await two(clusters)
    before = await clusters.written(theirs.namespace)
    (mine.directory / "extra.yaml").unlink()
    mine.write({}, message="extra goes")

    ended = await mine.run("--strategy", "quick")

    assert ended.code == 0, ended
    assert await mine.find(clusters.first, "configmap", "extra") is None
    assert await clusters.written(theirs.namespace) == before
    ids = set()
    for application in (mine, theirs):
        body = await application.find(clusters.first, "deployment", "web")
        ids.add(body["metadata"]["labels"]["volary.dev/application-id"])
    assert len(ids) == 2


async def test_the_end_of_a_pipeline_leaves_the_canary_of_the_other(clusters: Clusters) -> None:
    old, new = clusters.images
    mine, theirs = await two(clusters, text=PIPELINE)
    waits = "    - {name: WAIT, with: {duration: 1h}}\n    - {name: K8S_PRIMARY_ROLLOUT"
    theirs.edit("volary.yaml", "    - {name: K8S_PRIMARY_ROLLOUT", waits)
    theirs.edit("web.yaml", old, new)
    mine.edit("web.yaml", old, new)
    contexts = ",".join(clusters.contexts)
    words = ("run", ".", "--contexts", contexts, "--strategy", "pipeline")
    async with theirs.start(*words) as waiting:
        await waiting.until(rf"{re.escape(clusters.first)} WAIT: waiting for 1h")

        ended = await mine.run("--strategy", "pipeline")

        assert ended.code == 0, ended
        assert await mine.find(clusters.first, "deployment", "web-canary") is None
        assert await theirs.find(clusters.first, "deployment", "web-canary") is not None


async def test_a_second_one_in_the_same_namespace_is_refused(clusters: Clusters) -> None:
    """Its objects have the names of the first one's."""
    mine = await clusters.application(await clusters.namespace())
    await mine.deployed()
    second = await clusters.application(mine.namespace, name=mine.name)
    before = await clusters.written(mine.namespace)

    for command, code in (("plan", 1), ("run", 2)):
        ended = await second.volary_on_all(command)

        assert ended.code == code, ended
        assert f"Volary's application {mine.name} (" in " ".join((ended.out + ended.err).split())
    assert await clusters.written(mine.namespace) == before


async def test_another_machine_knows_the_application_and_what_runs(
    clusters: Clusters, tmp_path: Path
) -> None:
    first = await clusters.application(await clusters.namespace())
    await first.deployed()
    before = await clusters.written(first.namespace)
    second = clone(first, tmp_path / "second")

    ended = await second.plan()

    assert ended.code == 0, ended
    verb = "runs" if len(clusters.contexts) == 1 else "run"
    said = " ".join((ended.out + ended.err).split())
    assert f"{', '.join(clusters.contexts)} {verb} it" in said, ended
    assert await clusters.written(first.namespace) == before
    second.edit("web.yaml", *clusters.images)
    assert (await second.run("--strategy", "quick")).code == 0
    for context in clusters.contexts:
        names = await clusters.names(context, "configmaps", first.namespace)
        assert len([name for name in names if name.startswith("volary-inventory")]) == 1


async def test_stale_memory_loses_to_what_clusters_say(clusters: Clusters, tmp_path: Path) -> None:
    """What is compared with, and gone back to, is what the clusters run."""
    old, new = clusters.images
    first = await clusters.application(await clusters.namespace())
    await first.deployed()
    second = clone(first, tmp_path / "second")
    second.edit("web.yaml", old, new)
    assert (await second.run("--strategy", "quick")).code == 0
    git = pygit2.Repository(str(first.directory))
    git.remotes.create("second", str(second.directory))
    git.remotes["second"].fetch()
    git.reset(git.references["refs/remotes/second/main"].target, pygit2.enums.ResetMode.HARD)
    there = str(git.head.target)[:7]
    first.edit("web.yaml", new, clusters.bad_image)

    planned = await first.plan()

    assert planned.code == 4, planned
    assert f"running {there}: " in " ".join(planned.out.split()), planned
    failed = await first.run("--strategy", "quick")
    assert failed.code == 1, failed
    assert await first.images() == dict.fromkeys(clusters.contexts, f"{new} 2/2")
