"""Objects that no file of the application holds: the Service that leads to its workload."""

from collections.abc import Mapping, Sequence
from typing import Any

from volary.manifests import objects
from volary.manifests.routes import generated_routes
from volary.manifests.services import services
from volary.manifests.workloads import workloads
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest

#: Containers of meshes and ingress controllers; their ports are not the application's.
_PROXIES = frozenset({"istio-proxy", "envoy", "linkerd-proxy", "kuma-sidecar"})


def add(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> list[manifest.Manifest]:
    """Return the manifests with the objects that the application file itself holds.

    The Service is made only when no manifest is the Service of that name. It selects what
    the workload's selector selects, and the variant label of primary; not so with Istio,
    whose subsets choose among the pods that the Service has. Routes are added where
    ``trafficRouting.create`` asks for them.

    Raises:
        UserError: When the Service is to be made, and it is not clear for which pods; when
            routes are to be made, and there is no Service.
    """
    origin = errors.Location(path="spec.input.objects")
    all_manifests = [*manifests, *(manifest.Manifest(body, origin) for body in app.input.objects)]
    if app.made_service is not None and not services.find(all_manifests, app.service):
        all_manifests.append(_service(all_manifests, app, app.made_service))
    return generated_routes.add(all_manifests, app)


def _service(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    wanted: applications.MadeService,
) -> manifest.Manifest:
    workload = _workload(manifests, app)
    selector = dict(objects.mapping(workload.body, "spec", "selector", "matchLabels"))
    if app.traffic_routing.method is not routing_options.RoutingMethod.ISTIO:
        selector[app.variant_label.key] = app.variant_label.primary_value
    metadata: json.JsonObject = {"name": app.service.name}
    if workload.namespace:
        metadata["namespace"] = workload.namespace
    for field, values in (("labels", wanted.labels), ("annotations", wanted.annotations)):
        if values:
            metadata[field] = dict(values)
    spec: json.JsonObject = {"selector": selector, "ports": _ports(workload, wanted)}
    if wanted.headless:
        spec["clusterIP"] = "None"
    if wanted.traffic_distribution:
        spec["trafficDistribution"] = wanted.traffic_distribution
    body: json.JsonObject = {"apiVersion": "v1", "kind": "Service"}
    return manifest.Manifest(
        {**body, "metadata": metadata, "spec": spec}, errors.Location(path="spec.service.create")
    )


def _workload(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> manifest.Manifest:
    matching_workloads = workloads.find(manifests, app.workloads)
    if len(matching_workloads) != 1:
        names = ", ".join(workload.key.title for workload in matching_workloads) or "none"
        raise errors.user_error(
            f"the Service {app.service.name} cannot be made: it leads to one workload, and there "
            f"are {len(matching_workloads)} ({names})",
            hint="name the workload in `workloads`, or write the Service to a file",
        )
    return matching_workloads[0]


def _ports(workload: manifest.Manifest, wanted: applications.MadeService) -> list[dict[str, Any]]:
    ports = [
        {
            **({"name": port.name} if port.name else {}),
            "port": port.port,
            "targetPort": port.target_port or port.port,
            "protocol": "TCP",
            **({"appProtocol": port.app_protocol} if port.app_protocol else {}),
        }
        for port in wanted.ports
    ]
    if wanted.discover_ports:
        ports += _discovered(workload, ports)
    return ports


def _discovered(
    workload: manifest.Manifest, known: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    taken = {port["targetPort"] for port in known}
    names = {port.get("name") for port in known}
    numbers = {port["port"] for port in known}
    ports: list[dict[str, Any]] = []
    spec = objects.mapping(workload.body, "spec", "template", "spec")
    for container in objects.mappings(spec, "containers"):
        if container.get("name") in _PROXIES:
            continue
        for port in objects.mappings(container, "ports"):
            number, name = port.get("containerPort"), port.get("name")
            if number in taken or name in taken or number in numbers:
                continue
            name = name if name and name not in names else f"port-{number}"
            protocol = port.get("protocol") or "TCP"
            ports.append({"name": name, "port": number, "targetPort": number, "protocol": protocol})
            names.add(name)
            numbers.add(number)
    return ports
