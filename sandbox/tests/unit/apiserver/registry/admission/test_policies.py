"""ValidatingAdmissionPolicies: whom they are asked about, and what their answers mean."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["*"],
    "resources": ["configmaps"],
}
MERGE = verbs.PatchType.MERGE


@pytest.fixture
def cluster() -> registry.Registry:
    made = registry.Registry(FixedClock())
    for name, labels in (("a", {"strict": "yes"}), ("b", {})):
        made.create(kinds.NAMESPACE, "", {"metadata": {"name": name, "labels": labels}})
    return made


def _policy(
    cluster: registry.Registry,
    expression: str,
    *,
    binding: dict[str, Any] | None = None,
    validation: dict[str, Any] | None = None,
    constraints: dict[str, Any] | None = None,
    **spec: Any,
) -> None:
    body = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE], **(constraints or {})},
            "validations": [{"expression": expression, **(validation or {})}],
            **spec,
        },
    }
    cluster.create(kinds.ADMISSION_POLICY, "", body)
    bound = {"policyName": "p", "validationActions": ["Deny"], **(binding or {})}
    cluster.create(kinds.ADMISSION_POLICY_BINDING, "", {"metadata": {"name": "b"}, "spec": bound})


def _create(cluster: registry.Registry, namespace: str = "a", **data: str) -> verbs.Written:
    kind = cluster.kind("v1", "ConfigMap")
    return cluster.create(
        kind, namespace, {"metadata": {"name": "x"}, "data": data}, verbs.Options(manager="m")
    )


def _refused(cluster: registry.Registry, namespace: str = "a", **data: str) -> Any:
    with pytest.raises(api_errors.StatusError) as refused:
        _create(cluster, namespace, **data)
    return refused.value


def test_a_rule_that_does_not_hold_denies(cluster: registry.Registry) -> None:
    _policy(cluster, "object.data.size == 'small'", validation={"reason": "Forbidden"})

    problem = _refused(cluster, size="large")
    _create(cluster, size="small")

    assert (problem.code, problem.reason) == (403, "Forbidden")
    assert "denied request: failed expression: object.data.size == 'small'" in problem.message


def test_updates_and_deletions_are_asked_about(cluster: registry.Registry) -> None:
    _policy(cluster, "request.operation == 'CREATE' || oldObject.data.locked != 'yes'")
    kind = cluster.kind("v1", "ConfigMap")
    _create(cluster, locked="yes")

    with pytest.raises(api_errors.StatusError, match="denied request"):
        cluster.patch(kind, "a", "x", {"data": {"k": "v"}}, MERGE)
    with pytest.raises(api_errors.StatusError, match="denied request"):
        cluster.delete(kind, "a", "x")

    assert cluster.get(kind, "a", "x")["data"] == {"locked": "yes"}


@pytest.mark.parametrize(
    "constraints",
    [
        {"namespaceSelector": {"matchLabels": {"strict": "yes"}}},
        {"excludeResourceRules": [{**RULE, "resourceNames": ["x"]}]},
    ],
)
def test_constraints_leave_objects_out(
    cluster: registry.Registry, constraints: dict[str, Any]
) -> None:
    _policy(cluster, "false", constraints=constraints)

    assert _create(cluster, "b").created


@pytest.mark.parametrize(
    "narrowed",
    [
        {"resourceRules": [{**RULE, "operations": ["DELETE"]}]},
        {"objectSelector": {"matchLabels": {"checked": "yes"}}},
    ],
)
def test_a_binding_narrows_its_policy(cluster: registry.Registry, narrowed: dict[str, Any]) -> None:
    _policy(cluster, "false", binding={"matchResources": narrowed})

    assert _create(cluster).created


def test_match_conditions_come_first(cluster: registry.Registry) -> None:
    condition = {"name": "people", "expression": "request.userInfo.username == 'ann'"}
    _policy(cluster, "false", matchConditions=[condition])
    kind = cluster.kind("v1", "ConfigMap")
    body = {"metadata": {"name": "y"}}

    with pytest.raises(api_errors.StatusError, match="denied request"):
        cluster.create(kind, "a", body, verbs.Options(user=verbs.User("ann")))
    assert cluster.create(kind, "a", body).created


def test_variables_and_messages_are_computed(cluster: registry.Registry) -> None:
    _policy(
        cluster,
        "variables.count <= 1",
        validation={"messageExpression": "'too many: ' + string(variables.count)"},
        variables=[{"name": "count", "expression": "size(object.data)"}],
    )

    assert _refused(cluster, a="1", b="2").message.endswith("denied request: too many: 2")


def test_parameters_are_looked_up(cluster: registry.Registry) -> None:
    _policy(
        cluster,
        "!(params.data.forbidden in object.data)",
        paramKind={"apiVersion": "v1", "kind": "Secret"},
        binding={"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}},
    )

    without = _refused(cluster, ok="1")
    limits = {"metadata": {"name": "limits"}, "data": {"forbidden": "YmFk"}}
    cluster.create(cluster.kind("v1", "Secret"), "a", limits)

    assert "no params found" in without.message
    assert "failed expression" in _refused(cluster, YmFk="1").message
    assert _create(cluster, ok="1").created


@pytest.mark.parametrize("expression", ["object.data.missing == 'x'", "1 +", "authorizer.x()"])
def test_an_expression_without_a_value(cluster: registry.Registry, expression: str) -> None:
    _policy(cluster, expression)
    problem = _refused(cluster, k="v")
    policy = cluster.get(kinds.ADMISSION_POLICY, "", "p")
    lenient = {**policy, "spec": {**policy["spec"], "failurePolicy": "Ignore"}}
    cluster.update(kinds.ADMISSION_POLICY, "", "p", lenient)

    assert f"expression '{expression}' resulted in error" in problem.message
    assert _create(cluster, k="v").created


def test_a_warning_lets_pass(cluster: registry.Registry) -> None:
    _policy(
        cluster,
        "false",
        validation={"message": "think twice"},
        binding={"validationActions": ["Warn", "Audit"]},
    )

    warned = _create(cluster)

    assert warned.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': think twice",
    )


def test_policies_are_not_asked_about_themselves(cluster: registry.Registry) -> None:
    everything = {**RULE, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    _policy(cluster, "false", constraints={"resourceRules": [everything]})

    _refused(cluster)
    cluster.delete(kinds.ADMISSION_POLICY_BINDING, "", "b")

    assert _create(cluster).created
