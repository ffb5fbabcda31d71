"""What a project does not permit: refused when a run is planned, and again by each of its tasks."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import command_world
import git_feed
import reconciler_fixtures
import stage_world
from kube_sandbox.crds import definitions as crd_definitions
from stage_world import NEW, OLD, config, deployment, made, service
from volary.clusters.client import client_pool
from volary.controller.planning import opened_applications
from volary.controller.runs import backfills, moves, ready_runs, release_plans, run_kinds
from volary.controller.status import application_state, application_statuses, run_requests
from volary.manifests import redaction
from volary.model import errors, projects
from volary.model.pipeline.stage_kinds import added_stages, external_stages, rollout_stages
from volary.model.placement import rollouts
from volary.placement.failover import move_plans
from volary.store import factory, records
from volary.tenancy import membership

ALL = projects.KindPattern("*", "*")
TEAM = projects.Project(
    "team-b", destinations=(projects.Destination(namespaces=("default", "shop")),)
)
BIND = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everything, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""
MAY_NOT_BIND = "project team-b may not deploy ClusterRoleBinding (rbac.authorization.k8s.io)"
HINT = "let who keeps the file of project team-b permit it"


@dataclass
class Planner:
    """Plans runs as the server does, for an application of a project."""

    world: command_world.World
    dependencies: ready_runs.Dependencies
    #: Those that there are now.
    known: dict[str, projects.Project] = field(default_factory=lambda: {"team-b": TEAM})
    project: str = "team-b"
    path: str = "app.pipecd.yaml"

    @property
    def state(self) -> application_state.ApplicationState:
        """The application as it is kept."""
        record = records.ApplicationRecord("simple", git_feed.NAME, self.path, project=self.project)
        return application_state.ApplicationState(record, application_statuses.ApplicationStatus())

    def request(self, kind: run_requests.KindName, **more: Any) -> run_requests.RunRequest:
        found = reconciler_fixtures.request(commit="main", kind=kind)
        return replace(found, **more)

    async def plan(self, kind: run_requests.KindName = run_requests.KindName.RELEASE) -> None:
        """Plan a run, as far as it would begin."""
        prepared = await release_plans.plan(self.dependencies, self.state, self.request(kind))
        await release_plans.run_preflight(self.dependencies, prepared, lambda _: None)

    async def refused(
        self, files: dict[str, str] | None = None, **changes: Any
    ) -> tuple[errors.Problem, ...]:
        """Commit files, plan, and return why not; nothing in any cluster has changed by that."""
        self.world.write(files or {}, message="Change it")
        self.known["team-b"] = replace(self.known["team-b"], **changes)
        before = await self.world.settled()
        with pytest.raises(errors.UserError) as refusal:
            await self.plan()
        assert await self.world.settled() == before
        return refusal.value.problems

    async def sentences(self, files: dict[str, str] | None = None, **changes: Any) -> list[str]:
        return [problem.message for problem in await self.refused(files, **changes)]


@contextlib.asynccontextmanager
async def planning(path: Path, *names: str, **settings: Any) -> AsyncIterator[Planner]:
    async with command_world.world(path, *(names or ("us",)), **settings) as world:
        members = opened_applications.load_fleet(world.fleet)
        clock = reconciler_fixtures.Clock()
        async with client_pool.open_pool(members, clock=clock) as clusters:
            dependencies = ready_runs.Dependencies(git_feed.Feed(world.directory), clusters, clock)
            made = Planner(world, dependencies)
            dependencies.projects = lambda: membership.Projects(made.known)
            yield made


async def test_what_is_permitted_is_planned(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        await given.plan()


async def test_everything_that_is_not_permitted_is_said_at_once(tmp_path: Path) -> None:
    """Also what is nested in lists, and where overrides move it."""
    nested = f"""\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: List
  items:
  - {BIND.replace(chr(10), chr(10) + "    ").strip()}
- apiVersion: v1
  kind: ConfigMap
  metadata: {{name: coredns, namespace: kube-system}}
  data: {{Corefile: ours}}
