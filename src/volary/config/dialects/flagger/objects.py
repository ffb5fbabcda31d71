"""The route objects that Flagger makes from ``spec.service``, as objects of the application file.

They are written out in full, so that everything that Flagger would put into them is there;
the router then only changes weights in them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from volary.config.decoding import readings, values
from volary.config.dialects.flagger import schema, source
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
            provider = read.spec.provider or method
            message = f"has no effect with the provider {provider}, in Flagger neither"
            if name == "hosts" and method == "smi":
                _check_host(read, service_spec)
                continue
            read.reading.warn((*_SERVICE, name), message, "remove it")
    service = read.service
    if method == _ISTIO:
        rules = _rules(service_spec, service, is_service=read.is_service)
        for i, made in enumerate((_virtual_service(read, service_spec, service), *rules)):
            read.put((*_OBJECTS, i), made, _SERVICE)
    elif method == _GATEWAY_API:
        made = _http_route(read, service_spec, service)
        read.put((*_OBJECTS, 0), made, _SERVICE)


def _check_host(read: source.Source, service_spec: schema.Service) -> None:
    if service_spec.hosts[0] == read.service:
        return
    message = f"Flagger divides the requests to {service_spec.hosts[0]}; here it is those to the"
    hint = f"write {read.service} first, or remove hosts"
    read.reading.error((*_SERVICE, "hosts"), f"{message} Service {read.service}", hint)


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
    if rewrite.pop("type", None):
        message = "has no effect with the provider istio, in Flagger neither"
        read.reading.warn((*_SERVICE, "rewrite", "type"), message, "remove it")
    fields = {
        "match": service_spec.match,
        "rewrite": rewrite,
        "timeout": service_spec.timeout,
        "retries": service_spec.retries,
        "headers": read.reading.written((*_SERVICE, "headers")),
        "corsPolicy": service_spec.cors_policy,
    }
    rule = {name: value for name, value in fields.items() if value}
    spec["http"] = [{**rule, "route": route}]
    return _object("networking.istio.io/v1", "VirtualService", service, spec)


def _rules(service_spec: schema.Service, service: str, *, is_service: bool) -> list[dict[str, Any]]:
    """Return the rules: with a subset for each variant, or for the Services of the variants."""
    policy = service_spec.traffic_policy
    variants = ("primary", "canary")
    specs: list[dict[str, Any]]
    if is_service:
        specs = [{"host": f"{service}-{variant}"} for variant in variants if policy]
    else:
        subsets = [{"name": name, "labels": {source.VARIANT: name}} for name in variants]
        specs = [{"host": service, "subsets": subsets}]
    return [
        _object(
            "networking.istio.io/v1",
            "DestinationRule",
            spec["host"],
            {**spec, "trafficPolicy": policy} if policy else spec,
        )
        for spec in specs
    ]


def _with(names: list[str], needed: str) -> list[str]:
    """Flagger adds what makes the route work inside of the mesh, if it is not there."""
    return list(names) if needed in names or "*" in names else [*names, needed]


def _object(version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "annotations": dict(source.TAKEN_OVER)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


_GROUP = "gateway.networking.k8s.io"
_PATH_TYPES = {"prefix": "PathPrefix", "exact": "Exact", "regex": "RegularExpression"}
#: How Flagger, whose matches have Istio's form, writes what looks like the Gateway API's.
_OWN_WORDS = {"path": "write uri: {prefix: /…}, {exact: …} or {regex: …}, as in Istio"}
_CORS = ("allowMethods", "allowHeaders", "exposeHeaders", "allowCredentials")


def _http_route(read: source.Source, service_spec: schema.Service, service: str) -> dict[str, Any]:
    """Return the HTTPRoute, which leads to primary; canary comes and goes with releases."""
    backends = [{"name": f"{service}-primary", "port": service_spec.port, "weight": _ALL}]
    matches = [_match(read, i, match) for i, match in enumerate(service_spec.match)]
    rule: dict[str, Any] = {
        "matches": matches or [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": backends,
    }
    if filters := _filters(read, service_spec):
        rule["filters"] = filters
    timeouts = {"request": service_spec.timeout, "backendRequest": service_spec.backend_timeout}
    if timeouts := {name: value for name, value in timeouts.items() if value}:
        rule["timeouts"] = timeouts
    spec: dict[str, Any] = {"parentRefs": _parents(service_spec, service)}
    if service_spec.hosts:
        spec["hostnames"] = list(service_spec.hosts)
    spec["rules"] = [rule]
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": service, "annotations": dict(source.TAKEN_OVER)},
        "spec": spec,
    }


def _parents(service_spec: schema.Service, service: str) -> list[dict[str, Any]]:
    """Return what the route is attached to; without a Gateway the Service, as in a mesh."""
    if not service_spec.gateway_refs:
        return [{"group": "", "kind": "Service", "name": service, "port": service_spec.port}]
    parents = []
    for gateway_ref in service_spec.gateway_refs:
        parent = {"group": _GROUP, "kind": "Gateway", **gateway_ref}
        if parent["group"] == "core":  # as Flagger's documents write the group without a name
            parent["group"] = ""
        parents.append(parent)
    return parents


def _match(read: source.Source, index: int, written: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a match of Istio's shape."""
    match: dict[str, Any] = {}
    for field, value in written.items():
        at = (*_SERVICE, "match", index, field)
        if field == "uri":
            kind, text = _only(read, value, at)
            if kind not in _PATH_TYPES:
                hint = "write prefix, exact or regex"
                read.reading.error(at, f"an HTTPRoute has no {kind}", hint)
            match["path"] = {"type": _PATH_TYPES.get(kind, "PathPrefix"), "value": text}
        elif field in ("headers", "queryParams"):
            if value is None:
                continue
            if not isinstance(value, Mapping):
                read.reading.error(at, "must be an object")
                continue
            match[field] = [_named(read, name, text, (*at, name)) for name, text in value.items()]
        elif field == "method":
            kind, match["method"] = _only(read, value, at)
            if kind != "exact":
                read.reading.error(at, f"an HTTPRoute matches a method exactly, not by {kind}")
        else:
            hint = _OWN_WORDS.get(field, "remove it")
            read.reading.error(at, f"{field} of a match is not carried over to an HTTPRoute", hint)
    return match


