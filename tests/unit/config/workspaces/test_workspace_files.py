"""What is wrong with a workspace file is said, with its place."""

import pytest

from volary.config.workspaces import workspace_files
from volary.model import workspaces

FILE = """\
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: team-a}
spec:
  project: team-a
  namespaces:
  - {name: shop}
"""


def problems(text: str) -> list[str]:
    return [str(problem) for problem in workspace_files.parse(text, file="w.yaml").problems]


def test_the_shortest_is_closed_to_others() -> None:
    workspace = workspace_files.parse(FILE, file="w.yaml").require()

    assert workspace.name == "team-a"
    assert workspace.network.isolate
    assert workspace.pod_security is workspaces.PodSecurity.BASELINE
    assert workspace.members == ()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("  namespaces:\n  - {name: kube-system}", "namespace kube-system is the cluster's own"),
        ("  namespaces: []", "the workspace has no namespace"),
        ("  namespaces: [{name: a}, {name: a}]", "the namespace a is there twice"),
        ("  namespaces: [{name: a, labels: {volary.dev/x: z}}]", "not a workspace's to set"),
        ("  members: [{role: view}]", "a member is a group or a user"),
        ("  members: [{group: a}]", "a member has a role or rules"),
        ("  members: [{group: 'system:authenticated', role: view}]", "is the cluster's own"),
        ("  members: [{group: a, role: view}, {group: a, role: edit}]", "a is there twice"),
        ("  members: [{group: a, role: owner}]", "must be 'view', 'edit' or 'admin'"),
        ("  deployer: {user: u, serviceAccount: s}", "user and serviceAccount are both given"),
        ("  deployer: {serviceAccount: default}", "needs a ServiceAccount of its own"),
        ("  deployer: {rules: []}", "the deployer may do nothing"),
        (
            "  deployer: {rules: [{verbs: [], apiGroups: [''], resources: [pods]}]}",
            "the rule has no verbs",
        ),
        ("  quota: {hard: {pods: ten}}", "ten is no quantity"),
        ("  limits: [{type: Container, max: {cpu: 1x}}]", "1x is no quantity"),
        ("  network: {isolate: false, allowTo: [{ports: [{port: 1}]}]}", "allowTo has no effect"),
        ("  network: {allowTo: [{}]}", "the exception says nothing"),
        (
            "  network: {allowTo: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}",
            "ipBlock stands by itself",
        ),
        ("  network: {allowTo: [{ports: [{port: 70000}]}]}", "from 1 to 65535"),
        ("  network: {allowTo: [{ports: [{port: a, endPort: 9}]}]}", "endPort is not less"),
        ("  network: {allowTo: [{ports: [{port: 1, protocol: tcp}]}]}", "tcp is no protocol"),
        ("  podSecurity: strict", "must be 'privileged', 'baseline' or 'restricted'"),
        ("  quotas: {}", "unknown field quotas"),
    ],
)
def test_mistakes_are_named(wrong: str, said: str) -> None:
    text = FILE
    if "namespaces" in wrong:
        text = text.replace("  namespaces:\n  - {name: shop}\n", "")
    found = problems(text + wrong + "\n")

    assert len(found) == 1
    assert said in found[0]
    assert "w.yaml:" in found[0]
