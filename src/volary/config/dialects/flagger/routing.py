"""Who moves the traffic: Flagger's provider and ``spec.service`` as our router and its objects."""

from volary.config.decoding import readings
from volary.config.dialects import drafts
from volary.config.dialects.flagger import objects, source

#: Flagger's providers by our routing method.
METHODS = {
    "istio": "istio",
    "linkerd": "smi",
    "smi:v1alpha1": "smi",
    "smi:v1alpha2": "smi",
    "smi:v1alpha3": "smi",
    "gatewayapi:v1": "gatewayapi",
    "gatewayapi:v1beta1": "gatewayapi",
    "nginx": "nginx",
    "traefik": "traefik",
    "kubernetes": "podselector",
}
#: Providers that Flagger knows and nothing stands for here, with what to do.
_REFUSED = {
    "appmesh": "App Mesh is discontinued; use gatewayapi:v1",
    "appmesh:v1beta2": "App Mesh is discontinued; use gatewayapi:v1",
    "osm": "Open Service Mesh is archived; smi:v1alpha2 writes the same TrafficSplit",
    "contour": "Contour takes HTTPRoutes: use gatewayapi:v1",
    "gloo": "kgateway takes HTTPRoutes: use gatewayapi:v1",
    "kuma": "Kuma takes HTTPRoutes: use gatewayapi:v1",
    "apisix": "APISIX takes HTTPRoutes: use gatewayapi:v1",
    "skipper": "use an ingress controller that takes HTTPRoutes, with gatewayapi:v1",
    "knative": "Knative routes to its own revisions",
}
_SMI_VERSIONS = {"linkerd": "v1alpha1", "smi:v1alpha1": "v1alpha1"}


def translate(read: source.Source) -> str:
    """Write router, Service and route objects; return the routing method."""
    provider = _provider(read)
    at = ("spec", "provider")
    if provider not in METHODS:
        hint = _REFUSED.get(provider) or readings.did_you_mean(provider, METHODS)
        read.reading.error(at, f"the provider {provider} is not carried out", hint)
        return provider
    method = METHODS[provider]
    if read.is_service and method == "podselector":
        message = "nothing divides the traffic of a Service with the provider kubernetes"
        hint = "name the mesh or the gateway that does: istio, linkerd, gatewayapi:v1, traefik …"
        read.reading.error(at, message, hint)
    _service(read)
    _written_service(read, method)
    read.put(("spec", "trafficRouting", "method"), method, at)
    if method == "podselector":
        return method
    read.put(("spec", "trafficRouting", "create"), True, ("spec", "service"))
    match method:
        case "smi":
            version = _SMI_VERSIONS.get(provider) or provider.partition(":")[2]
            read.put(("spec", "trafficRouting", "smi", "version"), version, at)
        case "nginx":
            _nginx(read)
    if read.spec.ingress_ref is not None and method != "nginx":
        message = f"has no effect with the provider {provider}, in Flagger neither"
        read.reading.warn(("spec", "ingressRef"), message, "remove it")
    if provider == "gatewayapi:v1beta1":
        message = "the HTTPRoute is written as v1, which every implementation takes by now"
        read.reading.warn(at, message, "write gatewayapi:v1")
    objects.translate(read, method)
    return method


def _provider(read: source.Source) -> str:
    """Flagger takes its controller's setting when the Canary names no provider."""
    spec, at = read.spec, ("spec", "provider")
    if spec.provider:
        return spec.provider
    provider = "istio"
    if spec.ingress_ref is not None:
        provider = "nginx"
    elif spec.service is not None and spec.service.gateway_refs:
        provider = "gatewayapi:v1"
    message = f"no provider is written, {provider} is taken; Flagger asks its own controller"
    read.reading.warn(at, message, f"write provider: {provider}, or the one that you use")
    return provider


