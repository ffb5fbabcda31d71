"""What a request to a Kubernetes API asks for, read from its method and path."""

from collections.abc import Mapping
from dataclasses import dataclass

from kube_sandbox.apimachinery.meta import parameters

_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Verb and object of a request, in the words of Kubernetes' authorisation."""

    #: ``get list watch create update patch delete deletecollection``; the method in lower
    #: case for paths that are no resources.
    verb: str
    group: str = ""
    #: Plural, with the subresource: ``deployments/scale``. Empty for other paths.
    resource: str = ""
    namespace: str = ""
    name: str = ""
    #: Of requests that are for no resource.
    path: str = ""


def read(method: str, path: str, query: Mapping[str, str]) -> RequestInfo:
    """Read a request's method, path and query."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, rest = "", parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, rest = parts[1], parts[3:]
    else:
        return RequestInfo(method.lower(), path=path)
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource, name = rest[0], rest[1] if len(rest) > 1 else ""
    if len(rest) > 2:
        resource = f"{resource}/{rest[2]}"
    return RequestInfo(_verb(method, name, query), group, resource, namespace, name)


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method in _WRITES:
        return _WRITES[method]
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    if parameters.flag(query, "watch"):
        return "watch"
    return "get" if name else "list"
