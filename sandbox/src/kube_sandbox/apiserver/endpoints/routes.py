"""What a path of the API means."""

from dataclasses import dataclass
from typing import Protocol

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import request_info

_NO_PROCESSES = "no processes run in the sandbox's pods"
_NO_PROXY = "the sandbox's API server passes no requests on"
#: Subresources that real servers have, and why they are missing.
_NOT_EMULATED = {
    "nodes/proxy": _NO_PROXY,
    "pods/attach": _NO_PROCESSES,
    "pods/exec": _NO_PROCESSES,
    "pods/portforward": _NO_PROCESSES,
    "pods/proxy": _NO_PROXY,
    "services/proxy": _NO_PROXY,
}


class Kinds(Protocol):
    """Where kinds are looked up."""

    def at(self, group: str, version: str, plural: str) -> kinds.Kind | None:
        """Return the kind served at a path."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """An object, a collection, or a subresource."""

    kind: kinds.Kind
    namespace: str
    name: str
    subresource: str
    line: request_info.RequestInfo


def version_of(path: str) -> str:
    """Return the version in a resource's path: ``/apis/apps/v1/deployments`` → ``v1``."""
    parts = [each for each in path.split("/", 5) if each]
    return parts[1] if parts[0] == "api" else parts[2]


def find(served: Kinds, line: request_info.RequestInfo, path: str) -> Route:
    """Return where a resource's path leads.

    Raises:
        api_errors.StatusError: 404, nowhere.
    """
    plural, _, subresource = line.resource.partition("/")
    kind = served.at(line.group, version_of(path), plural)
    if kind is None or (line.namespace and not kind.namespaced):
        raise api_errors.no_such_path()
    if subresource and kind.subresource(subresource) is None:
        reason = _NOT_EMULATED.get(line.resource)
        raise (
            api_errors.not_emulated(line.resource, reason) if reason else api_errors.no_such_path()
        )
    if line.name and kind.namespaced and not line.namespace:
        raise api_errors.no_such_path()
    return Route(kind, line.namespace, line.name, subresource, line)