"""
    async with planning(tmp_path, "us", "eu") as given:
        found = await given.refused(
            {"rbac/bind.yaml": BIND, "nested.yaml": nested.replace("everything", "anything")},
            stages=("K8S_SYNC",),
        )

    messages = [problem.message for problem in found]
    assert "project team-b may not have the stage K8S_CANARY_ROLLOUT: stage 1" in messages
    assert f"{MAY_NOT_BIND}: nested.yaml" in messages
    assert {
        "project team-b may not deploy to namespace kube-system of us: nested.yaml",
        "project team-b may not deploy to namespace kube-system of eu: nested.yaml",
    } <= set(messages)
    assert all(problem.hint.endswith(HINT) for problem in found)


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


async def test_a_job_that_measures_has_to_be_permitted(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        (given.world.directory / "app.pipecd.yaml").unlink()
        given.path = "volary.yaml"
        kinds = projects.Kinds(denied=(projects.KindPattern("batch", "*"),))
        said = await given.sentences({"volary.yaml": MEASURED}, kinds=kinds)
        given.known["team-b"] = TEAM
        await given.plan()

    assert said == ["project team-b may not deploy Job (batch): the metric smoke-test"]


async def test_clusters_that_a_project_does_not_see_are_counted_and_asked_nothing(
    tmp_path: Path,
) -> None:
    only_us = (projects.Destination(rollouts.ClusterSelector(("us",)), ("default",)),)
    async with planning(tmp_path, "us", "secret-site") as given:
        given.world.running.clusters["secret-site"].faults.change({"lost": "hang"})
        messages = await given.sentences(destinations=only_us)

        assert messages == [
            "project team-b may not deploy to 1 cluster of 2 that the application's targets choose"
        ]


async def test_overrides_that_move_an_object_are_seen(tmp_path: Path) -> None:
    file = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: simple}
spec:
  placement:
    overrides:
    - targets: {names: [us]}
      resources: [{kind: ConfigMap}]
      patches: [{path: /metadata/namespace, operator: add, value: kube-system}]
"""
    async with planning(tmp_path) as given:
        (given.world.directory / "app.pipecd.yaml").unlink()
        given.path = "volary.yaml"

        assert await given.sentences({"volary.yaml": file}) == [
            "project team-b may not deploy to namespace kube-system of us: config.yaml"
        ]


