"""A server that may act as one ServiceAccount, and as nobody else."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import kubeconfig, users
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs
from volary.clusters.api import api_errors
from volary.clusters.client import client_pool, clients
from volary.clusters.observe import permissions
from volary.config.text import yaml
from volary.controller import project_actors
from volary.model import projects
from volary.model.fleet import fleets
from volary.tenancy import membership

RBAC = "rbac.authorization.k8s.io"
VOLARY = users.Account("volary", verbs.User("volary", (users.AUTHENTICATED,)))


PAGE = Path(__file__).parents[2] / "docs/how-to/project-identities.md"


def manifests() -> list[dict[str, Any]]:
    """What the how-to guide has applied for team-a."""
    first = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    return [document.value for document in yaml.load_all(first, "page")]


@dataclass
class Given:
    registry: registry.Registry
    pool: client_pool.ClientPool

    def create(self, body: dict[str, Any]) -> None:
        kind = self.registry.kind(body["apiVersion"], body["kind"])
        self.registry.create(kind, body["metadata"].get("namespace", ""), body)

    async def acting_for(self, team: str) -> clients.Client:
        account = projects.ServiceAccount(team, "deployer")
        project = projects.Project(
            team,
            destinations=(projects.Destination(namespaces=("*",)),),
            impersonate=projects.Impersonation(service_account=account),
        )
        known = membership.Projects({team: project})
        actor = project_actors.ProjectActor(team, lambda: known)
        client = await self.pool.acting_for(actor).client("us")
        assert isinstance(client, clients.Client)
        return client


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[Given]:
    """The rights that the how-to guide gives, for team-a alone."""
    made = registry.Registry(FixedClock())
    served = await server.start(made, server.Settings("us", users=(VOLARY,), tls=False))
    path = tmp_path / "volary"
    kubeconfig.write(path, kubeconfig.build("us", url=served.url, token="volary", authority=""))
    members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(path),)),))
    try:
        async with client_pool.open_pool(members, clock=FixedClock()) as pool:
            world = Given(made, pool)
            for team in ("team-a", "team-b"):
                metadata = {"name": team}
                world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            for body in manifests():
                world.create(body)
            yield world
    finally:
        await served.stop()


async def test_as_the_account_that_it_may_be(given: Given) -> None:
    client = await given.acting_for("team-a")
    catalog = await client.discover()
    maps, roles = catalog.find("", "ConfigMap"), catalog.find(RBAC, "Role")
    assert maps is not None
    assert roles is not None
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "team-a"},
    }

    await client.apply(maps, body)
    assert await client.get(maps, "a", namespace="team-a") is not None
    with pytest.raises(api_errors.Forbidden, match='cannot list resource "configmaps"'):
        await client.list(maps, namespace="team-b")
    with pytest.raises(api_errors.Forbidden, match="system:serviceaccount:team-a:deployer"):
        await client.list(roles, namespace="team-a")
    wanted = [
        permissions.Permission("create", kind, place)
        for kind, place in ((maps, "team-a"), (roles, "team-a"), (maps, "team-b"))
    ]
    assert await permissions.missing(client, wanted) == wanted[1:]


async def test_as_another_it_may_not_even_ask(given: Given) -> None:
    client = await given.acting_for("team-b")
    maps = (await client.discover()).find("", "ConfigMap")
    assert maps is not None

    with pytest.raises(api_errors.MayNotImpersonate) as caught:
        await client.list(maps, namespace="team-a")

    (problem,) = caught.value.problems
    assert problem.message == (
        "cluster us: volary's user volary may not impersonate system:serviceaccount:team-b:deployer"
    )
    assert "a Role in namespace team-b of the cluster with the rule" in problem.hint
    assert "resources: [serviceaccounts], resourceNames: [deployer]" in problem.hint
