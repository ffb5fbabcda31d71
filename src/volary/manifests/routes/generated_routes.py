"""The routes that ``trafficRouting.create`` makes where Git has none (Flagger: routers).

They are ordinary manifests of the application: labelled, applied with primary, kept in the
inventory, and pruned when they are not wanted any more. Only their weights are nobody's but
the traffic stages'.
"""

from collections.abc import Sequence

from volary.manifests import objects
from volary.manifests.routes import ingresses, virtual_services
from volary.manifests.services import backends, service_targets, services
from volary.model import applications, errors, json, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

#: On objects that no file holds.
GENERATED = "volary.dev/generated"
_GATEWAY = "gateway.networking.k8s.io"
_SMI = "split.smi-spec.io"
_TRAEFIK = "traefik.io"
_ISTIO = "networking.istio.io"
_ALL = 100
_Method = routing_options.RoutingMethod
_ORIGIN = errors.Location(path="spec.trafficRouting.create")


def is_generated(item: manifest.Manifest) -> bool:
    """Say whether a manifest was made here, so that Git knows nothing of its routes."""
    return item.annotations.get(GENERATED) == "true"


def generates_services(app: applications.Application) -> bool:
    """Say whether each variant gets a Service of its own for the routes."""
    routing = app.traffic_routing
    if app.rolls_out_service:
        return True
    return routing.create and routing.method not in (_Method.POD_SELECTOR, _Method.ISTIO)


def with_route_name(
    copy: manifest.Manifest, app: applications.Application, which: variant.Variant
) -> manifest.Manifest:
    """Return a variant's Service with the name by which routes know it."""
    return copy.with_metadata({"name": backends.of(app).name(which)})


def add(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> list[manifest.Manifest]:
    """Return the manifests with the route objects that are missing, if they are to be made.

    Raises:
        UserError: when they are to be made, and the Service that they are for is not there.
    """
    routing = app.traffic_routing
    makes_routes = routing.create and routing.method is not _Method.POD_SELECTOR
    if not makes_routes and not app.rolls_out_service:
        return list(manifests)
    service = _service(manifests, app)
    made: list[manifest.Manifest] = []
    if makes_routes:
        bodies = (body for body in _bodies(app, service) if not _has(manifests, app, body))
        made += [_manifest(body, service) for body in bodies]
    if generates_services(app):
        made += _primary_service(manifests, app, service)
    return [*manifests, *made]


def _service(
    manifests: Sequence[manifest.Manifest], app: applications.Application
) -> manifest.Manifest:
    matching_services = services.find(manifests, app.service) if app.service.name else []
    if not matching_services:
        named = f" {app.service.name}" if app.service.name else ""
        raise errors.user_error(
            f"routes cannot be made: there is no Service{named} among the manifests",
            hint="name the application's Service in service.name",
        )
    return matching_services[0]


def _manifest(body: json.JsonObject, service: manifest.Manifest) -> manifest.Manifest:
    metadata = {**body["metadata"], "annotations": {GENERATED: "true"}}
    if service.namespace:
        metadata["namespace"] = service.namespace
    return manifest.Manifest({**body, "metadata": metadata}, _ORIGIN)


def _has(
    manifests: Sequence[manifest.Manifest], app: applications.Application, body: json.JsonObject
) -> bool:
    """Say whether Git has an object for the purpose of `body`."""
    kind, group = body["kind"], body["apiVersion"].rpartition("/")[0]
    same = [item for item in manifests if item.group == group and item.kind == kind]
    match kind:
        case "DestinationRule":
            host = body["spec"]["host"]
            return any(objects.text(item.body, "spec", "host") == host for item in same)
        case "Ingress":
            return ingresses.find(manifests, app) is not None
        case _:
            name = body["metadata"]["name"]
            return any(item.name == name or _leads_here(item.body, app) for item in same)


def _leads_here(body: json.JsonObject, app: applications.Application) -> bool:
    """Say whether a route of Git leads to the application already."""
    known = backends.of(app)
    references = [
        *objects.mappings(body, "spec", "backends"),
        *objects.mappings(body, "spec", "weighted", "services"),
    ]
    for rule in objects.mappings(body, "spec", "rules"):
        references += objects.mappings(rule, "backendRefs")
    names = {
        objects.text(reference, key) for reference in references for key in ("name", "service")
    }
    return any(known.variant(name) for name in names)


def _bodies(app: applications.Application, service: manifest.Manifest) -> list[json.JsonObject]:
    match app.traffic_routing.method:
        case _Method.ISTIO:
            return _istio(app, service)
        case _Method.GATEWAY_API:
            return [_route(app, service)]
        case _Method.SMI:
            return [_split(app, service)]
        case _Method.NGINX:
            return [_ingress(app, service)]
        case _Method.TRAEFIK:
            return [_traefik(app, service)]
        case _Method.POD_SELECTOR:
            return []


def _istio(app: applications.Application, service: manifest.Manifest) -> list[json.JsonObject]:
    options, label = app.traffic_routing.istio, app.variant_label
    host = options.host or service.name
    subsets = [
        {"name": label.value(variant_role), "labels": {label.key: label.value(variant_role)}}
        for variant_role in variant.Variant
    ]
    name = options.virtual_service.name or service.name
    is_target = app.rolls_out_service
    destination = {"host": host, "subset": label.primary_value}
    if is_target:
        destination = {"host": backends.of(app).primary}
    spec: json.JsonObject = {
        "hosts": list(options.hosts) or [host],
        "http": [{"name": "main", "route": [{"destination": destination, "weight": _ALL}]}],
    }
    if options.gateways:
        spec["gateways"] = list(options.gateways)
    version = f"{_ISTIO}/{virtual_services.VERSIONS[0]}"
    route = _body(version, virtual_services.KIND, name, spec)
    if is_target:
        return [route]
    rule = _body(version, "DestinationRule", service.name, {"host": host, "subsets": subsets})
    return [rule, route]


def _route(app: applications.Application, service: manifest.Manifest) -> json.JsonObject:
    options = app.traffic_routing.gateway_api
    parents = options.gateway_refs or (routing_options.ParentReference(service.name, "Service"),)
    backend = {"name": backends.of(app).primary, "port": _port(service), "weight": _ALL}
    rule: json.JsonObject = {"backendRefs": [backend]}
    kind = options.route.kind or "HTTPRoute"
    if kind == "HTTPRoute":
        rule = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], **rule}
    spec: json.JsonObject = {"parentRefs": [_parent(parent) for parent in parents], "rules": [rule]}
    if options.hosts:
        spec["hostnames"] = list(options.hosts)
    return _body(f"{_GATEWAY}/v1", kind, options.route.name or service.name, spec)