def _service(read: source.Source) -> None:
    """Write the Service that leads to the workload (Flagger: apex Service)."""
    service_spec = read.spec.service
    at = (
        ("spec", "service", "name")
        if service_spec and service_spec.name
        else ("spec", "targetRef", "name")
    )
    read.put(("spec", "service", "name"), read.service, at)
    if read.is_service:
        _target_service(read)
        return
    read.put(("spec", "variantLabel", "onPods"), True, ("spec", "targetRef"))
    if service_spec is None:
        message = "is required: it says which port leads to the workload"
        read.reading.error(("spec", "service"), message)
        return
    base = ("spec", "service", "create")
    written = ("spec", "service")
    port = {
        "name": service_spec.port_name,
        "port": service_spec.port,
        "targetPort": service_spec.target_port or "",
        "appProtocol": service_spec.app_protocol,
    }
    read.put(
        (*base, "ports"), [{key: setting for key, setting in port.items() if setting}], written
    )
    options = {
        "discoverPorts": (service_spec.port_discovery, "portDiscovery"),
        "headless": (service_spec.headless, "headless"),
        "trafficDistribution": (service_spec.traffic_distribution, "trafficDistribution"),
        "labels": (service_spec.apex.labels if service_spec.apex else {}, "apex"),
    }
    annotations = {
        **(service_spec.apex.annotations if service_spec.apex else {}),
        **source.TAKEN_OVER,
    }
    read.put((*base, "annotations"), annotations, written)
    for key, (value, field) in options.items():
        if value:
            read.put((*base, key), value, (*written, field))
    _unused(read)


def _target_service(read: source.Source) -> None:
    """Name what of ``spec.service`` is in the target itself, which is in Git."""
    service_spec, target, at = read.spec.service, read.spec.target_ref.name, ("spec", "service")
    if service_spec is None:
        return
    if service_spec.name not in ("", target):
        message = f"is another than the target {target}, whose traffic is divided"
        read.reading.error((*at, "name"), message, f"write {target}, or remove it")
    fields = {
        "portName": service_spec.port_name != "http",
        "targetPort": bool(service_spec.target_port),
        "appProtocol": bool(service_spec.app_protocol),
        "portDiscovery": service_spec.port_discovery,
        "headless": service_spec.headless,
        "trafficDistribution": bool(service_spec.traffic_distribution),
        "apex": service_spec.apex is not None,
    }
    for name in (name for name, is_set in fields.items() if is_set):
        message = f"has no effect: the Service {target} in Git says it"
        read.reading.warn((*at, name), message, "remove it")
    _unused(read)


def _written_service(read: source.Source, method: str) -> None:
    """Note a Service of the name in Git that leads to other pods than the router needs."""
    if read.is_service:
        return
    name = read.service
    written = read.find("Service", name)
    if written is None or written.value.get("apiVersion") != "v1":
        return
    spec = written.value.get("spec")
    selector = spec.get("selector") if isinstance(spec, dict) else None
    leads = drafts.text(selector, source.VARIANT)
    wanted = "" if method == "istio" else "primary"
    if leads == wanted:
        return
    message = f"the Service {name} in {written.file} leads to the pods of all variants"
    hint = f"remove it, as Flagger makes one, or write {source.VARIANT}: primary to its selector"
    if not wanted:
        message = f"the Service {name} in {written.file} leads to {leads} alone, and subsets choose"
        hint = f"remove it, as Flagger makes one, or take {source.VARIANT} out of its selector"
    read.reading.error(("spec", "service"), message, hint)


def _unused(read: source.Source) -> None:
    service_spec = read.spec.service
    assert service_spec is not None
    at = ("spec", "service")
    for variant, metadata in (("primary", service_spec.primary), ("canary", service_spec.canary)):
        if metadata is not None:
            message = "labels and annotations of a variant's Service are not written"
            apex = read.spec.target_ref.name if read.is_service else "apex"
            hint = f"the Service of {variant} carries those of {apex}"
            read.reading.warn((*at, variant), message, hint)
    if service_spec.unmanaged_metadata is not None:
        message = "has no effect: only what is written here is ever changed"
        read.reading.warn((*at, "unmanagedMetadata"), message, "remove it")
    for name in ("meshName", "backends"):
        if service_spec.mesh_name if name == "meshName" else service_spec.backends:
            read.reading.warn((*at, name), "is about App Mesh and has no effect", "remove it")


def _nginx(read: source.Source) -> None:
    reference = read.spec.ingress_ref
    if reference is None:
        message = "the Ingress that leads to the Service is not named"
        read.reading.error(("spec", "ingressRef"), message, "write ingressRef: {name: …}")
        return
    if reference.kind not in ("", "Ingress"):
        message = f"the kind {reference.kind} is not carried out"
        read.reading.error(("spec", "ingressRef", "kind"), message, "write kind: Ingress")
    at = ("spec", "ingressRef", "name")
    read.put(("spec", "trafficRouting", "nginx", "ingress", "name"), reference.name, at)
