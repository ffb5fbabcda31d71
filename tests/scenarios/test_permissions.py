"""A user who may work in one namespace only can do everything there."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import kubeconfig, users
from kube_sandbox.apiserver.storage import verbs
from stage_world import NEW, OLD, Clock, World, config, deployment, made, service, world
from volary.clusters.client import client_pool
from volary.model.fleet import fleets
from volary.model.pipeline.stage_kinds import (
    added_stages,
    rollout_stages,
    stage_kind,
    traffic_stages,
)

TOKEN = "limited"
HERE = users.Account(TOKEN, verbs.User("limited", (users.AUTHENTICATED,)))
RBAC = "rbac.authorization.k8s.io"
#: Everything in the namespace, and nothing outside of it.
ROLE = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "Role",
    "metadata": {"name": "everything", "namespace": "web"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}
BINDING = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "limited", "namespace": "web"},
    "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "everything"},
    "subjects": [{"apiGroup": RBAC, "kind": "User", "name": HERE.user.name}],
}


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[World]:
    """A second way into the cluster, for a user of namespace ``web``."""
    async with contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(world("us"))
        cluster = running.running.clusters["us"]
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
        cluster.registry.create(cluster.registry.kind("v1", "Namespace"), "", namespace)
        for body in (ROLE, BINDING):
            kind = cluster.registry.kind(f"{RBAC}/v1", str(body["kind"]))
            cluster.registry.create(kind, "web", body)
        served = await server.start(
            cluster.registry, server.Settings("us", users=(HERE,), tls=False)
        )
        stack.push_async_callback(served.stop)
        path = tmp_path / "limited"
        kubeconfig.write(path, kubeconfig.build("us", url=served.url, token=TOKEN, authority=""))
        members = fleets.Fleet((fleets.Cluster("us", kubeconfig=(str(path),)),))
        running.clients = await stack.enter_async_context(
            client_pool.open_pool(members, clock=Clock())
        )
        for commit, image in ((OLD, "shop:v1"), (NEW, "shop:v2")):
            bodies = (deployment(image), service(), config())
            for body in bodies:
                body["metadata"]["namespace"] = "web"
            running.sources[commit] = [made(body) for body in bodies]
        yield running


async def test_a_whole_pipeline_with_pruning(given: World) -> None:
    old = config("old")
    old["metadata"]["namespace"] = "web"
    given.sources[OLD].append(made(old))
    await given.deployed(OLD)
    one = rollout_stages.VariantRolloutOptions(replicas=rollout_stages.Replicas(1))
    promotion = rollout_stages.PrimaryRolloutOptions(prune=True)
    stages: list[tuple[str, stage_kind.StageOptions]] = [
        (rollout_stages.CANARY_ROLLOUT.name, one),
        (traffic_stages.TRAFFIC_ROUTING.name, traffic_stages.TrafficOptions(0, canary=100)),
        (rollout_stages.PRIMARY_ROLLOUT.name, promotion),
        (rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions()),
    ]

    for name, options in stages:
        outcomes = await given.run(name, options)
        assert outcomes["us"].status == "succeeded", (name, outcomes["us"])

    assert given.find("us", "ConfigMap", "old", "web") is None
    assert given.find("us", "Deployment", "shop-canary", "web") is None
    assert given.count("us", "Pod", "web") == 2


async def test_another_namespace_is_refused_with_verb_and_resource(given: World) -> None:
    body = config()
    given.sources[NEW] = [*given.sources[NEW], made(body)]
    given.options = replace(given.options, allow_mass_deletion=True)

    outcomes = await given.run(rollout_stages.SYNC.name, rollout_stages.SyncOptions(prune=True))

    assert outcomes["us"].status == "failed"
    assert "configmaps" in outcomes["us"].reason
    assert given.find("us", "Deployment", "shop", "web") is None


async def test_a_rollback_asks_only_for_kinds_that_the_application_has(given: World) -> None:
    """Nobody has to let it see Secrets, StatefulSets and Ingresses for that."""
    await given.deployed(OLD)
    registry = given.running.clusters["us"].registry
    rules = [
        {"apiGroups": ["", "apps"], "resources": [resources], "verbs": ["*"]}
        for resources in ("configmaps", "services", "deployments", "pods")
    ]
    role = registry.kind(f"{RBAC}/v1", "Role")
    merge = verbs.PatchType.MERGE
    registry.patch(role, "web", "everything", {"rules": rules}, merge, verbs.Options(manager="a"))
    await given.run(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())

    outcomes = await given.run(added_stages.ROLLBACK.name, stage_kind.NoOptions())

    assert outcomes["us"].status == "succeeded", outcomes["us"]
    assert not [line for line in outcomes["us"].details if "left alone" in line]
    assert given.find("us", "Deployment", "shop-canary", "web") is None
