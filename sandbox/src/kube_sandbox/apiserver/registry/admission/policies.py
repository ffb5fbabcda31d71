"""ValidatingAdmissionPolicies: rules in CEL that refuse a write or warn about it.

There are the functions that rules of custom resources have; an expression that needs another
one, or ``authorizer``, fails, and the policy's failurePolicy says what that means.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, selectors
from kube_sandbox.apimachinery.scheme import conversions, kinds
from kube_sandbox.apimachinery.validation import expressions
from kube_sandbox.apiserver.registry.admission import request
from kube_sandbox.apiserver.storage import cluster_state

_ALL = "*"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
#: Policies are not asked about themselves: a wrong one could not be mended.
_EXEMPT = (kinds.ADMISSION_POLICY, kinds.ADMISSION_POLICY_BINDING)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A rule that does not hold, or an expression that could not be evaluated."""

    message: str
    reason: str = "Invalid"


def check(state: cluster_state.ClusterState, asked: request.Request) -> tuple[str, ...]:
    """Ask all policies; return what their author shall be warned of.

    Raises:
        api_errors.StatusError: A policy refuses the write.
    """
    if not state.storage.count(kinds.ADMISSION_POLICY_BINDING.bucket) or asked.kind in _EXEMPT:
        return ()
    denied: list[_Failure] = []
    warnings: list[str] = []
    for item in state.storage.list(kinds.ADMISSION_POLICY_BINDING.bucket):
        binding = item.body
        policy = state.find(kinds.ADMISSION_POLICY, "", binding["spec"].get("policyName", ""))
        if policy is None or not _concerns(state, policy, binding, asked):
            continue
        actions = binding["spec"].get("validationActions") or ()
        names = (policy["metadata"]["name"], binding["metadata"]["name"])
        for failure in _failures(state, policy, binding, asked):
            where = "ValidatingAdmissionPolicy '{}' with binding '{}'".format(*names)
            if "Deny" in actions:
                told = f"{where} denied request: {failure.message}"
                denied.append(_Failure(told, failure.reason))
            if "Warn" in actions:
                warnings.append(f"Validation failed for {where}: {failure.message}")
    if denied:
        raise _refusal(asked, denied[0])
    return tuple(warnings)


def _refusal(asked: request.Request, failure: _Failure) -> api_errors.StatusError:
    problem = asked.refuse(failure.message)
    details = {**problem.body["details"], "causes": [{"message": failure.message}]}
    code = _CODES.get(failure.reason, 422)
    return api_errors.StatusError(code, problem.message, reason=failure.reason, details=details)


def _concerns(
    state: cluster_state.ClusterState,
    policy: json.JsonObject,
    binding: json.JsonObject,
    asked: request.Request,
) -> bool:
    constraints = policy["spec"].get("matchConstraints") or {}
    narrowed = binding["spec"].get("matchResources")
    return _matches(state, constraints, asked, by_default=False) and (
        narrowed is None or _matches(state, narrowed, asked, by_default=True)
    )


def _matches(
    state: cluster_state.ClusterState,
    constraints: json.JsonObject,
    asked: request.Request,
    *,
    by_default: bool,
) -> bool:
    """Tell whether a write is among the resources; without rules `by_default` holds."""
    if not _labels_match(state, constraints, asked):
        return False
    if any(_rule_matches(rule, asked) for rule in constraints.get("excludeResourceRules") or ()):
        return False
    rules = constraints.get("resourceRules") or ()
    if not rules:
        return by_default
    return any(_rule_matches(rule, asked) for rule in rules)


def _labels_match(
    state: cluster_state.ClusterState, constraints: json.JsonObject, asked: request.Request
) -> bool:
    selector = selectors.from_object(constraints.get("objectSelector"))
    bodies = [body for body in (asked.body, asked.old) if body is not None]
    if not any(selector.matches(body["metadata"].get("labels")) for body in bodies):
        return False
    place = asked.namespace
    if asked.kind is kinds.NAMESPACE:
        labels = bodies[0]["metadata"].get("labels")
    elif place:
        namespace = state.find(kinds.NAMESPACE, "", place)
        labels = (namespace or {"metadata": {}})["metadata"].get("labels")
    else:
        return True
    return selectors.from_object(constraints.get("namespaceSelector")).matches(labels)


def _rule_matches(rule: json.JsonObject, asked: request.Request) -> bool:
    scope = rule.get("scope", _ALL)
    if scope != _ALL and (scope == "Namespaced") is not asked.kind.namespaced:
        return False
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("operations"), asked.operation)
        and _has(rule.get("apiGroups"), asked.kind.group)
        and _has(rule.get("apiVersions"), asked.kind.version)
        and any(_resource_matches(one, asked) for one in rule.get("resources") or ())
        and (not names or asked.name in names)
    )


