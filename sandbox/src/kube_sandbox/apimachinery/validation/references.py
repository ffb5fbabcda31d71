"""What kube-apiserver refuses about references to a pod's own fields and to its resources."""

import re

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes, quantities
from kube_sandbox.apimachinery.validation import checks, names

Causes = list[causes.Cause]

#: Fields of a pod that can be asked for at all.
_FIELDS = frozenset(
    (
        *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace"),
        *("metadata.uid", "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName"),
        *("spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs"),
        *("status.podIP", "status.podIPs", "spec.host"),
    )
)
_SUBSCRIPTED = re.compile(r"(.+)\['(.*)'\]\Z")
_RESOURCES = tuple(
    sorted(
        f"{group}.{name}"
        for group in ("limits", "requests")
        for name in ("cpu", "ephemeral-storage", "memory")
    )
)
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
#: What a resource may be divided by, and how a message calls the resource.
_DIVISORS = {
    "cpu": (("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"),
    "memory": (
        _BYTE_DIVISORS,
        f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the memory resource",
    ),
    "ephemeral-storage": (
        _BYTE_DIVISORS,
        f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the local "
        "ephemeral storage resource",
    ),
}


def object_field(path: str, reference: json.JsonObject, allowed: tuple[str, ...]) -> Causes:
    """Refuse a reference to a field of the pod that is not one of `allowed`."""
    for name in ("apiVersion", "fieldPath"):
        if not reference.get(name):
            return [causes.required(f"{path}.{name}")]
    field = str(reference["fieldPath"])
    subscripted = _SUBSCRIPTED.match(field)
    plain = subscripted[1] if subscripted else field
    if reference["apiVersion"] != "v1" or plain not in _FIELDS:
        detail = f"error converting fieldPath: field label not supported: {field}"
        return [causes.invalid(f"{path}.fieldPath", field, detail)]
    if subscripted is None:
        return checks.one_of(f"{path}.fieldPath", field, allowed)
    if plain == "metadata.annotations":
        return checks.named(path, subscripted[2].lower(), names.qualified)
    if plain == "metadata.labels":
        return checks.named(path, subscripted[2], names.qualified)
    return [causes.invalid(path, plain, "does not support subscript")]


def resource_field(path: str, reference: json.JsonObject, *, in_volume: bool = False) -> Causes:
    """Refuse a reference to an amount that a container does not have."""
    resource = reference.get("resource", "")
    faults: Causes = []
    if in_volume and not reference.get("containerName"):
        faults.append(causes.required(f"{path}.containerName"))
    elif not resource:
        faults.append(causes.required(f"{path}.resource"))
    elif resource not in _RESOURCES and ".hugepages-" not in resource:
        faults.append(causes.unsupported(f"{path}.resource", resource, _RESOURCES))
    name = resource.partition(".")[2]
    divisor = quantities.parse(str(reference.get("divisor", "0")))
    if divisor and name in _DIVISORS:
        allowed, detail = _DIVISORS[name]
        if divisor not in [quantities.parse(each) for each in allowed]:
            faults.append(causes.invalid(f"{path}.divisor", name, detail))
    return faults
