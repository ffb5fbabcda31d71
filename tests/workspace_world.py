"""Given clusters and workspaces of teams; when they are written anew; then look at the clusters."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import command_world
import controller_world
import process_time
from kube_sandbox import fleet
from kube_sandbox import json as cluster_json
from volary.config.workspaces import workspace_files
from volary.controller import composition
from volary.controller.api import workspace_service
from volary.model import json, server_settings, workspaces

TEAM_A = """\
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: team-a}
spec:
  project: team-a
  namespaces: [{name: shop, labels: {team: a}}]
  members:
  - {group: team-a-developers, role: edit}
  - {group: team-a-support, role: view}
  quota: {hard: {pods: 10}}
  limits:
  - {type: Container, default: {cpu: 200m}, defaultRequest: {cpu: 100m}}
"""
TEAM_B = TEAM_A.replace("team-a", "team-b").replace("shop", "pay").replace("team: a", "team: b")
RBAC = "rbac.authorization.k8s.io/v1"
#: Nobody looks from time to time: changes are seen by watches.
RULES = replace(controller_world.RULES, workspace_period=timedelta(hours=1))

#: Project files of a repository that nobody reads: what is stored counts until `write`.
PROJECTS: dict[str, Any] = {
    "repositories": (server_settings.Repository("platform", "https://git.example/platform"),),
    "projects": server_settings.ProjectFiles(repository="platform"),
}


def read(text: str) -> workspaces.Workspace:
    return workspace_files.parse(text, file="workspace.yaml").require()


def find(
    cluster: fleet.Cluster, kind: str, name: str, namespace: str = "", *, version: str = "v1"
) -> json.JsonObject | None:
    found: cluster_json.JsonObject | None = cluster.registry.find(
        cluster.registry.kind(version, kind), namespace, name
    )
    return found


@dataclass
class Kept:
    """A controller that keeps workspaces."""

    world: command_world.World
    controller: composition.Controller

    @property
    def clusters(self) -> dict[str, fleet.Cluster]:
        return dict(self.world.running.clusters)

    @property
    def service(self) -> workspace_service.WorkspaceService:
        return self.controller.service.workspaces

    def write(self, *texts: str) -> None:
        """Have exactly these workspaces written."""
        self.controller.projects.on_workspaces([read(text) for text in texts])

    async def until(
        self, name: str, holds: Callable[[workspace_service.Workspace], bool]
    ) -> workspace_service.Workspace:
        """Wait until a workspace is so."""
        found = None
        try:
            async with asyncio.timeout(process_time.HANG):
                while True:
                    every = {one.name: one for one in await self.service.list()}
                    found = every.get(name)
                    if found is not None and holds(found):
                        return found
                    await controller_world.changed(self.controller)
        except TimeoutError:
            raise AssertionError(f"it never was so, but: {found}") from None

    async def ready(self, *names: str) -> None:
        """Wait until workspaces are as they are written, everywhere."""
        for name in names:
            await self.until(name, lambda one: one.status == "ready")

    async def on(self, name: str, cluster: str, status: str) -> workspace_service.WorkspaceCluster:
        """Wait until a workspace has a status on a cluster, and return how it is there."""

        def there(one: workspace_service.Workspace) -> workspace_service.WorkspaceCluster | None:
            return next((each for each in one.clusters if each.cluster == cluster), None)

        def holds(one: workspace_service.Workspace) -> bool:
            known = there(one)
            return known is not None and known.status == status

        found = there(await self.until(name, holds))
        assert found is not None
        return found


@contextlib.asynccontextmanager
async def kept(
    base: Path, *names: str, tls: bool = False, store: str = "memory:", **settings: Any
) -> AsyncIterator[Kept]:
    """Start clusters, and a controller that keeps workspaces on them."""
    async with (
        command_world.world(base, *names, tls=tls, **settings) as world,
        life(world, store=store) as given,
    ):
        yield given


@contextlib.asynccontextmanager
async def life(
    world: command_world.World, *, store: str = "memory:", **more: Any
) -> AsyncIterator[Kept]:
    """Run a controller beside the block, which goes on with what is stored."""
    async with controller_world.controlled(
        world, store=store, parts={"rules": RULES, **more}, **PROJECTS
    ) as controlled:
        yield Kept(world, controlled.controller)
