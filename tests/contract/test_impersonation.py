"""A server that may act as one ServiceAccount, and as nobody else."""

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
from volary.controller import project_actors
from volary.model import projects
from volary.model.fleet import fleets
from volary.tenancy import membership

RBAC = "rbac.authorization.k8s.io"
VOLARY = users.Account("volary", verbs.User("volary", (users.AUTHENTICATED,)))


def rule(groups: str, resources: str, verbs_: str, *names: str) -> dict[str, Any]:
    named = {"resourceNames": list(names)} if names else {}
    return {
        "apiGroups": [groups],
        "resources": resources.split(),
        "verbs": verbs_.split(),
        **named,
    }


@dataclass
class Given:
    registry: registry.Registry
    pool: client_pool.ClientPool

    def create(self, version: str, kind: str, namespace: str, body: dict[str, Any]) -> None:
        whole = {"apiVersion": version, "kind": kind, **body}
        self.registry.create(self.registry.kind(version, kind), namespace, whole)

    def grant(self, namespace: str, name: str, rules: list[object], subject: object) -> None:
        metadata = {"metadata": {"name": name}}
        reference = {"apiGroup": RBAC, "kind": "Role", "name": name}
        self.create(f"{RBAC}/v1", "Role", namespace, {**metadata, "rules": rules})
        bound = {**metadata, "subjects": [subject], "roleRef": reference}
        self.create(f"{RBAC}/v1", "RoleBinding", namespace, bound)

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
                world.create("v1", "Namespace", "", {"metadata": {"name": team}})
            subject = {"kind": "User", "apiGroup": RBAC, "name": "volary"}
            as_deployer = rule("", "serviceaccounts", "impersonate", "deployer")
            world.grant("team-a", "volary", [as_deployer], subject)
            deployer = {"kind": "ServiceAccount", "name": "deployer", "namespace": "team-a"}
            maps = rule("", "configmaps", "get list watch create patch delete")
            world.grant("team-a", "deployer", [maps], deployer)
            yield world
    finally:
        await served.stop()


async def test_as_the_account_that_it_may_be(given: Given) -> None:
    client = await given.acting_for("team-a")
    catalog = await client.discover()
    maps, secrets = catalog.find("", "ConfigMap"), catalog.find("", "Secret")
    assert maps is not None
    assert secrets is not None
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
        await client.list(secrets, namespace="team-a")
    wanted = [
        permissions.Permission("create", kind, place)
        for kind, place in ((maps, "team-a"), (secrets, "team-a"), (maps, "team-b"))
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
