"""Trying a run on every cluster before the first write."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import command_world
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import kubeconfig, users
from kube_sandbox.apiserver.storage import verbs
from volary.clusters.client import client_pool
from volary.controller import system_clock
from volary.controller.planning import opened_applications, preflight, preparation
from volary.model import errors
from volary.model.fleet import fleets
from volary.model.runs import run_plans

SHORT, LONG = timedelta(seconds=3), timedelta(seconds=5)


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    async with command_world.world(tmp_path, "us", "eu") as found:
        yield found


async def look(
    given: command_world.World,
    *,
    strategy: run_plans.Strategy | None = None,
    only: tuple[str, ...] = (),
    running: str = "none",
    patience: timedelta = SHORT,
    told: Callable[[str], None] = lambda _: None,
) -> tuple[preflight.Trial, ...]:
    wish = preparation.RunOptions(
        str(given.directory), running=running, strategy=strategy, patience=patience
    )
    members = opened_applications.load_fleet(given.fleet)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        opened = await opened_applications.open_application(wish.path)
        prepared = await preparation.prepare(wish, clusters, opened, told=told)
        if only:
            stages = tuple(replace(stage, targets=only) for stage in prepared.plan.stages)
            prepared = replace(prepared, plan=replace(prepared.plan, stages=stages))
        return await preflight.try_run(prepared, clusters, patience=patience, told=told)


async def test_each_cluster_says_what_it_would_do(given: command_world.World) -> None:
    trials = await look(given)

    assert [each.target for each in trials] == ["us", "eu"]
    assert {each.changes.summary for each in trials} == {"3 created"}
    assert preflight.problems(trials) == ()


async def test_a_cluster_that_hangs_costs_its_patience_once_and_is_named(
    given: command_world.World,
) -> None:
    """Whatever is asked in the whole preparation."""
    given.running.clusters["eu"].faults.change({"lost": "hang"})
    told: list[str] = []
    begin = asyncio.get_running_loop().time()

    trials = await look(given, running="", patience=LONG, told=told.append)

    spent = asyncio.get_running_loop().time() - begin
    assert preflight.silent(trials) == {"eu": "cluster eu: no answer within 5 s"}
    assert trials[0].changes.summary == "3 created"
    assert told == ["waiting for eu to answer"]
    assert 5 <= spent < 9


async def test_one_that_hangs_only_when_it_is_to_try_something_is_not_waited_for_either(
    given: command_world.World,
) -> None:
    members = opened_applications.load_fleet(given.fleet)
    async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
        opened = await opened_applications.open_application(str(given.directory))
        wish = preparation.RunOptions(str(given.directory))
        prepared = await preparation.prepare(wish, clusters, opened)
        given.running.clusters["eu"].faults.change({"lost": "hang"})
        begin = asyncio.get_running_loop().time()
        trials = await preflight.try_run(prepared, clusters, patience=SHORT)

    assert prepared.silent == {}
    assert preflight.silent(trials) == {"eu": "cluster eu: no answer within 3 s"}
    assert asyncio.get_running_loop().time() - begin < 6


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
    members = opened_applications.load_fleet(given.fleet)
    (tmp_path / "broken").write_text("{no yaml")
    broken = replace(members.clusters[1], kubeconfig=(str(tmp_path / "broken"),))
    fleet = replace(members, clusters=(members.clusters[0], broken))
    async with client_pool.open_pool(fleet, clock=system_clock.SystemClock()) as clusters:
        opened = await opened_applications.open_application(str(given.directory))
        wish = preparation.RunOptions(str(given.directory), running="none")
        prepared = await preparation.prepare(wish, clusters, opened)
        trials = await preflight.try_run(prepared, clusters, patience=SHORT)

    problems = preflight.problems(trials)
    assert [problem.message.count("cluster eu") for problem in problems] == [1]
    assert preflight.silent(trials) == {}


async def test_what_the_api_server_warns_of_is_in_the_plan_once(
    given: command_world.World,
) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "deprecated": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    for cluster in given.running.clusters.values():
        kind = cluster.registry.kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        cluster.registry.create(kind, "", definition)
    head = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: "
    given.write({"gear.yaml": f"{head}gear\n", "lever.yaml": f"{head}lever\n"}, message="Widgets")

    trials = await look(given)

    said = "the API server says: example.com/v1 Widget is deprecated"
    assert [trial.warnings for trial in trials] == [(said,), (said,)]
    shown = await given.run("--running", "none", "--dry-run")
    assert shown.code == 0, shown
    assert shown.out.count(f"  warning: {said}") == 2


RBAC = "rbac.authorization.k8s.io"
LIMITED = users.Account("limited", verbs.User("limited", (users.AUTHENTICATED,)))


async def lacking(
    given: command_world.World, path: Path, *rules: tuple[str, str, str]
) -> tuple[errors.Problem, ...]:
    """Return what keeps a pipeline from beginning, for a user with these permissions only."""
    registry = given.running.clusters["us"].registry
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "limited", "namespace": "default"},
        "rules": [
            {"apiGroups": [group], "resources": [resources], "verbs": allowed.split()}
            for group, resources, allowed in rules
        ],
    }
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "limited", "namespace": "default"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "limited"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "limited"}],
    }
    for body in (role, binding):
        registry.create(registry.kind(f"{RBAC}/v1", str(body["kind"])), "default", body)
    served = await server.start(registry, server.Settings("us", users=(LIMITED,), tls=False))
    try:
        kubeconfig.write(
            path, kubeconfig.build("us", url=served.url, token="limited", authority="")
        )
        members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(path),)),))
        wish = preparation.RunOptions(
            str(given.directory), running="none", strategy=run_plans.Strategy.PIPELINE
        )
        async with client_pool.open_pool(members, clock=system_clock.SystemClock()) as clusters:
            opened = await opened_applications.open_application(wish.path)
            stages = tuple(
                stage for stage in opened.application.pipeline if "BASELINE" not in stage.name
            )
            opened = replace(opened, application=replace(opened.application, pipeline=stages))
            prepared = await preparation.prepare(wish, clusters, opened)
            return preflight.problems(await preflight.try_run(prepared, clusters, patience=SHORT))
    finally:
        await served.stop()


WRITES = "get list create patch"


async def test_a_watch_and_the_delete_of_copies_are_asked_for_before_the_first_write(
    given: command_world.World, tmp_path: Path
) -> None:
    problems = await lacking(given, tmp_path / "limited", ("*", "*", WRITES))

    assert {problem.message for problem in problems} == {
        "cluster us: the user may not watch deployments.apps in namespace default",
        "cluster us: the user may not delete deployments.apps in namespace default",
        "cluster us: the user may not delete configmaps in namespace default",
    }
    assert {problem.hint for problem in problems} == {
        "give the user this permission by a Role and a RoleBinding"
    }


async def test_who_may_do_all_that_a_run_does_is_not_refused(
    given: command_world.World, tmp_path: Path
) -> None:
    rules = (
        ("apps", "deployments", f"{WRITES} watch delete"),
        ("", "configmaps", f"{WRITES} delete"),
        ("", "services", WRITES),
    )

    assert await lacking(given, tmp_path / "limited", *rules) == ()


MEASURED = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  pipeline:
    stages:
    - {name: K8S_CANARY_ROLLOUT}
    - name: ANALYSIS
      with:
        duration: 5m
        metrics:
        - name: smoke-test
          interval: 1m
          job: {spec: {template: {spec: {containers: [{name: check, image: "check:v1"}]}}}}
    - {name: K8S_PRIMARY_ROLLOUT}
    - {name: K8S_CANARY_CLEAN}
"""


