"""LimitRanges: defaults for containers, and bounds for containers, pods and claims."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import quantities
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry.admission import request
from kube_sandbox.apiserver.storage import cluster_state

_ANNOTATION = "kubernetes.io/limit-ranger"
_CONTAINERS = (("containers", "container"), ("initContainers", "init container"))
Resources = Mapping[str, str]


def complete(
    state: cluster_state.ClusterState, asked: request.Request, pod: json.JsonObject
) -> json.JsonObject:
    """Return a new pod with the requests and limits its namespace gives by default."""
    defaults: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for item in _items(state, asked.namespace, "Container"):
        defaults["requests"] |= item.get("defaultRequest") or {}
        defaults["limits"] |= item.get("default") or {}
    if not (defaults["requests"] or defaults["limits"]):
        return pod
    spec, notes = dict(pod["spec"]), list[str]()
    for field, word in _CONTAINERS:
        if spec.get(field):
            spec[field] = [_completed(one, defaults, word, notes) for one in spec[field]]
    if not notes:
        return pod
    metadata = pod["metadata"]
    annotations = {
        **(metadata.get("annotations") or {}),
        _ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}",
    }
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


def _completed(
    container: json.JsonObject,
    defaults: Mapping[str, Resources],
    word: str,
    notes: list[str],
) -> json.JsonObject:
    resources = dict(container.get("resources") or {})
    for field, values in defaults.items():
        given = resources.get(field) or {}
        added = {name: value for name, value in values.items() if name not in given}
        if added:
            resources[field] = {**given, **added}
            what = f"{', '.join(sorted(added))} {field.removesuffix('s')}"
            notes.append(f"{what} for {word} {container['name']}")
    return {**container, "resources": resources}


def check(state: cluster_state.ClusterState, asked: request.Request) -> None:
    """Refuse a new pod or claim that is outside the bounds of its namespace.

    Raises:
        api_errors.StatusError: 403 with everything that is.
    """
    if asked.body is None or asked.subresource:
        return
    if asked.kind is kinds.POD and asked.operation is request.Operation.CREATE:
        problems = _pod_problems(state, asked.namespace, asked.body["spec"])
    elif asked.kind is kinds.PERSISTENT_VOLUME_CLAIM:
        problems = _claim_problems(state, asked.namespace, asked.body["spec"])
    else:
        return
    if found := list(problems):
        raise asked.refuse(found[0] if len(found) == 1 else f"[{', '.join(found)}]")


def _items(
    state: cluster_state.ClusterState, namespace: str, kind: str
) -> Iterator[json.JsonObject]:
    for item in state.storage.list(kinds.LIMIT_RANGE.bucket, namespace):
        for limit in item.body["spec"].get("limits") or ():
            if limit.get("type") == kind:
                yield limit


def _pod_problems(
    state: cluster_state.ClusterState, namespace: str, spec: json.JsonObject
) -> Iterator[str]:
    for limit in _items(state, namespace, "Container"):
        for field, _ in _CONTAINERS:
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                yield from _problems(
                    limit, resources.get("requests") or {}, resources.get("limits") or {}
                )
    for limit in _items(state, namespace, "Pod"):
        containers = spec.get("containers") or ()
        yield from _problems(limit, _sums(containers, "requests"), _sums(containers, "limits"))


def _claim_problems(
    state: cluster_state.ClusterState, namespace: str, spec: json.JsonObject
) -> Iterator[str]:
    asked = (spec.get("resources") or {}).get("requests") or {}
    for limit in _items(state, namespace, "PersistentVolumeClaim"):
        yield from _problems(limit, asked, asked)


def _sums(containers: Sequence[json.JsonObject], field: str) -> Resources:
    """Add up a pod's containers; what one of them leaves open is open."""
    lists = [(container.get("resources") or {}).get(field) or {} for container in containers]
    named = set(lists[0]).intersection(*lists[1:]) if lists else set()
    return {
        name: quantities.write(sum((quantities.parse(one[name]) for one in lists), Fraction(0)))
        for name in named
    }


def _problems(limit: json.JsonObject, requests: Resources, limits: Resources) -> Iterator[str]:
    kind = limit["type"]
    for name, bound in sorted((limit.get("min") or {}).items()):
        what = f"minimum {name} usage per {kind} is {bound}"
        if name not in requests:
            yield f"{what}.  No request is specified"
        elif quantities.parse(requests[name]) < quantities.parse(bound):
            yield f"{what}, but request is {requests[name]}"
        elif name in limits and quantities.parse(limits[name]) < quantities.parse(bound):
            yield f"{what}, but limit is {limits[name]}"
    for name, bound in sorted((limit.get("max") or {}).items()):
        what = f"maximum {name} usage per {kind} is {bound}"
        if name not in limits:
            yield f"{what}.  No limit is specified"
        elif quantities.parse(limits[name]) > quantities.parse(bound):
            yield f"{what}, but limit is {limits[name]}"
        elif name in requests and quantities.parse(requests[name]) > quantities.parse(bound):
            yield f"{what}, but request is {requests[name]}"
    for name, bound in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio_problems(kind, name, bound, requests, limits)


def _ratio_problems(
    kind: str, name: str, bound: str, requests: Resources, limits: Resources
) -> Iterator[str]:
    what = f"{name} max limit to request ratio per {kind} is {bound}"
    request_value = quantities.parse(requests.get(name, "0"))
    limit_value = quantities.parse(limits.get(name, "0"))
    if not request_value:
        yield f"{what}, but no request is specified or request is 0"
    elif not limit_value:
        yield f"{what}, but no limit is specified or limit is 0"
    elif limit_value / request_value > quantities.parse(bound):
        yield f"{what}, but provided ratio is {float(limit_value / request_value):f}"
