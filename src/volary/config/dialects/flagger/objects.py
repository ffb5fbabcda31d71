"""The route objects that Flagger makes from ``spec.service``, as objects of the application file.

They are written out in full, so that everything that Flagger would put into them is there;
the router then only changes weights in them.
"""

from collections.abc import Mapping
from typing import Any

from volary.config.decoding import readings
from volary.config.dialects.flagger import httproute, schema, source
from volary.config.text import yaml

_SERVICE: yaml.Path = ("spec", "service")
_OBJECTS: yaml.Path = ("spec", "input", "objects")
_ALL = 100
_ISTIO, _GATEWAY_API = "istio", "gatewayapi"
_BOTH = (_ISTIO, _GATEWAY_API)

#: Fields of the service that end up in a route, with the routing methods that carry them over.
_ROUTE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "timeout": _BOTH,
    "backendTimeout": (_GATEWAY_API,),
    "hosts": _BOTH,
    "gateways": (_ISTIO,),
    "gatewayRefs": (_GATEWAY_API,),
    "delegation": (_ISTIO,),
    "match": _BOTH,
    "rewrite": _BOTH,
    "retries": (_ISTIO,),
    "headers": _BOTH,
    "corsPolicy": _BOTH,
    "trafficPolicy": (_ISTIO,),
    "mirror": (_GATEWAY_API,),
}


def translate(read: source.Source, method: str) -> None:
    """Write the objects of a router, and name the fields that have no place in them."""
    service_spec = read.spec.service
    if service_spec is None:
        return
    written = dict(zip(readings.aliases(schema.Service), dict(service_spec).values(), strict=True))
    for name, methods in _ROUTE_FIELDS.items():
        if written[name] and method not in methods:
            message = f"has no effect with the provider {read.spec.provider or method}"
            read.reading.warn((*_SERVICE, name), message, "remove it")
    service = read.service
    if method == _ISTIO:
        rules = _rules(service_spec, service) if read.is_service else [_rule(service_spec, service)]
        for i, made in enumerate((_virtual_service(read, service_spec, service), *rules)):
            read.put((*_OBJECTS, i), made, _SERVICE)
    elif method == _GATEWAY_API:
        made = httproute.make(read, service_spec, service)
        read.put((*_OBJECTS, 0), made, _SERVICE)


def _virtual_service(
    read: source.Source, service_spec: schema.Service, service: str
) -> dict[str, Any]:
    if service_spec.app_protocol.lower() == "tcp":
        message = "dividing connections instead of requests is not carried out with istio"
        read.reading.error((*_SERVICE, "appProtocol"), message)
    spec: dict[str, Any] = {}
    if not service_spec.delegation:
        spec["hosts"] = _with(service_spec.hosts, service)
        spec["gateways"] = (
            _with(service_spec.gateways, "mesh")
            if "*" not in service_spec.hosts
            else (list(service_spec.gateways) or ["mesh"])
        )
    destination = {"host": service, "subset": "primary"}
    if read.is_service:
        destination = {"host": f"{service}-primary"}
    route = [{"destination": destination, "weight": _ALL}]
    rewrite = service_spec.rewrite.model_dump(exclude_defaults=True) if service_spec.rewrite else {}
    rewrite.pop("type", None)
    fields = {
        "match": service_spec.match,
        "rewrite": rewrite,
        "timeout": service_spec.timeout,
        "retries": service_spec.retries,
        "headers": service_spec.headers,
        "corsPolicy": service_spec.cors_policy,
    }
    rule = {name: value for name, value in fields.items() if value}
    spec["http"] = [{**rule, "route": route}]
    return _object("networking.istio.io/v1", "VirtualService", service, spec)


def _rule(service_spec: schema.Service, service: str) -> dict[str, Any]:
    subsets = [{"name": name, "labels": {source.VARIANT: name}} for name in ("primary", "canary")]
    spec: dict[str, Any] = {"host": service, "subsets": subsets}
    if service_spec.traffic_policy:
        spec["trafficPolicy"] = service_spec.traffic_policy
    return _object("networking.istio.io/v1", "DestinationRule", service, spec)


def _rules(service_spec: schema.Service, service: str) -> list[dict[str, Any]]:
    """Return what is said about connections to the Services of the variants, if anything is."""
    if not service_spec.traffic_policy:
        return []
    return [
        _object(
            "networking.istio.io/v1",
            "DestinationRule",
            f"{service}-{variant}",
            {"host": f"{service}-{variant}", "trafficPolicy": service_spec.traffic_policy},
        )
        for variant in ("primary", "canary")
    ]


def _with(names: list[str], needed: str) -> list[str]:
    """Flagger adds what makes the route work inside of the mesh, if it is not there."""
    return list(names) if needed in names or "*" in names else [*names, needed]


def _object(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "annotations": dict(source.TAKEN_OVER)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
