"""Two walls around what a project may do: the server's own rules, and each cluster's RBAC."""

import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import command_world
import controller_world
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info
from volary.config.text import yaml
from volary.controller.api import status_representations
from volary.model import projects
from volary.store import factory, records
from volary.tenancy import membership

RBAC = "rbac.authorization.k8s.io"
#: In the application's file: its namespace.
PLACE = "    kubernetes_multicluster:\n"
GUIDE = Path(__file__).parents[2] / "docs/how-to/project-identities.md"
DEPLOYER = "system:serviceaccount:{}:deployer"
#: What the server asks as itself: whether a cluster answers, which one it is, what it serves.
FLEET_WIDE = {
    *("/readyz", "/version", "/api", "/apis", "/api/v1/namespaces/kube-system"),
    *("/api/v1/nodes", "/api/v1/pods"),  # what clusters hold, and how much of it is free
}
#: What it follows in whole clusters: which applications have something there.
INVENTORIES = {"/api/v1/configmaps"}
#: And what they have.
FOLLOWED = {
    *INVENTORIES,
    *(f"/api/v1/{plural}" for plural in ("services", "pods", "events")),
    *(f"/apis/apps/v1/{plural}" for plural in ("deployments", "replicasets")),
    "/apis/discovery.k8s.io/v1/endpointslices",
}


@dataclass
class Heard:
    """Who asked an API server for what."""

    #: User, method, path and whether it was a dry run.
    lines: list[tuple[str, str, str, bool]] = field(default_factory=list)

    @property
    def middleware(self) -> server.Middleware:
        @web.middleware
        async def hear(request: web.Request, handler: server.Handler) -> web.StreamResponse:
            who = request.headers.get("Impersonate-User", "")
            self.lines.append((who, request.method, request.path, "dryRun" in request.query))
            return await handler(request)

        return hear

    def writes(self, namespace: str) -> list[tuple[str, str, str, bool]]:
        """Those that change something in a namespace, or try to."""
        asked = (request_info.read(method, path, {}) for _, method, path, _ in self.lines)
        return [
            line
            for line, info in zip(self.lines, asked, strict=True)
            if line[1] != "GET" and info.namespace == namespace
        ]


def rules_of_the_guide() -> Any:
    (block, *_) = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    bodies: list[Any] = [document.value for document in yaml.load_all(block, "guide")]
    (role,) = [
        body for body in bodies if (body["kind"], body["metadata"]["name"]) == ("Role", "deployer")
    ]
    return role["rules"]


@dataclass
class Teams:
    """A cluster for two teams, and the repository of one."""

    world: command_world.World
    heard: Heard
    store: str

    def grant(self, namespace: str, account: str, *, kind: str = "Role") -> None:
        """Let a deployer do what the how-to guide gives it, or with a ClusterRole everything."""
        everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        role = {"rules": rules_of_the_guide() if kind == "Role" else [everything]}
        subject = {"kind": "ServiceAccount", "name": "deployer", "namespace": account}
        reference = {"apiGroup": RBAC, "kind": kind, "name": f"of-{account}"}
        place = namespace if kind == "Role" else ""
        self._create(f"{RBAC}/v1", kind, place, reference["name"], role)
        bound = {"subjects": [subject], "roleRef": reference}
        self._create(f"{RBAC}/v1", f"{kind}Binding", place, reference["name"], bound)

    def make_namespace(self, name: str) -> None:
        self._create("v1", "Namespace", "", name, {})
        self._create("v1", "ServiceAccount", name, "deployer", {})

    def _create(
        self, version: str, kind: str, namespace: str, name: str, body: Mapping[str, object]
    ) -> None:
        registry = self.world.running.clusters["us"].registry
        whole = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body}
        registry.create(registry.kind(version, kind), namespace, whole)

    def release_to(self, namespace: str) -> None:
        """Have the application go to a namespace."""
        plugin = f"{PLACE}      input: {{namespace: {namespace}}}\n"
        self.world.edit("app.pipecd.yaml", PLACE, plugin, message=f"Go to {namespace}")

    @contextlib.asynccontextmanager
    async def controlled(
        self, *known: projects.Project, whose: str
    ) -> AsyncIterator[controller_world.Controlled]:
        """Run a controller that has these projects; the application is of one of them."""
        clock = controller_world.Clock()
        async with factory.open_store(self.store, clock=clock, limits=records.Limits()) as store:
            known_before = records.ApplicationRecord(
                "simple", "shop", "app.pipecd.yaml", project=whose
            )
            await store.applications.keep(known_before, fence=None)
        by_name = membership.Projects({project.name: project for project in known})
        async with controller_world.controlled(self.world, store=self.store) as running:
            running.controller.service.dependencies.projects = lambda: by_name
            yield running