async def test_who_measures_by_a_job_has_to_be_allowed_to_run_it(
    given: command_world.World, tmp_path: Path
) -> None:
    (given.directory / "app.pipecd.yaml").unlink()
    given.write({"volary.yaml": MEASURED}, message="Measure")
    rules = (
        ("apps", "deployments", f"{WRITES} watch delete"),
        ("", "configmaps", f"{WRITES} delete"),
        ("", "services", WRITES),
    )
    problems = await lacking(given, tmp_path / "limited", *rules)

    assert {problem.message for problem in problems} == {
        *(
            f"cluster us: the user may not {verb} jobs.batch in namespace default"
            for verb in ("create", "list", "watch", "delete")
        ),
        "cluster us: the user may not list pods in namespace default",
    }


async def test_only_who_adopts_needs_to_keep_objects_in_secrets(
    given: command_world.World, tmp_path: Path
) -> None:
    """And is told so before anything is written."""
    registry = given.running.clusters["us"].registry
    kind = registry.kind("v1", "ConfigMap")
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "simple"}}
    registry.create(kind, "default", settings)
    rules = (
        ("apps", "deployments", f"{WRITES} watch delete"),
        ("", "configmaps", f"{WRITES} delete"),
        ("", "services", WRITES),
        ("", "secrets", "list"),
    )

    problems = await lacking(given, tmp_path / "limited", *rules)

    assert [problem.message for problem in problems] == [
        f"cluster us: the user may not {verb} secrets in namespace default"
        for verb in ("create", "patch", "delete")
    ]
