"""Where the pods behind a backend listen, by the published EndpointSlices; pure."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, selectors
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

_SERVICE = "kubernetes.io/service-name"


def find(cluster: view.View, backend: route_rules.Backend) -> list[tuple[str, int]]:
    """Return addresses and ports of the ready pods; none when there are none."""
    service = cluster.get("Service", backend.namespace, backend.service)
    if service is None or backend.subset is None:
        return []
    name = _port_name(service, backend.port)
    found: dict[tuple[str, int], None] = {}
    for each in cluster.list("EndpointSlice", backend.namespace):
        if objects.labels(each).get(_SERVICE) != backend.service:
            continue
        port = next(
            (port["port"] for port in each.get("ports") or () if (port.get("name") or "") == name),
            None,
        )
        if port is None:
            continue
        for endpoint in each.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") and _is_in(
                cluster, backend, endpoint
            ):
                found.update({(str(address), int(port)): None for address in endpoint["addresses"]})
    return list(found)


def _port_name(service: json.JsonObject, number: int | None) -> str:
    ports = objects.spec(service).get("ports") or ()
    for each in ports:
        if number is None or each.get("port") == number:
            return str(each.get("name") or "")
    return "\0"  # no port has such a name


def _is_in(cluster: view.View, backend: route_rules.Backend, endpoint: json.JsonObject) -> bool:
    if not backend.subset:
        return True
    target = endpoint.get("targetRef") or {}
    pod = cluster.get("Pod", backend.namespace, str(target.get("name", "")))
    return pod is not None and selectors.matches(
        {"matchLabels": dict(backend.subset)}, objects.labels(pod)
    )
