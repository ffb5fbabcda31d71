"""What the server's own user needs to make workspaces, as the how-to says it."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

import command_world
from controller_world import Clock
from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import kubeconfig, users
from kube_sandbox.apiserver.storage import verbs
from volary.clusters.client import client_pool, clients
from volary.controller.workspaces import cluster_workspaces, workspace_removal
from volary.model.fleet import fleets
from workspace_world import TEAM_A, read

TOKEN = "limited"
HERE = users.Account(TOKEN, verbs.User("limited", (users.AUTHENTICATED,)))
GROUP = "rbac.authorization.k8s.io"
USED = ["get", "list", "watch", "create", "patch", "delete"]
TEAM = read(TEAM_A)


def rules(*more: str) -> list[dict[str, list[str]]]:
    bounds = ["namespaces", "serviceaccounts", "resourcequotas", "limitranges"]
    return [
        {"apiGroups": [""], "resources": bounds, "verbs": USED},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": USED},
        {"apiGroups": [GROUP], "resources": ["roles", "rolebindings"], "verbs": [*USED, *more]},
    ]


@contextlib.asynccontextmanager
async def client_with(base: Path, allowed: Sequence[object]) -> AsyncIterator[clients.Client]:
    """Return the client of a user who may do so much, and nothing else."""
    role = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "volary"},
        "rules": list(allowed),
    }
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "volary"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "volary"},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": HERE.user.name}],
    }
    async with contextlib.AsyncExitStack() as stack:
        world = await stack.enter_async_context(command_world.world(base, "us"))
        registry = world.running.clusters["us"].registry
        for body in (role, binding):
            registry.create(registry.kind_of(body), "", body)
        served = await server.start(registry, server.Settings("us", users=(HERE,), tls=False))
        stack.push_async_callback(served.stop)
        path = base / "limited"
        kubeconfig.write(path, kubeconfig.build("us", url=served.url, token=TOKEN, authority=""))
        members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(path),)),))
        pool = await stack.enter_async_context(client_pool.open_pool(members, clock=Clock()))
        client = await pool.client("us")
        assert isinstance(client, clients.Client)
        yield client


async def test_with_escalate_and_bind_it_is_made_kept_and_bounded(tmp_path: Path) -> None:
    async with client_with(tmp_path, rules("escalate", "bind")) as client:
        first = await cluster_workspaces.keep(client, TEAM)
        again = await cluster_workspaces.keep(client, TEAM)
        left = await workspace_removal.remove(client, TEAM.owner, ())

    assert (first.reason, first.namespaces) == ("", ("shop",))
    assert first.changes
    assert (again.reason, again.changes) == ("", ())
    # What may not be listed may be there.
    assert "cannot list resource" in left["shop"]


@pytest.mark.parametrize("more", [(), ("bind",)], ids=["neither", "bind only"])
async def test_without_them_it_is_said_what_is_missing(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    async with client_with(tmp_path, rules(*more)) as client:
        outcome = await cluster_workspaces.keep(client, TEAM)

    assert outcome.is_refused
    assert "attempting to grant RBAC permissions not currently held" in outcome.reason
    # The namespace was made all the same, so it is known as the workspace's.
    assert outcome.namespaces == ("shop",)