async def test_a_manifest_behind_a_link_counts_as_any_other(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        given.world.write({"elsewhere/bind.yaml": BIND})
        (given.world.directory / "linked.yaml").symlink_to("elsewhere/bind.yaml")

        (message,) = await given.sentences()

        assert message.startswith(f"{MAY_NOT_BIND}: ")


async def test_a_route_of_another_namespace_is_refused(tmp_path: Path) -> None:
    route = """\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: team-a}
spec: {hosts: [web], http: [{route: [{destination: {host: web}}]}]}
"""
    async with planning(tmp_path, istio=True) as given:
        assert await given.sentences({"route.yaml": route}) == [
            "project team-b may not deploy to namespace team-a of us: route.yaml"
        ]


async def test_a_namespace_that_would_be_made_has_to_be_permitted(tmp_path: Path) -> None:
    old = "  plugins:\n    kubernetes_multicluster:\n"
    making = old + "      input: {namespace: shop, autoCreateNamespace: true}\n"
    async with planning(tmp_path) as given:
        given.world.edit("app.pipecd.yaml", old, making)

        assert await given.sentences() == [
            "project team-b may not deploy Namespace: Namespace shop"
        ]
        namespaces = projects.Kinds(cluster_scoped=(projects.KindPattern(kind="Namespace"),))
        given.known["team-b"] = replace(TEAM, kinds=namespaces)
        await given.plan()


async def test_a_custom_kind_is_what_the_cluster_says_it_is(tmp_path: Path) -> None:
    definition = crd_definitions.istio()[0]
    spec = {**definition["spec"], "scope": "Cluster"}
    kind, group = spec["names"]["kind"], spec["group"]
    item = f"apiVersion: {group}/{spec['versions'][0]['name']}\nkind: {kind}\n"
    item += "metadata: {name: ours, namespace: default}\nspec: {}\n"
    async with planning(tmp_path, definitions=[{**definition, "spec": spec}]) as given:
        assert await given.sentences({"custom.yaml": item}) == [
            f"project team-b may not deploy {kind} ({group}): custom.yaml"
        ]


async def test_too_much_is_refused(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        few = projects.ProjectLimits(objects=2, rendered_bytes=100)
        messages = await given.sentences(limits=few)

    assert messages[0] == (
        "project team-b may have 2 objects of one application on a cluster: us would get 3"
    )
    assert messages[1].startswith("project team-b may have 100 bytes of rendered manifests")


async def test_who_has_no_project_any_more_deploys_nothing(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        given.known = {"team-a": replace(TEAM, name="team-a")}
        with pytest.raises(errors.UserError, match="there is no project team-b any more"):
            await given.plan()
        given.project = ""
        with pytest.raises(errors.UserError, match="it belongs to no project"):
            await given.plan()
        given.dependencies.projects = lambda: membership.Projects(unknown="Git is away")
        with pytest.raises(errors.TemporaryError, match="which projects there are: Git is away"):
            await given.plan()


async def test_going_back_to_a_commit_is_checked_as_a_release_is(tmp_path: Path) -> None:
    async with planning(tmp_path) as given:
        given.world.write({"bind.yaml": BIND}, message="Bind")

        with pytest.raises(errors.UserError) as refusal:
            await given.plan(run_requests.KindName.ROLLBACK_TO_COMMIT)

    assert refusal.value.problems[0].message == f"{MAY_NOT_BIND}: bind.yaml"


async def test_moves_and_backfills_are_checked(tmp_path: Path) -> None:
    async with (
        planning(tmp_path, "us", "eu") as given,
        factory.open_store("memory:", clock=given.dependencies.clock) as store,
    ):

        async def refusal(kind: run_kinds.RunKind, **more: Any) -> str:
            request = given.request(kind.name, **more)
            masker = redaction.Masker()
            plan = run_kinds.Planning(given.state, request, given.dependencies, store, masker)
            try:
                await kind.prepare(plan)
            except errors.UserError as error:
                return error.problems[0].message
            return ""

        async def refusals() -> list[str]:
            shift = move_plans.MovePlan(place=("eu",), last=("us",))
            return [
                await refusal(moves.Move(), shift=shift),
                await refusal(backfills.Backfill(), targets=("eu",)),
            ]

        assert await refusals() == ["", ""]
        given.world.write({"bind.yaml": BIND}, message="Bind")
        assert await refusals() == [f"{MAY_NOT_BIND}: bind.yaml"] * 2
        only_us = (projects.Destination(rollouts.ClusterSelector(("us",)), ("default",)),)
        given.known["team-b"] = replace(TEAM, destinations=only_us)
        outside = "1 cluster of 1 that the application's targets choose"
        assert await refusals() == [f"project team-b may not deploy to {outside}"] * 2


@contextlib.asynccontextmanager
async def stages(team: projects.Project = TEAM) -> AsyncIterator[tuple[stage_world.World, Any]]:
    """Stages of a run on the cluster us, and the project as it is now."""
    now = [membership.Standing(team)]
    async with stage_world.world("us") as world, world.one_run():
        assert world.performer is not None
        world.performer.standing = lambda: now[0]
        yield world, now


async def test_a_task_asks_the_project_as_it_is_now() -> None:
    async with stages() as (world, now):
        await world.deployed(OLD)
        before = world.running.clusters["us"].view.list("Deployment", "default")
        now[0] = membership.Standing(reason="there is no project team-b any more")

        outcome = (await world.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions()))["us"]

        assert (outcome.status, outcome.reason) == (
            "failed",
            "there is no project team-b any more",
        )
        assert not outcome.touched
        assert world.running.clusters["us"].view.list("Deployment", "default") == before


async def test_a_set_with_something_forbidden_is_not_begun() -> None:
    async with stages() as (world, _):
        world.sources[NEW] = [
            *stage_world.shop("shop:v2"),
            made({**config("other"), "metadata": {"name": "other", "namespace": "kube-system"}}),
        ]

        outcome = (await world.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions()))["us"]

        assert outcome.status == "failed"
        assert outcome.reason.startswith(
            "project team-b may not deploy to namespace kube-system of us"
        )
        assert world.count("us", "Deployment") == 0


async def test_a_rollback_takes_back_what_it_may_and_says_what_stays() -> None:
    """The release changed a ConfigMap, and nobody may write those any more."""
    async with stages() as (world, now):
        await world.deployed(OLD)
        world.sources[NEW] = [
            made(deployment("shop:v2")),
            made(service()),
            made(config(greeting="new")),
        ]
        await world.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
        no_settings = projects.Kinds(denied=(projects.KindPattern(kind="ConfigMap"),))
        now[0] = membership.Standing(replace(TEAM, kinds=no_settings))

        outcome = (await world.run(added_stages.ROLLBACK.name, rollout_stages.SyncOptions()))["us"]

        assert world.images("us") == "shop:v1 2/2"
        assert world.get("us", "ConfigMap", "settings")["data"] == {"greeting": "new"}
        assert outcome.status == "failed"
        assert "settings stays: project team-b may not deploy ConfigMap" in outcome.reason


async def test_a_rollback_succeeds_where_what_it_leaves_out_is_as_it_was() -> None:
    async with stages() as (world, now):
        await world.deployed(OLD)
        await world.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
        no_settings = projects.Kinds(denied=(projects.KindPattern(kind="ConfigMap"),))
        now[0] = membership.Standing(replace(TEAM, kinds=no_settings))

        outcome = (await world.run(added_stages.ROLLBACK.name, rollout_stages.SyncOptions()))["us"]

        assert (outcome.status, world.images("us")) == ("succeeded", "shop:v1 2/2"), outcome
        assert any("stays as it is: project team-b" in line for line in outcome.details)


async def test_pruning_does_not_reach_outside_of_the_destinations() -> None:
    """An inventory may name what is elsewhere; it was permitted once."""
    wide = (projects.Destination(namespaces=("default", "kube-system")),)
    async with stages(replace(TEAM, destinations=wide)) as (world, now):
        elsewhere = {**config("extra"), "metadata": {"name": "extra", "namespace": "kube-system"}}
        world.sources[OLD] = [*stage_world.shop("shop:v1"), made(elsewhere), made(config("near"))]
        await world.deployed(OLD)
        now[0] = membership.Standing(TEAM)

        outcome = (
            await world.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions(prune=True))
        )["us"]

        assert outcome.status == "succeeded", outcome
        assert world.find("us", "ConfigMap", "near") is None
        assert world.find("us", "ConfigMap", "extra", "kube-system") is not None
        assert any("may not deploy to namespace kube-system" in line for line in outcome.details)


async def test_scripts_do_not_run_once_the_project_says_no() -> None:
    async with stages() as (world, _):
        script = external_stages.ScriptOptions("touch /tmp/volary-ran")

        outcome = (await world.run(external_stages.SCRIPT_RUN.name, script))["us"]

        assert outcome.reason == "project team-b may not run scripts (SCRIPT_RUN)"
