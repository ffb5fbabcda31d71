"""Policy files: what they say, and what is wrong with them."""

import textwrap

import pytest

from volary.config.agents import policy_files
from volary.model import agent_policies

HEAD = "apiVersion: volary.dev/v1\nkind: AgentPolicy\nspec:\n"


def parse(spec: str) -> tuple[agent_policies.AgentPolicy | None, list[str]]:
    text = HEAD + textwrap.indent(textwrap.dedent(spec).strip("\n"), "  ") + "\n"
    loaded = policy_files.parse(text, file="policy.yaml")
    return loaded.value, [str(problem) for problem in loaded.problems]


def test_everything_that_may_be_written() -> None:
    policy, problems = parse(
        """
        read: {namespaces: [team-a], clusterScoped: false, secrets: true, logs: false}
        impersonate: ["system:serviceaccount:team-a:deployer", "group:team-a"]
        rules:
        - projects: [team-a]
          applications: ["shop*"]
          namespaces: [team-a]
          kinds: ["apps/*", Service]
          clusterScoped: true
          stages: [K8S_SYNC]
        """
    )

    assert problems == []
    assert policy == agent_policies.AgentPolicy(
        agent_policies.ReadAccess(("team-a",), False, True, False),
        ("system:serviceaccount:team-a:deployer", "group:team-a"),
        (
            agent_policies.Rule(
                ("team-a",), ("shop*",), ("team-a",), ("apps/*", "Service"), True, ("K8S_SYNC",)
            ),
        ),
        "policy.yaml",
    )


@pytest.mark.parametrize(
    ("spec", "read"),
    [
        ("read: true", agent_policies.ReadAccess()),
        ("read: false", None),
        ("rules: []", None),
        ("read: {secrets: true}", agent_policies.ReadAccess(secrets=True)),
    ],
)
def test_what_may_be_read(spec: str, read: agent_policies.ReadAccess | None) -> None:
    policy, problems = parse(spec)

    assert problems == []
    assert policy is not None
    assert policy.read == read


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rule: []", "policy.yaml:4: spec.rule: unknown field rule"),
        ("read: maybe", "policy.yaml:4: spec.read: must be"),
        ("read: {namespaces: [A_B]}", "policy.yaml:4: spec.read.namespaces[0]"),
        ('impersonate: ["*"]', "* would let servers do everything"),
        ('impersonate: ["group:system:masters"]', "would let servers do everything"),
        ("rules: [{kinds: [Pod Service]}]", "Pod Service matches nothing"),
        ("rules: [{kinds: [apps/v1/Deployment]}]", "apps/v1/Deployment matches nothing"),
        ("rules: [{namespaces: team-a}]", "policy.yaml:4: spec.rules[0].namespaces"),
        ("rules: [{clusterScoped: yes please}]", "spec.rules[0].clusterScoped"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(spec: str, said: str) -> None:
    policy, problems = parse(spec)

    assert any(said in problem for problem in problems), problems
    assert policy is None


@pytest.mark.parametrize(
    "text", ["", "[]", "kind: Fleet", "apiVersion: volary.dev/v1\nkind: AgentPolicy\n", "{"]
)
def test_another_file_is_none(text: str) -> None:
    assert policy_files.parse(text, file="policy.yaml").value is None
