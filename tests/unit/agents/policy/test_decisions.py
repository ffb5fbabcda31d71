"""What a policy permits, and why not."""

import pytest

from volary.agents.policy import api_requests, decisions
from volary.model import agent_policies
from volary.model.agent_policies import AgentPolicy, ReadAccess, Rule

WORK = decisions.Work("shop-web", "team-a", "K8S_SYNC")
DEPLOYMENT = decisions.Target("apps", "Deployment", "team-a")
SERVICE = decisions.Target("", "Service", "team-a")
ROLE = decisions.Target("rbac.authorization.k8s.io", "ClusterRole")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule(), ""),
        (Rule(projects=("team-a", "team-b")), ""),
        (Rule(projects=("team-b",)), "it is not for project team-a"),
        (Rule(applications=("shop-*",)), ""),
        (Rule(applications=("shop",)), "it is not for application shop-web"),
        (Rule(stages=("K8S_SYNC", "K8S_ROLLBACK")), ""),
        (Rule(stages=("K8S_CANARY_*",)), "it is not for stage K8S_SYNC"),
        (Rule(namespaces=("team-*",)), ""),
        (Rule(namespaces=("team",)), "it is not for apps/Deployment in namespace team-a"),
        (Rule(kinds=("apps/*", "Service")), ""),
        (Rule(kinds=("apps/*",)), "it is not for Service in namespace team-a"),
        (Rule(kinds=("Deployment", "Service")), "it is not for apps/Deployment in namespace"),
        (Rule(kinds=("*",)), ""),
    ],
)
def test_one_rule_has_to_permit_everything(rule: Rule, why: str) -> None:
    policy = AgentPolicy(rules=(rule,), file="policy.yaml")

    said = decisions.refusal_of_work(policy, WORK, [DEPLOYMENT, SERVICE])

    if not why:
        assert said == ""
    else:
        assert why in said
        assert said.endswith("(policy.yaml)")


def test_what_belongs_to_no_namespace_is_permitted_by_name_only() -> None:
    rules = Rule(), Rule(cluster_scoped=True, kinds=("rbac.authorization.k8s.io/*",))

    assert "clusterScoped" in decisions.refusal_of_work(AgentPolicy(rules=rules[:1]), WORK, [ROLE])
    assert decisions.refusal_of_work(AgentPolicy(rules=rules[1:]), WORK, [ROLE]) == ""
    both = decisions.refusal_of_work(AgentPolicy(rules=rules), WORK, [ROLE, SERVICE])
    assert "rule 1: " in both, "each rule says what it lacks: together they do not permit it"
    assert "rule 2: it is not for Service in namespace team-a" in both


def test_the_empty_policy_permits_nothing() -> None:
    nothing = AgentPolicy()
    read = api_requests.read("GET", "/api/v1/namespaces/a/pods")

    assert "it has no rules" in decisions.refusal_of_work(nothing, WORK)
    assert "read is not set" in decisions.refusal_of_request(nothing, read)
    assert decisions.refusal_of_impersonation(nothing, user="ann", groups=()) != ""
    assert decisions.refusal_of_request(nothing, api_requests.read("GET", "/readyz")) == ""


def refused(access: ReadAccess | None, target: str, method: str = "GET") -> str:
    return decisions.refusal_of_request(
        AgentPolicy(read=access, file="policy.yaml"), api_requests.read(method, target)
    )


def test_secrets_are_read_when_the_policy_says_so() -> None:
    closed, opened = ReadAccess(), ReadAccess(secrets=True)
    reads = (
        ("/api/v1/secrets", "GET"),
        ("/api/v1/namespaces/a/secrets/key", "GET"),
        ("/api/v1/namespaces/a/secrets?watch=1", "GET"),
        # Its answer has the values as well.
        ("/api/v1/namespaces/a/secrets/key?dryRun=All", "PATCH"),
    )

    for target, method in reads:
        assert "read.secrets is false" in refused(closed, target, method)
        assert refused(opened, target, method) == ""
    assert refused(closed, "/apis/external-secrets.io/v1/secrets") == "", "only those of the core"


def test_namespaces_narrow_what_is_read() -> None:
    access = ReadAccess(namespaces=("team-a",))

    assert refused(access, "/api/v1/namespaces/team-a/pods?watch=1") == ""
    assert refused(access, "/api/v1/namespaces/team-a") == ""
    assert "does not have team-b" in refused(access, "/api/v1/namespaces/team-b/pods")
    assert "does not have team-b" in refused(
        access, "/apis/apps/v1/namespaces/team-b/deployments/x?dryRun=All", "PATCH"
    )
    assert "all namespaces" in refused(access, "/api/v1/pods")
    assert refused(access, "/api/v1/nodes") == ""
    assert "clusterScoped" in refused(
        ReadAccess(namespaces=("team-a",), cluster_scoped=False), "/api/v1/nodes"
    )
    # A kind that is namespaced as far as is known here.
    assert "all namespaces" in refused(access, "/apis/example.org/v1/things")


def test_logs_can_be_left_out() -> None:
    log = "/api/v1/namespaces/a/pods/web/log"

    assert refused(ReadAccess(), log) == ""
    assert "read.logs is false" in refused(ReadAccess(logs=False), log)


@pytest.mark.parametrize(
    ("user", "groups", "is_permitted"),
    [
        ("system:serviceaccount:team-a:deployer", (), True),
        ("system:serviceaccount:team-b:deployer", (), False),
        ("system:serviceaccount:team-a:deployer", ("team-a",), True),
        ("system:serviceaccount:team-a:deployer", ("system:authenticated",), True),
        ("system:serviceaccount:team-a:deployer", ("system:masters",), False),
        ("", ("team-a",), False),
        ("group:team-a", (), False),
    ],
)
def test_who_may_be_impersonated(user: str, groups: tuple[str, ...], is_permitted: bool) -> None:
    policy = AgentPolicy(
        impersonate=("system:serviceaccount:team-a:*", "group:team-a"), file="policy.yaml"
    )

    said = decisions.refusal_of_impersonation(policy, user=user, groups=groups)

    assert (said == "") is is_permitted


def test_a_policy_says_what_it_permits() -> None:
    policy = AgentPolicy(
        agent_policies.ReadAccess(("team-a",), secrets=True),
        ("ann",),
        (Rule(projects=("team-a",), kinds=("apps/*",)), Rule(cluster_scoped=True)),
    )

    assert decisions.summary(policy) == (
        "reads namespaces team-a, with Secrets",
        "requests for ann",
        "tasks: projects team-a; kinds apps/*",
        "tasks: also of no namespace",
    )
    assert decisions.summary(AgentPolicy()) == ("reads nothing", "no tasks")
