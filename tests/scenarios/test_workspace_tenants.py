"""Two teams in one cluster, with stock kubectl: neither sees or touches what is the other's."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import kubectl
import process_time
from kube_sandbox import fleet
from workspace_world import RBAC, TEAM_A, TEAM_B, find, kept

pytestmark = kubectl.needed
A = ("--as=ana", "--as-group=team-a-developers")
B = ("--as=bob", "--as-group=team-b-developers")
SUPPORT = ("--as=sam", "--as-group=team-a-support")
DEPLOYER = ("--as=system:serviceaccount:shop:volary-deployer",)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop}
spec:
  containers: [{name: web, image: "nginx:1"}]
"""
OF_OTHERS = (
    ("get", "pods", "--namespace=shop"),
    ("get", "secrets", "--namespace=shop"),
    ("get", "pods", "--all-namespaces"),
    ("get", "namespaces"),
    ("delete", "pod", "one", "--namespace=shop"),
    ("create", "configmap", "x", "--namespace=shop"),
    ("exec", "one", "--namespace=shop", "--", "true"),
    ("create", "token", "volary-deployer", "--namespace=shop"),
)
_UNBOUND = "pod-security.kubernetes.io/enforce=privileged"
BEYOND = (
    ("delete", "resourcequota", "volary-quota", "--namespace=shop"),
    ("delete", "limitrange", "volary-limits", "--namespace=shop"),
    ("delete", "networkpolicy", "volary-isolation", "--namespace=shop"),
    ("delete", "rolebinding", "volary-view", "--namespace=shop"),
    ("label", "namespace", "shop", _UNBOUND, "--overwrite"),
    ("create", "rolebinding", "me", "--clusterrole=admin", "--user=ana", "--namespace=shop"),
    ("create", "role", "all", "--verb=get", "--resource=pods", "--namespace=shop"),
    ("create", "clusterrolebinding", "me", "--clusterrole=cluster-admin", "--user=ana"),
    ("create", "namespace", "another"),
    ("create", "token", "volary-deployer", "--namespace=shop"),
    ("get", "pods", "--namespace=pay"),
)


@pytest.fixture
async def us(tmp_path: Path) -> AsyncIterator[fleet.Cluster]:
    """A cluster with the workspaces of both teams, and a pod of the first."""
    async with kept(tmp_path, "us", tls=True) as given:
        given.write(TEAM_A, TEAM_B)
        await given.ready("team-a", "team-b")
        cluster = given.clusters["us"]
        await kubectl.run(cluster, "apply", "-f", "-", *A, text=POD % "one")
        yield cluster


async def forbidden(cluster: fleet.Cluster, words: tuple[str, ...], who: tuple[str, ...]) -> None:
    refused = await kubectl.refused(cluster, words[0], *who, *words[1:])
    assert "forbidden" in refused.lower(), f"{words}: {refused}"


async def test_the_other_team_is_refused(us: fleet.Cluster) -> None:
    for words in OF_OTHERS:
        await forbidden(us, words, B)


async def test_the_team_itself_works_and_its_support_only_looks(us: fleet.Cluster) -> None:
    assert "one" in await kubectl.run(us, "get", "pods", "--namespace=shop", *A)
    assert "one" in await kubectl.run(us, "get", "pods", "--namespace=shop", *SUPPORT)
    own = "--namespace=shop"
    await forbidden(us, ("delete", "pod", "one", own), SUPPORT)
    await forbidden(us, ("get", "secrets", own), SUPPORT)
    await kubectl.run(us, "delete", "pod", "one", own, "--now", *A)


async def test_the_quota_refuses_the_eleventh_pod(us: fleet.Cluster) -> None:
    for number in range(9):
        await kubectl.run(us, "apply", "-f", "-", *A, text=POD % f"more-{number}")

    refused = await kubectl.refused(us, "apply", "-f", "-", *A, text=POD % "eleventh")

    assert "exceeded quota: volary-quota" in refused
    pod = find(us, "Pod", "one", "shop")
    assert pod is not None
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "100m"


@pytest.mark.parametrize("who", [A, DEPLOYER], ids=["edit", "deployer"])
async def test_nobody_gets_more_than_is_written(us: fleet.Cluster, who: tuple[str, ...]) -> None:
    for words in BEYOND:
        await forbidden(us, words, who)


async def test_an_admin_of_the_team_gives_no_more_than_it_has(tmp_path: Path) -> None:
    async with kept(tmp_path, "us", tls=True) as given:
        given.write(TEAM_A.replace("role: edit", "role: admin"), TEAM_B)
        await given.ready("team-a", "team-b")
        us = given.clusters["us"]
        own = "--namespace=shop"

        await kubectl.run(
            us, "create", "rolebinding", "eve", "--role=volary-view", "--user=eve", own, *A
        )
        refused = await kubectl.refused(
            us, "create", "role", "more", "--verb=*", "--resource=resourcequotas", own, *A
        )
        await kubectl.run(us, "delete", "networkpolicy", "volary-isolation", own, *A)

        assert "attempting to grant RBAC permissions not currently held" in refused
        networking = "networking.k8s.io/v1"
        await us.until(
            lambda _: bool(
                find(us, "NetworkPolicy", "volary-isolation", "shop", version=networking)
            ),
            timeout=process_time.HANG,
        )
        assert find(us, "RoleBinding", "eve", "shop", version=RBAC)


async def test_the_deployer_deploys(us: fleet.Cluster) -> None:
    deploying = ("create", "deployment", "web", "--image=nginx:1", "--namespace=shop")

    await kubectl.run(us, *deploying, *DEPLOYER)

    assert find(us, "Deployment", "web", "shop", version="apps/v1")
