"""What kube-apiserver refuses about the environment variables of a container."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.validation import checks, names, references

Causes = list[causes.Cause]

_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NO_SOURCE = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
    "`fileKeyRef`"
)


def check(path: str, container: json.JsonObject) -> Causes:
    """Refuse malformed variables of a container at `path`."""
    faults: Causes = []
    for index, variable in enumerate(container.get("env") or ()):
        where = f"{path}.env[{index}]"
        if not variable.get("name"):
            faults.append(causes.required(f"{where}.name"))
        else:
            faults += checks.named(f"{where}.name", variable["name"], names.environment_variable)
        source = variable.get("valueFrom")
        if source is not None:
            faults += _source(f"{where}.valueFrom", source, has_value=bool(variable.get("value")))
    for index, origin in enumerate(container.get("envFrom") or ()):
        faults += _origin(f"{path}.envFrom[{index}]", origin)
    return faults


def _origin(path: str, origin: json.JsonObject) -> Causes:
    given = [name for name in ("configMapRef", "secretRef") if name in origin]
    if not given:
        detail = "must specify one of: `configMapRef` or `secretRef`"
        return [causes.invalid(path, "", detail)]
    if len(given) > 1:
        return [causes.invalid(path, "", "may not have more than one field specified at a time")]
    prefix = origin.get("prefix", "")
    faults: Causes = []
    if prefix:
        faults += checks.named(f"{path}.prefix", prefix, names.environment_variable)
    where, name = f"{path}.{given[0]}.name", origin[given[0]].get("name", "")
    if not name:
        return [*faults, causes.required(where)]
    return faults + checks.named(where, name, names.subdomain)


def _source(path: str, source: json.JsonObject, *, has_value: bool) -> Causes:
    given = [name for name in _SOURCES if name in source]
    if not given:
        return [causes.invalid(path, "", _NO_SOURCE)]
    faults: Causes = []
    for name in given:
        faults += _reference(f"{path}.{name}", name, source[name])
    if has_value:
        detail = "may not be specified when `value` is not empty"
        faults.append(causes.invalid(path, "", detail))
    elif len(given) > 1:
        detail = "may not have more than one field specified at a time"
        faults.append(causes.invalid(path, "", detail))
    return faults


def _reference(path: str, kind: str, reference: json.JsonObject) -> Causes:
    match kind:
        case "fieldRef":
            return references.object_field(path, reference, _FIELDS)
        case "resourceFieldRef":
            return references.resource_field(path, reference)
        case "fileKeyRef":
            wanted = ("volumeName", "path", "key")
            return [causes.required(f"{path}.{name}") for name in wanted if not reference.get(name)]
    # Of a missing name the server says that it is malformed, of a missing key that it is missing.
    faults = checks.named(f"{path}.name", reference.get("name", ""), names.subdomain)
    if not reference.get("key"):
        return [*faults, causes.required(f"{path}.key")]
    return faults + checks.named(f"{path}.key", reference["key"], names.config_key)
