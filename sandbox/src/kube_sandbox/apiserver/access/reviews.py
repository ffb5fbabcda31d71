"""Questions about who one is and what one may do; they are answered and not stored."""

from collections.abc import Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import request_info, users


def answer(
    kind: str, body: object, user: users.User, known: Sequence[users.User], namespace: str
) -> json.JsonObject:
    """Return the review with its status filled in.

    Raises:
        api_errors.StatusError: 400, it is none.
    """
    review = body if isinstance(body, dict) else {}
    spec = review.get("spec") or {}
    if not isinstance(spec, dict):
        raise api_errors.bad_request(f"{kind}: spec must be an object")
    told: json.JsonObject = {
        "kind": kind,
        "apiVersion": review.get("apiVersion", ""),
        "metadata": review.get("metadata") or {},
    }
    match kind:
        case "SelfSubjectReview":
            who = {"username": user.name, "groups": list(user.groups)}
            return {**told, "status": {"userInfo": who}}
        case "SelfSubjectRulesReview":
            return {**told, "spec": spec, "status": _rules(user)}
        case "SelfSubjectAccessReview":
            return {**told, "spec": spec, "status": _access(user, spec, namespace)}
        case _:
            asked = next((each for each in known if each.name == spec.get("user")), None)
            asked = asked or users.User(str(spec.get("user", "")), "", groups=())
            return {**told, "spec": spec, "status": _access(asked, spec, namespace)}


def _access(user: users.User, spec: json.JsonObject, namespace: str) -> json.JsonObject:
    asked = spec.get("resourceAttributes")
    if not asked:
        path = (spec.get("nonResourceAttributes") or {}).get("path", "")
        return {"allowed": user is not users.ANONYMOUS or path.startswith(users.PUBLIC)}
    resource = asked.get("resource", "")
    if asked.get("subresource"):
        resource = f"{resource}/{asked['subresource']}"
    line = request_info.RequestInfo(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        resource=resource,
        namespace=asked.get("namespace", "") or namespace,
        name=asked.get("name", ""),
    )
    return {"allowed": user.may(line)}


def _rules(user: users.User) -> json.JsonObject:
    everything = users.Permission()
    allowed = (everything,) if user.administrator else user.permissions
    rules = [
        {
            "verbs": sorted(each.verbs),
            "apiGroups": sorted(each.groups),
            "resources": sorted(each.resources),
        }
        for each in allowed
    ]
    return {"resourceRules": rules, "nonResourceRules": [], "incomplete": False}