def _parent(reference: routing_options.ParentReference) -> json.JsonObject:
    is_service = reference.kind == "Service"
    group = "" if is_service and reference.group == "core" else reference.group
    parent: json.JsonObject = {
        "group": group or ("" if is_service else _GATEWAY),
        "kind": reference.kind,
        "name": reference.name,
    }
    if reference.namespace:
        parent["namespace"] = reference.namespace
    if reference.section_name:
        parent["sectionName"] = reference.section_name
    if reference.port:
        parent["port"] = reference.port
    return parent


def _split(app: applications.Application, service: manifest.Manifest) -> json.JsonObject:
    options = app.traffic_routing.smi
    weight = str(_ALL) if options.version == "v1alpha1" else _ALL
    backend = {"service": backends.of(app).primary, "weight": weight}
    name = options.traffic_split.name or service.name
    spec = {"service": service.name, "backends": [backend]}
    return _body(f"{_SMI}/{options.version}", "TrafficSplit", name, spec)


def _ingress(app: applications.Application, service: manifest.Manifest) -> json.JsonObject:
    options = app.traffic_routing.nginx
    port = {"number": _port(service)}
    backend = {"service": {"name": backends.of(app).primary, "port": port}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    rules = [{"host": host, "http": http} for host in options.hosts] or [{"http": http}]
    spec = {"ingressClassName": options.class_name, "rules": rules}
    name = options.ingress.name or service.name
    return _body(f"{ingresses.GROUP}/v1", ingresses.KIND, name, spec)


def _traefik(app: applications.Application, service: manifest.Manifest) -> json.JsonObject:
    entry = {"name": backends.of(app).primary, "port": _port(service), "weight": _ALL}
    name = app.traffic_routing.traefik.service.name or service.name
    return _body(
        f"{_TRAEFIK}/v1alpha1", "TraefikService", name, {"weighted": {"services": [entry]}}
    )


def _primary_service(
    manifests: Sequence[manifest.Manifest],
    app: applications.Application,
    service: manifest.Manifest,
) -> list[manifest.Manifest]:
    """Return the Service that leads to primary alone, unless Git has it."""
    label, name = app.variant_label, backends.of(app).primary
    if any(item.name == name for item in manifests if item.kind == "Service" and not item.group):
        return []
    if app.rolls_out_service:
        own = service_targets.variant_copy(service, app, variant.Variant.PRIMARY)
        return [manifest.Manifest(own.body, _ORIGIN)]
    suffix = backends.suffix(app, variant.Variant.PRIMARY)
    copy = services.variant(service, suffix=suffix, key=label.key, value=label.primary_value)
    return [manifest.Manifest(with_route_name(copy, app, variant.Variant.PRIMARY).body, _ORIGIN)]


def check_primary(manifests: Sequence[manifest.Manifest], app: applications.Application) -> None:
    """Refuse a made Service for primary that none of primary's pods would be behind.

    All traffic goes by it, so the application would answer nobody.

    Args:
        manifests: As they are applied, labels of the variant included.
        app: The application.

    Raises:
        UserError: The Service's other labels choose a workload, and its variant label nothing.
    """
    label = app.variant_label
    for item in manifests:
        if item.kind != "Service" or item.origin != _ORIGIN or app.rolls_out_service:
            continue
        selector = objects.mapping(item.body, "spec", "selector")
        others = {key: value for key, value in selector.items() if key != label.key}
        pods = [
            objects.mapping(manifest.body, "spec", "template", "metadata", "labels")
            for manifest in manifests
            if manifest.group == "apps"
        ]
        meant = [pod for pod in pods if others.items() <= pod.items()]
        if meant and not any(selector.items() <= pod_labels.items() for pod_labels in meant):
            raise errors.user_error(
                f"Service {item.name}, by which the routes reach primary, would lead to no pod:"
                f" it selects {label.key}={label.primary_value}",
                hint="write variantLabel: {onPods: true}, or that label into the pods' template",
                where=_ORIGIN,
            )


def _port(service: manifest.Manifest) -> int:
    ports = list(objects.mappings(service.body, "spec", "ports"))
    if not ports:
        raise errors.user_error(
            f"routes cannot be made: Service {service.name} has no ports", where=service.origin
        )
    return objects.number(ports[0], "port")


def _body(version: str, kind: str, name: str, spec: json.JsonObject) -> json.JsonObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
