"""Questions about who one is and what one may do; they are answered and not stored."""

from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apiserver.access import authentication, authorization, rbac, request_info, tokens
from kube_sandbox.apiserver.storage import cluster_state, verbs


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Answers the reviews of one cluster."""

    state: cluster_state.ClusterState
    authenticator: authentication.Authenticator

    def answer(self, kind: str, body: object, user: verbs.User, namespace: str) -> json.JsonObject:
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
            "spec": _without_empty(spec),
        }
        match kind:
            case "SelfSubjectReview":
                del told["spec"]
                told["metadata"] = {"creationTimestamp": self.state.stamp()}
                told["status"] = {"userInfo": user_info(user)}
            case "SelfSubjectRulesReview":
                told["spec"] = {}
                told["status"] = self._rules(user, str(spec.get("namespace", "")))
            case "SelfSubjectAccessReview":
                told["status"] = self._access(user, spec, namespace)
            case "TokenReview":
                told["status"] = self._token(spec)
            case _:
                told["status"] = self._access(_subject(spec), spec, namespace)
        return told

    def _access(self, user: verbs.User, spec: json.JsonObject, namespace: str) -> json.JsonObject:
        decision = authorization.decide(self.state, user, _request(spec, namespace))
        told: json.JsonObject = {"allowed": decision.allowed}
        if decision.reason:
            told["reason"] = decision.reason
        return told

    def _rules(self, user: verbs.User, namespace: str) -> json.JsonObject:
        resources: list[json.JsonObject] = []
        others: list[json.JsonObject] = []
        for grant in rbac.grants(self.state, user, namespace):
            rule = _without_empty(grant.rule)
            (others if "nonResourceURLs" in rule else resources).append(rule)
        return {"resourceRules": resources, "nonResourceRules": others, "incomplete": False}

    def _token(self, spec: json.JsonObject) -> json.JsonObject:
        audiences = tuple(spec.get("audiences") or (tokens.AUDIENCE,))
        try:
            user = self.authenticator.holder(str(spec.get("token", "")), audiences)
        except tokens.TokenError as problem:
            return {"user": {}, "error": str(problem)}
        return {"authenticated": True, "user": user_info(user), "audiences": list(audiences)}


def user_info(user: verbs.User) -> json.JsonObject:
    """Show a user as the API does (``userInfo``)."""
    shown = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {key: value for key, value in shown.items() if value}


def _subject(spec: json.JsonObject) -> verbs.User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    return verbs.User(str(spec.get("user", "")), groups, str(spec.get("uid", "")), extra)


def _request(spec: json.JsonObject, namespace: str) -> request_info.RequestInfo:
    """Return the request a review asks about."""
    asked = spec.get("resourceAttributes")
    if not asked:
        other = spec.get("nonResourceAttributes") or {}
        return request_info.RequestInfo(other.get("verb", ""), path=other.get("path", ""))
    resource = asked.get("resource", "")
    if asked.get("subresource"):
        resource = f"{resource}/{asked['subresource']}"
    return request_info.RequestInfo(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        resource=resource,
        namespace=asked.get("namespace", "") or namespace,
        name=asked.get("name", ""),
    )


def _without_empty(value: json.JsonObject) -> json.JsonObject:
    """Leave out empty strings, lists and objects, as the server's structs do."""
    kept = {
        key: _without_empty(inner) if isinstance(inner, dict) else inner
        for key, inner in value.items()
    }
    return {key: inner for key, inner in kept.items() if inner not in ("", [], {}, None)}
