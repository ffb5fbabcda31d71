"""Trying a run on every cluster before the first write."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
from volary.clusters.client import client_pool
from volary.controller import inputs
from volary.controller.planning import preflight, preparation, projects
from volary.model.runs import run_plans

SHORT = timedelta(seconds=3)


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    async with command_world.world(tmp_path, "us", "eu") as found:
        yield found


async def look(
    given: command_world.World,
    *,
    strategy: run_plans.Strategy | None = None,
    only: tuple[str, ...] = (),
) -> tuple[preflight.Trial, ...]:
    wish = preparation.RunOptions(str(given.directory), running="none", strategy=strategy)
    members = projects.load_fleet(given.fleet)
    async with client_pool.open_pool(members, clock=inputs.SystemClock()) as clusters:
        project = await projects.open_project(wish.path)
        prepared = await preparation.prepare(wish, clusters, project)
        if only:
            stages = tuple(replace(stage, targets=only) for stage in prepared.plan.stages)
            prepared = replace(prepared, plan=replace(prepared.plan, stages=stages))
        return await preflight.try_run(prepared, clusters, patience=SHORT)


async def test_each_cluster_says_what_it_would_do(given: command_world.World) -> None:
    trials = await look(given)

    assert [each.target for each in trials] == ["us", "eu"]
    assert {each.changes.summary for each in trials} == {"3 created"}
    assert preflight.problems(trials) == ()


async def test_a_cluster_that_hangs_is_not_waited_for(given: command_world.World) -> None:
    given.running.clusters["eu"].faults.change({"lost": "hang"})

    trials = await look(given)

    assert preflight.silent(trials) == {"eu": "cluster eu did not answer within 3 s"}
    assert trials[0].changes.summary == "3 created"


async def test_stages_that_cannot_be_made_are_all_named(given: command_world.World) -> None:
    """A baseline needs something that runs; a canary needs its workload."""
    given.edit("app.pipecd.yaml", "name: simple\n  pipe", "name: other\n  pipe", message="Typo")

    trials = await look(given, strategy=run_plans.Strategy.PIPELINE)

    said = " / ".join(each.message for each in preflight.problems(trials))
    assert "us has no running version to make a baseline of" in said
    assert "eu has no running version to make a baseline of" in said
    assert said.count("workload manifests for CANARY") == 1, (
        "what all clusters have in common is said once"
    )


async def test_a_stage_is_tried_only_where_it_goes(given: command_world.World) -> None:
    trials = await look(given, only=("us",))

    assert [each.changes.summary for each in trials] == ["3 created", "nothing to do"]


async def test_what_is_wrong_with_a_connection_is_said_of_its_cluster_once(
    given: command_world.World, tmp_path: Path
) -> None:
    members = projects.load_fleet(given.fleet)
    (tmp_path / "broken").write_text("{no yaml")
    broken = replace(members.clusters[1], kubeconfig=(str(tmp_path / "broken"),))
    fleet = replace(members, clusters=(members.clusters[0], broken))
    async with client_pool.open_pool(fleet, clock=inputs.SystemClock()) as clusters:
        project = await projects.open_project(str(given.directory))
        wish = preparation.RunOptions(str(given.directory), running="none")
        prepared = await preparation.prepare(wish, clusters, project)
        trials = await preflight.try_run(prepared, clusters, patience=SHORT)

    problems = preflight.problems(trials)
    assert [problem.message.count("cluster eu") for problem in problems] == [1]
    assert preflight.silent(trials) == {}