def _named(read: source.Source, name: str, value: object, at: yaml.Path) -> dict[str, str]:
    kind, text = _only(read, value, at)
    if kind == "exact":
        return {"name": name, "type": "Exact", "value": text}
    around = {"prefix": f"^{re.escape(text)}.*", "suffix": f".*{re.escape(text)}$", "regex": text}
    if kind not in around:
        hint = "write exact, prefix, suffix or regex"
        read.reading.error(at, f"an HTTPRoute compares nothing by {kind}", hint)
    return {"name": name, "type": "RegularExpression", "value": around.get(kind, text)}


def _only(read: source.Source, value: object, at: yaml.Path) -> tuple[str, str]:
    """Return the one kind and text of a match such as ``{prefix: /api}``."""
    if not isinstance(value, Mapping):
        return "exact", str(value)
    if len(value) != 1:
        read.reading.error(at, "needs exactly one of exact, prefix, suffix and regex")
        return "exact", ""
    kind, text = next(iter(value.items()))
    return str(kind), str(text)


def _filters(read: source.Source, service_spec: schema.Service) -> list[dict[str, Any]]:
    filters: list[dict[str, Any]] = []
    headers = service_spec.headers or schema.Headers()
    for changes, kind in (
        (headers.request, "requestHeaderModifier"),
        (headers.response, "responseHeaderModifier"),
    ):
        if changes and (made := _changes(changes)):
            filters.append({"type": kind[0].upper() + kind[1:], kind: made})
    if service_spec.rewrite is not None and (rewrite := _rewrite(service_spec.rewrite)):
        filters.append({"type": "URLRewrite", "urlRewrite": rewrite})
    if service_spec.cors_policy:
        filters.append({"type": "CORS", "cors": _cors(read, service_spec.cors_policy)})
    return [
        *filters,
        *(
            {"type": "RequestMirror", "requestMirror": dict(mirror)}
            for mirror in service_spec.mirror
        ),
    ]


def _changes(changes: schema.HeaderChanges) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for verb, named in (("set", changes.replaced), ("add", changes.add)):
        if named:
            made[verb] = [{"name": name, "value": value} for name, value in named.items()]
    return {**made, "remove": list(changes.remove)} if changes.remove else made


def _rewrite(read: schema.Rewrite) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if read.authority:
        made["hostname"] = read.authority
    if read.uri:
        kind = read.type or "ReplaceFullPath"
        made["path"] = {"type": kind, kind[0].lower() + kind[1:]: read.uri}
    return made


def _cors(read: source.Source, policy: Mapping[str, Any]) -> dict[str, Any]:
    at = (*_SERVICE, "corsPolicy")
    _refuse_others(read, policy, (*_CORS, "allowOrigins", "maxAge"), at)
    made = {name: policy[name] for name in _CORS if policy.get(name)}
    origins = []
    listed = policy.get("allowOrigins")
    if listed is not None and not isinstance(listed, list):
        read.reading.error((*at, "allowOrigins"), "must be a list")
        listed = None
    for i, origin in enumerate(listed or []):
        kind, text = _only(read, origin, (*at, "allowOrigins", i))
        if kind != "exact":
            message = f"an HTTPRoute compares origins exactly, not by {kind}"
            hint = "write exact: https://*.example.org, where * stands for what begins a host"
            read.reading.error((*at, "allowOrigins", i), message, hint)
        origins.append(text)
    if origins:
        made["allowOrigins"] = origins
    if policy.get("maxAge"):
        made["maxAge"] = _seconds(read, policy["maxAge"], (*at, "maxAge"))
    return made


def _seconds(read: source.Source, written: object, at: yaml.Path) -> int:
    """Return a duration such as ``24h0m0s`` in the unit of an HTTPRoute."""
    try:
        length = values.duration(written)
    except ValueError as error:
        read.reading.error(at, str(error))
        return 0
    seconds = length.total_seconds()
    if seconds < 1 or not seconds.is_integer():
        read.reading.error(
            at, f"an HTTPRoute takes whole seconds, not {written}", "write 1s or more"
        )
    return int(seconds)


def _refuse_others(
    read: source.Source, written: Mapping[str, Any], known: Sequence[str], at: yaml.Path
) -> None:
    """Note what a free object says that has no place in an HTTPRoute."""
    for name in written:
        if name not in known:
            hint = readings.did_you_mean(str(name), known)
            message = f"{name} is not carried over to an HTTPRoute"
            read.reading.error((*at, str(name)), message, hint)
