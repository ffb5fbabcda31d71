"""Stock kubectl as somebody who may not do everything, and under quotas and policies."""

import pytest
import yaml

from kube_sandbox import fleet
from sandbox_fixtures import FleetFactory, Kubectl, deployment

ACCOUNT = "system:serviceaccount:default:deployer"


@pytest.fixture
async def cluster(fleet_of: FleetFactory) -> fleet.Cluster:
    running = await fleet_of(["eu"])
    return running.clusters["eu"]


async def _granted(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "create", "serviceaccount", "deployer")
    await kubectl(
        cluster, "create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps"
    )
    await kubectl(
        cluster,
        *("create", "rolebinding", "reader", "--role=reader"),
        "--serviceaccount=default:deployer",
    )


async def test_one_acts_as_somebody_else(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _granted(kubectl, cluster)
    acting = f"--as={ACCOUNT}"

    listed = await kubectl(cluster, "get", "configmaps", acting, "-o", "name")
    refused = await kubectl(cluster, "delete", "configmap", "x", acting, check=False)
    may = await kubectl(cluster, "auth", "can-i", "list", "configmaps", acting)
    may_not = await kubectl(cluster, "auth", "can-i", "create", "pods", acting, check=False)
    who = await kubectl(cluster, "auth", "whoami", acting, "-o", "yaml")
    rules = await kubectl(cluster, "auth", "can-i", "--list", acting)

    assert "configmap/kube-root-ca.crt" in listed.out
    assert f'User "{ACCOUNT}" cannot delete resource "configmaps"' in refused.err
    assert (may.out.strip(), may_not.out.strip()) == ("yes", "no")
    assert yaml.safe_load(who.out)["status"]["userInfo"]["username"] == ACCOUNT
    assert "configmaps" in rules.out
    assert "secrets" not in rules.out


async def test_a_token_is_issued_and_works(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await _granted(kubectl, cluster)
    token = (await kubectl(cluster, "create", "token", "deployer", "--duration=10m")).out.strip()
    stranger = cluster.kubeconfig_path.read_text().replace(cluster.token, token)
    cluster.kubeconfig_path.write_text(stranger)

    listed = await kubectl(cluster, "get", "configmaps", "-o", "name")
    refused = await kubectl(cluster, "get", "nodes", check=False)

    assert "configmap/kube-root-ca.crt" in listed.out
    assert f'User "{ACCOUNT}" cannot list resource "nodes"' in refused.err


async def test_default_roles_can_be_bound(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "create", "clusterrolebinding", "v", "--clusterrole=view", "--user=ann")
    await kubectl(cluster, "create", "clusterrole", "more", "--verb=get", "--resource=secrets")
    before = await kubectl(cluster, "auth", "can-i", "get", "secrets", "--as=ann", check=False)
    pods = await kubectl(cluster, "auth", "can-i", "list", "pods", "--as=ann")
    await kubectl(
        cluster,
        *("label", "clusterrole", "more", "rbac.authorization.k8s.io/aggregate-to-view=true"),
    )
    held = cluster.registry
    view = held.kind("rbac.authorization.k8s.io/v1", "ClusterRole")
    await cluster.until(
        lambda _: any(
            "secrets" in rule["resources"] for rule in held.get(view, "", "view")["rules"]
        )
    )

    after = await kubectl(cluster, "auth", "can-i", "get", "secrets", "--as=ann")

    assert (before.out.strip(), pods.out.strip()) == ("no", "yes")
    assert after.out.strip() == "yes"


async def test_a_quota_is_used_up_and_freed(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    await kubectl(cluster, "create", "quota", "q", "--hard=pods=1")
    await kubectl(cluster, "run", "one", "--image=nginx:1")
    refused = await kubectl(cluster, "run", "two", "--image=nginx:1", check=False)
    full = await kubectl(cluster, "get", "quota", "q")
    await kubectl(cluster, "delete", "pod", "one")

    freed = await kubectl(cluster, "run", "two", "--image=nginx:1")

    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in refused.err
    assert "pods: 1/1" in full.out
    assert "pod/two created" in freed.out


async def test_a_policy_is_asked(kubectl: Kubectl, cluster: fleet.Cluster) -> None:
    api = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["deployments"],
    }
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "few"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.replicas <= 3"}],
        },
    }
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "few"},
        "spec": {"policyName": "few", "validationActions": ["Deny"]},
    }
    await kubectl(cluster, "apply", "-f", "-", text=yaml.safe_dump_all([policy, binding]))

    refused = await kubectl(cluster, "apply", "-f", "-", text=deployment(replicas=4), check=False)
    allowed = await kubectl(cluster, "apply", "-f", "-", text=deployment(replicas=3))

    assert "denied request: failed expression: object.spec.replicas <= 3" in refused.err
    assert "created" in allowed.out


async def test_a_replication_controller_keeps_its_pods(
    kubectl: Kubectl, cluster: fleet.Cluster
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "old"},
        "spec": {
            "replicas": 1,
            "template": {
                "metadata": {"labels": {"app": "old"}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
            },
        },
    }
    await kubectl(cluster, "apply", "-f", "-", text=yaml.safe_dump(body))
    await kubectl(cluster, "scale", "rc", "old", "--replicas=2")
    await kubectl(cluster, "wait", "rc/old", "--for=jsonpath={.status.readyReplicas}=2")
    shown = await kubectl(cluster, "get", "rc", "old", "--no-headers", "-o", "wide")

    await kubectl(cluster, "delete", "rc", "old")

    left = await kubectl(cluster, "wait", "pods", "-l", "app=old", "--for=delete")
    assert shown.out.split()[1:4] == ["2", "2", "2"]
    assert left.code == 0
