"""EndpointSlices for Endpoints that somebody wrote by hand, of Services without a selector."""

import ipaddress
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers import endpoint_slices
from kube_sandbox.controllers.framework import actions, view

_COMPONENT = "endpointslicemirroring-controller.k8s.io"
_SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
#: Annotations that are about the Endpoints alone.
_NOT_COPIED = (
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
)
_OF_ENDPOINT = ("hostname", "nodeName", "targetRef")
_OF_PORT = ("name", "port", "protocol", "appProtocol")


def reconcile(cluster: view.View, service: json.JsonObject) -> list[actions.Write]:
    """Return the writes that make the slices mirror the Endpoints of a Service."""
    found = cluster.get("Endpoints", objects.namespace(service), objects.name(service))
    if found is None or objects.is_deleting(found):
        return []  # their slices go with them
    metadata = objects.metadata(found)
    annotations = metadata.get("annotations") or {}
    skipped = objects.labels(found).get(_SKIP_LABEL) == "true" or _LEADER in annotations
    labels = {
        **objects.labels(found),
        endpoint_slices.MANAGER_LABEL: _COMPONENT,
        endpoint_slices.SERVICE_LABEL: objects.name(service),
    }
    copied = {key: value for key, value in annotations.items() if key not in _NOT_COPIED}
    wanted = [] if skipped else _contents(found)
    return endpoint_slices.writes(cluster, found, labels, wanted, copied)


def _contents(found: json.JsonObject) -> list[endpoint_slices.Content]:
    contents = []
    for subset in found.get("subsets") or ():
        ports = [_kept(port, _OF_PORT) for port in subset.get("ports") or ()]
        by_family: dict[str, list[json.JsonObject]] = {}
        for field, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(field) or ():
                family = f"IPv{ipaddress.ip_address(address['ip']).version}"
                by_family.setdefault(family, []).append(_endpoint(address, ready=ready))
        contents += [
            endpoint_slices.Content(ports, endpoints, family)
            for family, endpoints in by_family.items()
        ]
    return contents


def _endpoint(address: json.JsonObject, *, ready: bool) -> json.JsonObject:
    kept = _kept(address, _OF_ENDPOINT)
    return {"addresses": [address["ip"]], "conditions": {"ready": ready}, **kept}


def _kept(given: json.JsonObject, fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name] for name in fields if given.get(name)}
