"""What `volary cluster join` prints: an agent with few privileges, and its files."""

from typing import Any

import pytest
import yaml

from volary.cli.remote import agent_manifests
from volary.config.agents import policy_files
from volary.model import agent_policies

WANTED = agent_manifests.AgentDeployment(
    cluster="us",
    namespace="volary",
    image="volary:0.1.0",
    address="https://volary.example.org",
    token="volary_agent_abc",
    private_key="-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n",
    signing_key="c2lnbmluZw==",
)


def rendered(wanted: agent_manifests.AgentDeployment) -> dict[str, Any]:
    text = agent_manifests.render(agent_manifests.everything(wanted))
    assert "&id" not in text, "written out, as people read it"
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def test_the_agent_has_its_files_and_no_privileges() -> None:
    made = rendered(WANTED)
    pod = made["Deployment"]["spec"]["template"]["spec"]
    [container] = pod["containers"]

    assert made["Secret"]["stringData"] == {
        "token": "volary_agent_abc",
        "private-key.pem": WANTED.private_key,
    }
    assert made["ConfigMap"]["data"]["signing-key"] == "c2lnbmluZw=="
    assert container["args"] == [
        "agent",
        "--cluster=us",
        "--server=https://volary.example.org",
        "--token-file=/etc/volary/secret/token",
        "--policy=/etc/volary/config/policy.yaml",
        "--private-key=/etc/volary/secret/private-key.pem",
        "--signing-key=/etc/volary/config/signing-key",
    ]
    assert "volary_agent_abc" not in str(made["Deployment"])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    [rule, _] = made["ClusterRole"]["rules"]
    assert not {"*", "escalate", "bind", "impersonate"} & set(rule["verbs"])
    assert "volary_agent" not in repr(WANTED)


def test_rights_can_be_those_of_some_namespaces() -> None:
    wanted = agent_manifests.AgentDeployment(
        cluster="us",
        namespace="volary",
        image="volary:0.1.0",
        address="https://volary.example.org",
        token="t",
        private_key="k",
        signing_key="s",
        namespaces=("team-a", "team-b"),
        authorities="-----BEGIN CERTIFICATE-----\n",
    )
    objects = agent_manifests.everything(wanted)
    roles = [each for each in objects if each["kind"] == "Role"]
    [of_cluster] = [each for each in objects if each["kind"] == "ClusterRole"]

    assert [each["metadata"]["namespace"] for each in roles] == ["team-a", "team-b"]
    assert {verb for rule in of_cluster["rules"] for verb in rule["verbs"]} == {
        "get",
        "list",
        "watch",
    }
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert "--ca-file=/etc/volary/config/ca.pem" in container["args"]


@pytest.mark.parametrize(
    ("namespaces", "read"),
    [
        ((), agent_policies.ReadAccess()),
        (("team-a", "team-b"), agent_policies.ReadAccess(("team-a", "team-b"))),
    ],
)
def test_the_policy_that_is_printed_permits_no_secrets(
    namespaces: tuple[str, ...], read: agent_policies.ReadAccess
) -> None:
    loaded = policy_files.parse(agent_manifests.default_policy(namespaces), file="policy.yaml")

    assert loaded.problems == ()
    assert loaded.require().read == read
    assert loaded.require().rules == (agent_policies.Rule(namespaces=namespaces or ("*",)),)
