"""Nobody grants what they do not hold, unless they may ``escalate`` or ``bind``."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import authorization, rbac, request_info
from kube_sandbox.apiserver.registry.admission import request
from kube_sandbox.apiserver.storage import cluster_state

_ROLES = (kinds.ROLE, kinds.CLUSTER_ROLE)
_BINDINGS = (kinds.ROLE_BINDING, kinds.CLUSTER_ROLE_BINDING)


def check(state: cluster_state.ClusterState, asked: request.Request) -> None:
    """Refuse a role or binding that gives more than its author holds.

    Raises:
        api_errors.StatusError: 403.
    """
    if asked.user.administrator or asked.body is None or asked.old == asked.body:
        return
    if asked.kind in _ROLES:
        if _may(state, asked, "escalate", asked.kind, asked.name):
            return
        granted: Sequence[json.JsonObject] = asked.body.get("rules") or ()
        if asked.old is not None and granted == (asked.old.get("rules") or ()):
            return
    elif asked.kind in _BINDINGS:
        reference = asked.body["roleRef"]
        role = kinds.CLUSTER_ROLE if reference.get("kind") == "ClusterRole" else kinds.ROLE
        if _may(state, asked, "bind", role, str(reference.get("name", ""))):
            return
        granted = rbac.role_rules(state, reference, asked.namespace)
    else:
        return
    held = [grant.rule for grant in rbac.grants(state, asked.user, asked.namespace)]
    if missing := rbac.missing(held, granted):
        raise asked.refuse(_message(asked, missing))


def _may(
    state: cluster_state.ClusterState,
    asked: request.Request,
    verb: str,
    role: kinds.Kind,
    name: str,
) -> bool:
    wanted = request_info.RequestInfo(verb, role.group, role.plural, asked.namespace, name)
    return authorization.decide(state, asked.user, wanted).allowed


def _message(asked: request.Request, missing: Sequence[json.JsonObject]) -> str:
    groups = " ".join(f'"{group}"' for group in asked.user.groups)
    rules = "\n".join(_shown(rule) for rule in _compacted(missing))
    return (
        f'user "{asked.user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions '
        f"not currently held:\n{rules}"
    )


def _compacted(rules: Sequence[json.JsonObject]) -> list[json.JsonObject]:
    """Join rules that differ in their verb only, and sort them."""
    joined: dict[str, json.JsonObject] = {}
    for rule in rules:
        rest = {key: value for key, value in rule.items() if key != "verbs"}
        known = joined.setdefault(_shown(rest), {**rest, "verbs": []})
        known["verbs"] = [*known["verbs"], *rule["verbs"]]
    return [joined[key] for key in sorted(joined)]


def _shown(rule: json.JsonObject) -> str:
    """Show a rule as the server does: ``{APIGroups:[""], Resources:["pods"], Verbs:["get"]}``."""
    names = {
        "apiGroups": "APIGroups",
        "resources": "Resources",
        "resourceNames": "ResourceNames",
        "nonResourceURLs": "NonResourceURLs",
        "verbs": "Verbs",
    }
    parts = [
        f"{shown}:[{' '.join(f'{chr(34)}{value}{chr(34)}' for value in rule[key])}]"
        for key, shown in names.items()
        if rule.get(key)
    ]
    return f"{{{', '.join(parts)}}}"
