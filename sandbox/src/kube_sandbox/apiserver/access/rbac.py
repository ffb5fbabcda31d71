"""The rules of a user: what roles and bindings grant, cluster-wide and in one namespace."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import request_info, users
from kube_sandbox.apiserver.storage import cluster_state, verbs

_ALL = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    """A rule that holds for a user, and where it comes from."""

    rule: json.JsonObject
    #: ``RoleBinding "a/ns" of Role "b" to User "c"``.
    source: str


def grants(
    state: cluster_state.ClusterState, user: verbs.User, namespace: str = ""
) -> Iterator[Grant]:
    """Yield what holds for a user in the whole cluster, then what holds in the namespace."""
    yield from _bound(state, user, kinds.CLUSTER_ROLE_BINDING, "")
    if namespace:
        yield from _bound(state, user, kinds.ROLE_BINDING, namespace)


def _bound(
    state: cluster_state.ClusterState, user: verbs.User, kind: kinds.Kind, namespace: str
) -> Iterator[Grant]:
    for item in state.storage.list(kind.bucket, namespace):
        binding = item.body
        subject = next(
            (one for one in binding.get("subjects") or () if _is(one, user, namespace)), None
        )
        if subject is None:
            continue
        reference = binding["roleRef"]
        name = binding["metadata"]["name"]
        place = f"{name}/{namespace}" if namespace else name
        role = f'{reference["kind"]} "{reference["name"]}"'
        source = f'{kind.name} "{place}" of {role} to {_shown(subject, namespace)}'
        for rule in role_rules(state, reference, namespace):
            yield Grant(rule, source)


def _is(subject: json.JsonObject, user: verbs.User, namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return name in (user.name, _ALL)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and users.service_account(home, name).name == user.name
        case _:
            return False


def _shown(subject: json.JsonObject, namespace: str) -> str:
    kind, name = subject["kind"], subject["name"]
    if kind == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{kind} "{name}"'


def role_rules(
    state: cluster_state.ClusterState, reference: json.JsonObject, namespace: str
) -> Sequence[json.JsonObject]:
    """Return the rules of the role a binding refers to; none when there is no such role."""
    in_cluster = reference.get("kind") == "ClusterRole"
    kind = kinds.CLUSTER_ROLE if in_cluster else kinds.ROLE
    role = state.find(kind, "" if in_cluster else namespace, str(reference.get("name", "")))
    rules: Sequence[json.JsonObject] = (role or {}).get("rules") or ()
    return rules


def allows(rule: json.JsonObject, request: request_info.RequestInfo) -> bool:
    """Tell whether a rule allows a request."""
    if not _has(rule.get("verbs"), request.verb):
        return False
    if not request.resource:
        return any(_path_matches(url, request.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames") or ()
    return (
        _has(rule.get("apiGroups"), request.group)
        and _resource_matches(rule.get("resources") or (), request.resource)
        and (not names or request.name in names)
    )


def _has(values: Sequence[str] | None, wanted: str) -> bool:
    return values is not None and (_ALL in values or wanted in values)


def _resource_matches(resources: Sequence[str], wanted: str) -> bool:
    subresource = wanted.partition("/")[2]
    return _has(resources, wanted) or (bool(subresource) and f"*/{subresource}" in resources)


def _path_matches(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith(_ALL) and path.startswith(pattern[:-1]))


def missing(
    held: Sequence[json.JsonObject], wanted: Sequence[json.JsonObject]
) -> list[json.JsonObject]:
    """Return the parts of `wanted` that no rule of `held` covers, each as a rule of its own."""
    return [
        part
        for rule in wanted
        for part in _parts(rule)
        if not any(_covers(own, part) for own in held)
    ]


def _parts(rule: json.JsonObject) -> Iterator[json.JsonObject]:
    """Split a rule into rules of one verb and one resource or path."""
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                part = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                names = rule.get("resourceNames") or ()
                yield from ({**part, "resourceNames": [name]} for name in names)
                if not names:
                    yield part
    for url in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"verbs": [verb], "nonResourceURLs": [url]}


def _covers(own: json.JsonObject, part: json.JsonObject) -> bool:
    if not _has(own.get("verbs"), part["verbs"][0]):
        return False
    if "nonResourceURLs" in part:
        (url,) = part["nonResourceURLs"]
        return any(_path_matches(pattern, url) for pattern in own.get("nonResourceURLs") or ())
    names = own.get("resourceNames") or ()
    return (
        _has(own.get("apiGroups"), part["apiGroups"][0])
        and _resource_matches(own.get("resources") or (), part["resources"][0])
        and (not names or (bool(part.get("resourceNames")) and part["resourceNames"][0] in names))
    )
