"""What objects cost in the words of ResourceQuotas, and which quotas they count for; pure."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import quantities

Usage = dict[str, Fraction]

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
#: Kinds that are counted by their plural without further ado.
_COUNTED = ("configmaps", "secrets", "replicationcontrollers", "resourcequotas", "services")
_CLASS = ".storageclass.storage.k8s.io/"


def buckets(hard: Iterable[str]) -> set[str]:
    """Return the buckets whose objects count for a quota's resources."""
    return {_bucket(name) for name in hard}


def _bucket(resource: str) -> str:
    if resource.startswith("count/"):
        return resource.removeprefix("count/")
    if resource in _COUNTED:
        return resource
    if resource.startswith("services."):
        return "services"
    claims = resource in ("persistentvolumeclaims", "requests.storage") or _CLASS in resource
    return "persistentvolumeclaims" if claims else "pods"


def of(bucket: str, body: json.JsonObject) -> Usage:
    """Return what an object costs."""
    found: Usage = {f"count/{bucket}": Fraction(1)}
    if bucket in _COUNTED:
        found[bucket] = Fraction(1)
    match bucket:
        case "pods":
            found |= _pod(body)
        case "services":
            found |= _service(body["spec"])
        case "persistentvolumeclaims":
            found |= _claim(body["spec"])
        case _:
            pass
    return found


def _pod(pod: json.JsonObject) -> Usage:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}
    spec = pod["spec"]
    found: Usage = {"pods": Fraction(1)}
    for name, value in pod_resources(spec, "requests").items():
        found[f"requests.{name}"] = value
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = value
    for name, value in pod_resources(spec, "limits").items():
        found[f"limits.{name}"] = value
    return found


def pod_resources(spec: json.JsonObject, field: str) -> Usage:
    """Return what a pod asks for: its containers together, or its largest init container."""
    total: Usage = {}
    for container in spec.get("containers") or ():
        for name, text in _listed(container, field).items():
            total[name] = total.get(name, Fraction(0)) + quantities.parse(text)
    for container in spec.get("initContainers") or ():
        for name, text in _listed(container, field).items():
            total[name] = max(total.get(name, Fraction(0)), quantities.parse(text))
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + quantities.parse(text)
    return total


def _listed(container: json.JsonObject, field: str) -> Mapping[str, str]:
    found: Mapping[str, str] = (container.get("resources") or {}).get(field) or {}
    return found


def _service(spec: json.JsonObject) -> Usage:
    found: Usage = {}
    ports = len(spec.get("ports") or ())
    if spec.get("type") == "LoadBalancer":
        found["services.loadbalancers"] = Fraction(1)
        if spec.get("allocateLoadBalancerNodePorts", True):
            found["services.nodeports"] = Fraction(ports)
    elif spec.get("type") == "NodePort":
        found["services.nodeports"] = Fraction(ports)
    return found


def _claim(spec: json.JsonObject) -> Usage:
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage", "0")
    found = {"persistentvolumeclaims": Fraction(1), "requests.storage": quantities.parse(asked)}
    if name := spec.get("storageClassName"):
        found |= {f"{name}{_CLASS}{key}": value for key, value in found.items()}
    return found


def missing(hard: Iterable[str], pod: json.JsonObject) -> str:
    """Say what a pod's containers must ask for under a quota; empty: nothing is missing."""
    spec = pod["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    found: dict[str, list[str]] = {}
    for resource in hard:
        kind, dot, name = resource.rpartition(".")
        if resource in _COMPUTE:
            kind, name, dot = "requests", resource, "."
        if not dot or kind not in ("requests", "limits") or name not in _COMPUTE:
            continue
        open_ones = [one["name"] for one in containers if name not in _listed(one, kind)]
        if open_ones:
            found[resource] = open_ones
    return "; ".join(f"{resource} for: {','.join(found[resource])}" for resource in sorted(found))


def total(bodies: Iterable[tuple[str, json.JsonObject]], hard: Mapping[str, str]) -> Usage:
    """Add up what objects cost of a quota's resources; each comes with its bucket."""
    found: Usage = dict.fromkeys(hard, Fraction(0))
    for bucket, body in bodies:
        for resource, value in of(bucket, body).items():
            if resource in found:
                found[resource] += value
    return found


def shown(used: Usage, hard: Mapping[str, str]) -> dict[str, str]:
    """Write a usage down, in the units of its limits."""
    return {name: quantities.write(value, like=hard[name]) for name, value in used.items()}


def covers(quota: json.JsonObject, bucket: str, body: json.JsonObject) -> bool:
    """Tell whether an object is within a quota's scopes; scopes are about pods only."""
    spec = quota["spec"]
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not scopes:
        return True
    return bucket == "pods" and all(_in_scope(scope, body) for scope in scopes)


def _in_scope(scope: json.JsonObject, pod: json.JsonObject) -> bool:
    spec = pod["spec"]
    limited = (spec.get("activeDeadlineSeconds") or 0) > 0
    modest = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    match scope["scopeName"]:
        case "Terminating":
            return limited
        case "NotTerminating":
            return not limited
        case "BestEffort":
            return modest
        case "NotBestEffort":
            return not modest
        case "PriorityClass":
            return _of_class(scope, spec.get("priorityClassName", ""))
        case _:
            return False


def _of_class(scope: json.JsonObject, name: str) -> bool:
    values: Sequence[str] = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)
