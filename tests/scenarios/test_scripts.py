"""Scripts in a release: once or for each cluster, and their rollback."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
import release_world
import stage_contexts
import stage_world
from volary.model import applications
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import external_stages, stage_kind
from volary.model.statuses import RunStatus, TaskStatus
from volary.stages.runtime import contexts

SCRIPT = external_stages.SCRIPT_RUN.name
FLEET, CLUSTER = stage_kind.Scope.FLEET, stage_kind.Scope.CLUSTER


def script(
    run: str, on_rollback: str = "", scope: stage_kind.Scope = FLEET, **env: str
) -> pipelines.Stage:
    options = external_stages.ScriptOptions(run, env, on_rollback, scope)
    return release_world.step(SCRIPT, options, timeout=timedelta(seconds=30))


def failing() -> pipelines.Stage:
    return script("exit 9", scope=CLUSTER)


async def test_a_script_runs_once_for_all_clusters(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with stage_world.world("us", "eu", "ap") as world:
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        run = await releases.carry_out(
            releases.planned([script(f"echo once >> {marks}; sleep 0.2")])
        )
    assert run.status is RunStatus.SUCCEEDED
    assert marks.read_text() == "once\n"
    reasons = {task.target: task.reason for task in run.stages[0].tasks}
    assert min(reasons.values()) == "the script succeeded"
    assert sum("for all clusters" in each for each in reasons.values()) == 2


async def test_also_when_clusters_go_one_after_another(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with stage_world.world("us", "eu") as world:
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        run = await releases.carry_out(
            releases.planned([script(f"echo once >> {marks}")], concurrency=1)
        )
    assert run.status is RunStatus.SUCCEEDED
    assert marks.read_text() == "once\n"


async def test_a_script_for_each_cluster_knows_which(tmp_path: Path) -> None:
    async with stage_world.world("us", "eu") as world:
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        await releases.carry_out(releases.planned([script("echo $VOLARY_CLUSTER", scope=CLUSTER)]))
        listener = releases.listener
    assert "us" in listener.lines_of("us")
    assert "eu" in listener.lines_of("eu")


async def test_a_script_sees_the_files_and_pipecd_s_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTROLLER_TOKEN", "very-secret")
    application = applications.Application(name="shop", labels={"team": "web"})
    run_text = 'cat note.txt; echo "$GREETING"; env | grep -e ^SR_ -e TOKEN'
    async with stage_world.world("us", application=application) as world:
        releases = release_world.Releases(world, {"note.txt": "a note\n"}, _made(tmp_path / "work"))
        await releases.carry_out(releases.planned([script(run_text, GREETING="hello")]))
        lines = releases.listener.lines
    assert lines[:2] == ["a note", "hello"]
    given = dict(each.split("=", 1) for each in lines if each.startswith("SR_"))
    assert given["SR_DEPLOYMENT_ID"] == stage_contexts.RUN_ID
    assert given["SR_APPLICATION_NAME"] == given["SR_APPLICATION_ID"] == "shop"
    assert given["SR_TRIGGERED_COMMIT_HASH"] == stage_world.NEW
    assert given["SR_TRIGGERED_COMMANDER"] == "ana"
    assert given["SR_REPOSITORY_URL"] == "repository"
    assert given["SR_SUMMARY"] == "all of it"
    assert given["SR_IS_ROLLBACK"] == "false"
    assert given["SR_LABELS_TEAM"] == "web"
    assert int(given["SR_TRIGGERED_AT"]) > 1_600_000_000
    whole = json.loads(given["SR_CONTEXT_RAW"])
    assert whole["deploymentID"] == stage_contexts.RUN_ID
    assert whole["labels"] == {"team": "web"}
    assert not any("very-secret" in each for each in lines)


async def test_the_way_back_runs_once_the_cluster_is_back(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    pipeline = [
        script("true", on_rollback=f"echo first $SR_IS_ROLLBACK >> {marks}"),
        script("true", on_rollback=f"echo second >> {marks}"),
        failing(),
        script("true", on_rollback=f"echo never >> {marks}"),
    ]
    async with stage_world.world("us", "eu") as world:
        await world.deployed()
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        run = await releases.carry_out(releases.planned(pipeline))
    assert run.status is RunStatus.ROLLED_BACK, run.reason
    assert marks.read_text() == "second\nfirst true\n"


async def test_a_way_back_that_fails_makes_the_rollback_a_failure(tmp_path: Path) -> None:
    pipeline = [script("true", on_rollback="exit 4"), failing()]
    async with stage_world.world("us") as world:
        await world.deployed()
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        run = await releases.carry_out(releases.planned(pipeline))
        assert world.images("us") == "shop:v1 2/2"
    assert run.status is RunStatus.FAILED
    assert run.rollback is not None
    (task,) = run.rollback.tasks
    assert "ended with status 4" in task.reason


async def test_a_script_that_fails_says_its_status(tmp_path: Path) -> None:
    async with stage_world.world("us") as world:
        await world.deployed()
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        run = await releases.carry_out(releases.planned([script("echo why; exit 3")]))
    (task,) = run.stages[0].tasks
    assert (task.status, task.reason) == (TaskStatus.FAILED, "the script ended with status 3")
    assert "why" in releases.listener.lines


async def test_a_cancel_ends_the_script_and_its_children(tmp_path: Path) -> None:
    async with stage_world.world("us") as world:
        await world.deployed()
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(
                releases.carry_out(releases.planned([script("echo $$; sleep 300 & sleep 300")]))
            )
            await releases.listener.until(lambda: releases.listener.lines)
            assert releases.runner is not None
            releases.runner.interrupt("ana")
        run = running.result()
    number = int(releases.listener.lines[0])
    assert run.status is RunStatus.CANCELLED
    assert not Path(f"/proc/{number}").exists()


async def test_a_script_that_is_late_is_ended_with_its_children(tmp_path: Path) -> None:
    async with stage_world.world("us") as world:
        await world.deployed()
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        late = replace(script("sleep 300 & echo $!; sleep 300"), timeout=timedelta(seconds=1))
        run = await releases.carry_out(releases.planned([late]))
    (task,) = run.stages[0].tasks
    assert task.status is TaskStatus.FAILED
    child = Path(f"/proc/{releases.listener.lines[0]}/stat")
    assert not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_a_run_that_was_killed_runs_its_script_again(tmp_path: Path) -> None:
    marks, ready = tmp_path / "marks", tmp_path / "ready"
    wait = f"echo begun >> {marks}; echo $$; while [ ! -f {ready} ]; do sleep 0.05; done"
    async with stage_world.world("us", "eu") as world:
        releases = release_world.Releases(world, directory=_made(tmp_path / "work"))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(releases.carry_out(releases.planned([script(wait)])))
            await releases.listener.until(lambda: releases.listener.lines)
            running.cancel()
        assert not Path(f"/proc/{releases.listener.lines[0]}").exists()
        ready.touch()
        assert releases.runner is not None
        run = await releases.carry_out(releases.runner.run)
    assert run.status is RunStatus.SUCCEEDED
    assert marks.read_text() == "begun\nbegun\n"


async def test_secrets_in_its_output_are_masked(tmp_path: Path) -> None:
    secret = """\
apiVersion: v1
kind: Secret
metadata: {name: billing}
stringData: {password: correct-horse-battery}
"""
    async with command_world.world(tmp_path, "us", example="scripts") as world:
        world.write({"secret.yaml": secret}, message="Add a Secret")
        await world.deployed()
        world.edit("manifests.yaml", "billing:v1", "billing:v2", message="Release v2")
        shown = 'echo "the password is correct-horse-battery"; cat secret.yaml'
        world.edit("migrate.sh", "set -eu", f"set -eu; {shown}", message="Show it")
        ended = await world.run("--output", "json")
    assert ended.code == 0, ended
    assert "the password is *****" in ended.out
    assert "correct-horse" not in ended.out + ended.err


async def test_scripts_can_be_denied(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    async with stage_world.world("us") as world:
        await world.deployed()
        denied = contexts.Permissions(scripts=False)
        releases = release_world.Releases(
            world, directory=_made(tmp_path / "work"), permissions=denied
        )
        run = await releases.carry_out(releases.planned([script(f"echo ran >> {marks}")]))
    (task,) = run.stages[0].tasks
    assert task.status is TaskStatus.FAILED
    assert "scripts: deny" in task.reason
    assert not marks.exists()


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory
