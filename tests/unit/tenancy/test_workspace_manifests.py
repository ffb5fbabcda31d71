"""What a workspace comes to: pure."""

from dataclasses import replace

import pytest

from volary.config.workspaces import workspace_files
from volary.manifests.ownership import claims, prune_decisions, tracking
from volary.model import json, workspaces
from volary.model.objects import ownership
from volary.tenancy import workspace_manifests, workspace_rules

TEXT = """\
apiVersion: volary.dev/v1
kind: Workspace
metadata: {name: team-a}
spec:
  project: team-a
  namespaces: [{name: shop, labels: {team: a}}, {name: jobs}]
  members:
  - {group: b, role: edit}
  - {user: ana, role: edit}
  - user: eve
    rules: [{verbs: [get], apiGroups: [""], resources: [pods], resourceNames: [web]}]
  quota: {hard: {pods: 10}}
  network:
    allowFrom:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: edge}}
      podSelector: {matchExpressions: [{key: app, operator: Exists}]}
      ports: [{port: 8080, endPort: 8090}]
    - podSelector: {matchLabels: {app: probe}}
    allowTo:
    - ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}
"""
WORKSPACE = workspace_files.parse(TEXT, file="w.yaml").require()


def of(workspace: workspaces.Workspace, namespace: str = "shop") -> dict[str, json.JsonObject]:
    parts = {part.namespace.name: part for part in workspace_manifests.render(workspace)}
    return {item.key.title: item.body for item in parts[namespace].items}


def test_every_object_is_known_as_ours() -> None:
    for part in workspace_manifests.render(WORKSPACE):
        for item in part.items:
            assert tracking.is_ours(item.body, WORKSPACE.owner)
            assert prune_decisions.unprunable(item.body, WORKSPACE.owner) == ""
            assert item.labels[workspace_manifests.LABEL] == "team-a"


def test_the_same_workspace_comes_to_the_same_objects() -> None:
    again = workspace_files.parse(TEXT, file="w.yaml").require()

    assert workspace_manifests.digest(again) == workspace_manifests.digest(WORKSPACE)
    other = replace(WORKSPACE, quota=None)
    assert workspace_manifests.digest(other) != workspace_manifests.digest(WORKSPACE)


def test_the_deployer_is_one_account_that_is_bound_in_every_namespace() -> None:
    account = "ServiceAccount {}/volary-deployer"
    assert account.format("shop") in of(WORKSPACE)
    assert account.format("jobs") not in of(WORKSPACE, "jobs")

    bound = of(WORKSPACE, "jobs")["RoleBinding jobs/volary-deployer"]
    assert bound["subjects"] == [
        {"kind": "ServiceAccount", "name": "volary-deployer", "namespace": "shop"}
    ]


def test_a_user_deploys_without_an_account() -> None:
    deployer = workspaces.Deployer(user="volary:team-a")
    found = of(replace(WORKSPACE, deployer=deployer))

    assert "ServiceAccount shop/volary-deployer" not in found
    (subject,) = found["RoleBinding shop/volary-deployer"]["subjects"]
    assert (subject["kind"], subject["name"]) == ("User", "volary:team-a")


def test_members_of_a_role_are_bound_together_and_those_with_rules_alone() -> None:
    found = of(WORKSPACE)
    subjects = found["RoleBinding shop/volary-edit"]["subjects"]
    own = [body for title, body in found.items() if title.startswith("Role shop/volary-member-")]

    assert [subject["name"] for subject in subjects] == ["b", "ana"]
    assert [body["rules"][0]["resourceNames"] for body in own] == [["web"]]
    assert "RoleBinding shop/volary-view" not in found


def test_the_network_is_closed_but_for_what_is_said() -> None:
    spec = of(WORKSPACE)["NetworkPolicy shop/volary-isolation"]["spec"]
    within, edge, probe = spec["ingress"]
    own, names, outside = spec["egress"]

    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["podSelector"] == {}
    (requirement,) = within["from"][0]["namespaceSelector"]["matchExpressions"]
    assert requirement["values"] == ["jobs", "shop"]
    assert own["to"] == within["from"]
    assert edge["from"][0]["podSelector"] == {
        "matchExpressions": [{"key": "app", "operator": "Exists"}]
    }
    assert edge["ports"] == [{"protocol": "TCP", "port": 8080, "endPort": 8090}]
    # Pods alone are the workspace's own, in any of its namespaces.
    assert probe["from"][0]["namespaceSelector"] == within["from"][0]["namespaceSelector"]
    assert {port["port"] for port in names["ports"]} == {53}
    assert outside["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]


def test_what_is_not_said_is_not_made() -> None:
    bare = replace(WORKSPACE, quota=None, members=(), network=workspaces.Network(isolate=False))

    assert list(of(bare, "jobs")) == [
        "Namespace jobs",
        "Role jobs/volary-deployer",
        "RoleBinding jobs/volary-deployer",
    ]


def reaches(rules: tuple[workspaces.PolicyRule, ...], verb: str, resource: str) -> bool:
    return any(verb in rule.verbs and resource in rule.resources for rule in rules)


@pytest.mark.parametrize(
    "resource",
    [
        "roles",
        "rolebindings",
        "resourcequotas",
        "limitranges",
        "networkpolicies",
        "namespaces",
        "serviceaccounts/token",
        "endpoints",
        "endpointslices",
    ],
)
def test_neither_members_nor_deployments_change_their_bounds(resource: str) -> None:
    edit = workspace_rules.MEMBERS[workspaces.MemberRole.EDIT]
    for rules in (edit, workspace_rules.DEPLOYER):
        for verb in ("create", "update", "patch", "delete", "impersonate", "*"):
            assert not reaches(rules, verb, resource)


def test_the_deployer_may_do_no_more_than_edit() -> None:
    edit = workspace_rules.MEMBERS[workspaces.MemberRole.EDIT]
    assert set(workspace_rules.DEPLOYER) <= set(edit)


def test_who_only_views_sees_no_secrets() -> None:
    view = workspace_rules.MEMBERS[workspaces.MemberRole.VIEW]
    assert not reaches(view, "get", "secrets")
    assert not reaches(view, "create", "pods/exec")


def test_no_application_takes_an_object_of_a_workspace_over() -> None:
    body = of(WORKSPACE)["ResourceQuota shop/volary-quota"]
    claim = claims.claim_of(body, ownership.Owner("shop", "0123456789abcdef"))

    assert claim is not None
    assert claim.name == ""
    assert claim.who == "Volary's workspace team-a"