@pytest.fixture
async def teams(tmp_path: Path) -> AsyncIterator[Teams]:
    heard = Heard()
    async with command_world.world(tmp_path, "us", middlewares=(heard.middleware,)) as world:
        made = Teams(world, heard, f"sqlite:{tmp_path / 'volary.db'}")
        for name in ("team-a", "team-b"):
            made.make_namespace(name)
        yield made


def project(name: str, *namespaces: str) -> projects.Project:
    return projects.Project(
        name,
        sources=(projects.Source("*"),),
        destinations=(projects.Destination(namespaces=namespaces),),
        impersonate=projects.Impersonation(
            service_account=projects.ServiceAccount(name, "deployer")
        ),
    )


async def ended(
    running: controller_world.Controlled,
) -> tuple[str, str, status_representations.ApplicationStatus]:
    """The status and the reason of the application once its first run is over, and how it is."""
    settled = await running.until_application(
        lambda each: each.status in ("synced", "failed", "refused", "out_of_sync", "broken")
    )
    return settled.status, settled.reason, await running.service.statuses.get("simple")


async def test_what_is_done_for_a_project_is_done_as_its_identity(teams: Teams) -> None:
    """Planning, dry runs, stages, watches and what people see: all but what is of the cluster."""
    teams.grant("team-b", "team-b")
    teams.release_to("team-b")
    async with teams.controlled(project("team-b", "team-b"), whose="team-b") as running:
        status, reason, seen = await ended(running)
        plan = await running.service.plan("simple", controller_world.ANA)

    assert status == "synced", reason
    assert seen.clusters[0].unreachable_reason == ""
    assert [cluster.health.status for cluster in seen.clusters] == ["healthy"]
    assert not any(cluster.problems for cluster in plan.clusters)
    mine = {who for who, *_ in teams.heard.writes("team-b")}
    assert mine == {DEPLOYER.format("team-b")}
    as_itself = {(method, path) for who, method, path, _ in teams.heard.lines if not who}
    assert as_itself <= {("GET", path) for path in FLEET_WIDE | FOLLOWED}, as_itself
    methods = {method for _, method, *_ in teams.heard.writes("team-b")}
    assert "PATCH" in methods


async def test_rbac_stops_what_a_project_was_given_by_mistake(teams: Teams) -> None:
    teams.grant("team-b", "team-b")
    teams.grant("team-a", "team-a")
    teams.release_to("team-a")
    before = await teams.world.settled()
    async with teams.controlled(project("team-b", "team-*"), whose="team-b") as running:
        status, reason, _ = await ended(running)

    lacking = f"cluster us: {DEPLOYER.format('team-b')} may not get, create, patch, list and watch"
    assert status == "failed"
    assert f"{lacking} deployments.apps in namespace team-a" in reason
    assert "write a Role and a RoleBinding in namespace team-a with the rule" in reason
    assert teams.heard.writes("team-a") == []
    assert await teams.world.settled() == before


async def test_the_server_stops_what_rbac_would_allow(teams: Teams) -> None:
    """Not even a dry run is sent."""
    teams.grant("", "team-b", kind="ClusterRole")
    teams.release_to("team-a")
    before = await teams.world.settled()
    async with teams.controlled(project("team-b", "team-b"), whose="team-b") as running:
        status, reason, _ = await ended(running)

    assert status == "failed"
    assert "project team-b may not deploy to namespace team-a of us" in reason
    assert teams.heard.writes("team-a") == []
    assert await teams.world.settled() == before


async def test_an_application_of_no_project_asks_clusters_nothing(teams: Teams) -> None:
    teams.release_to("team-a")
    elsewhere = replace(project("team-b", "team-b"), sources=(projects.Source("elsewhere"),))
    async with teams.controlled(elsewhere, whose="team-c") as running:
        status, reason, seen = await ended(running)

    assert status == "broken"
    assert "no project takes app.pipecd.yaml" in reason
    # Whether its file was opened by then, and so its cluster is known, makes no difference.
    reasons = [cluster.unreachable_reason for cluster in seen.clusters]
    assert all("it belongs to no project" in each for each in reasons), reasons
    assert {path for _, _, path, _ in teams.heard.lines} <= FLEET_WIDE | INVENTORIES