def _has(values: Sequence[str] | None, wanted: str) -> bool:
    return _ALL in (values or ()) or wanted in (values or ())


def _resource_matches(pattern: str, asked: request.Request) -> bool:
    plural, _, part = pattern.partition("/")
    return plural in (_ALL, asked.kind.plural) and (
        part == asked.subresource or (part == _ALL and "/" in pattern)
    )


def _failures(
    state: cluster_state.ClusterState,
    policy: json.JsonObject,
    binding: json.JsonObject,
    asked: request.Request,
) -> Iterator[_Failure]:
    spec = policy["spec"]
    strict = spec.get("failurePolicy", "Fail") == "Fail"
    try:
        for params in _parameters(state, policy, binding, asked):
            values = _values(state, asked, params, spec.get("variables") or ())
            if not all(_truth(one, values) for one in spec.get("matchConditions") or ()):
                continue
            yield from _broken(spec.get("validations") or (), values, strict=strict)
    except expressions.ExpressionError as problem:
        if strict:
            yield _Failure(str(problem))


def _broken(
    validations: Sequence[json.JsonObject], values: Mapping[str, Any], *, strict: bool
) -> Iterator[_Failure]:
    for validation in validations:
        reason = validation.get("reason", "Invalid")
        try:
            if not _truth(validation, values):
                yield _Failure(_message(validation, values), reason)
        except expressions.ExpressionError as problem:
            if strict:
                yield _Failure(str(problem), reason)


def _truth(rule: json.JsonObject, values: Mapping[str, Any]) -> bool:
    text = rule["expression"]
    try:
        return expressions.evaluate(text, values) is True
    except expressions.ExpressionError as problem:
        raise expressions.ExpressionError(
            f"expression '{text}' resulted in error: {problem}"
        ) from problem


def _message(validation: json.JsonObject, values: Mapping[str, Any]) -> str:
    fallback = validation.get("message") or f"failed expression: {validation['expression']}"
    text = validation.get("messageExpression")
    if not text:
        return str(fallback)
    try:
        told = expressions.evaluate(text, values)
    except expressions.ExpressionError:
        return str(fallback)
    return told if isinstance(told, str) and told.strip() else str(fallback)


def _values(
    state: cluster_state.ClusterState,
    asked: request.Request,
    params: json.JsonObject | None,
    variables: Sequence[json.JsonObject],
) -> dict[str, Any]:
    """Return what expressions can ask by: the objects, the request, the policy's variables."""
    namespace = state.find(kinds.NAMESPACE, "", asked.namespace) if asked.namespace else None
    values: dict[str, Any] = {
        "object": None if asked.body is None else conversions.outward(asked.kind, asked.body),
        "oldObject": None if asked.old is None else conversions.outward(asked.kind, asked.old),
        "request": _request(asked),
        "params": params,
        "namespaceObject": namespace,
    }
    known: dict[str, object] = {}
    values["variables"] = known
    for variable in variables:
        # Evaluated in their order; one that fails is missing for those that need it.
        try:
            known[variable["name"]] = expressions.evaluate(variable["expression"], values)
        except expressions.ExpressionError:
            continue
    return values


def _request(asked: request.Request) -> json.JsonObject:
    kind, user = asked.kind, asked.user
    version = {"group": kind.group, "version": kind.version}
    return {
        "kind": {**version, "kind": kind.name},
        "resource": {**version, "resource": kind.plural},
        "subResource": asked.subresource,
        "name": asked.name,
        "namespace": asked.namespace,
        "operation": str(asked.operation),
        "userInfo": {
            "username": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {key: list(values) for key, values in user.extra.items()},
        },
        "dryRun": asked.dry_run,
    }


def _parameters(
    state: cluster_state.ClusterState,
    policy: json.JsonObject,
    binding: json.JsonObject,
    asked: request.Request,
) -> Iterator[json.JsonObject | None]:
    """Yield the objects a policy is asked with, one after the other; None: it takes none."""
    wanted, reference = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
    if not wanted or not reference:
        yield None
        return
    kind = state.served.require(wanted.get("apiVersion", ""), wanted.get("kind", ""))
    namespace = reference.get("namespace") or asked.namespace if kind.namespaced else ""
    found: list[json.JsonObject] = []
    if reference.get("name"):
        one = state.find(kind, namespace, reference["name"])
        found = [one] if one is not None else []
    elif "selector" in reference:
        selector = selectors.from_object(reference["selector"])
        items = state.storage.list(kind.bucket, namespace)
        found = [
            item.body for item in items if selector.matches(item.body["metadata"].get("labels"))
        ]
    if not found and reference.get("parameterNotFoundAction", "Deny") == "Deny":
        raise expressions.ExpressionError(
            "failed to configure binding: no params found for policy binding with `Deny` "
            "parameterNotFoundAction"
        )
    yield from found
