"""Definitions of the Gateway API's kinds, with the defaults that controllers rely on.

A controller such as Traefik reads an HTTPRoute as it is stored: without the group, kind
and weight that the definitions fill in, it would ignore the route. Lists are atomic as in the
real definitions. What is neither defaulted nor needed is kept and not checked.
"""

from kube_sandbox import json

GROUP = "gateway.networking.k8s.io"
_ANY: json.JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT: json.JsonObject = {"type": "string"}
_NUMBER: json.JsonObject = {"type": "integer", "format": "int32"}


def gateway_api() -> tuple[json.JsonObject, ...]:
    """The standard channel: classes, Gateways, routes for HTTP, gRPC and TLS, and grants."""
    return (
        _definition("GatewayClass", "gatewayclasses", ("v1",), _open(), short="gc", cluster=True),
        _definition("Gateway", "gateways", ("v1",), _gateway(), short="gtw"),
        _definition("HTTPRoute", "httproutes", ("v1", "v1beta1"), _route(_http_rule())),
        _definition("GRPCRoute", "grpcroutes", ("v1",), _route(_grpc_rule())),
        _definition("TLSRoute", "tlsroutes", ("v1",), _route(_list(_open()))),
        _definition("ReferenceGrant", "referencegrants", ("v1beta1",), _open(), short="refgrant"),
        _definition("BackendTLSPolicy", "backendtlspolicies", ("v1",), _open(), short="btlspolicy"),
    )


def _definition(
    kind: str,
    plural: str,
    versions: tuple[str, ...],
    spec: json.JsonObject,
    *,
    short: str = "",
    cluster: bool = False,
) -> json.JsonObject:
    names: json.JsonObject = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "categories": ["gateway-api"],
    }
    if short:
        names["shortNames"] = [short]
    schema = {"type": "object", "properties": {"spec": spec, "status": _ANY}}
    columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    if kind.endswith("Route"):
        hosts = {"name": "Hostnames", "type": "string", "jsonPath": ".spec.hostnames"}
        columns.insert(0, hosts)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "annotations": {
                "api-approved.kubernetes.io": (
                    "https://github.com/kubernetes-sigs/gateway-api/pull/3328"
                ),
                "gateway.networking.k8s.io/bundle-version": "v1.5.0",
                "gateway.networking.k8s.io/channel": "standard",
            },
        },
        "spec": {
            "group": GROUP,
            "scope": "Cluster" if cluster else "Namespaced",
            "names": names,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in versions
            ],
        },
    }


def _open() -> json.JsonObject:
    return dict(_ANY)


def _object(**properties: json.JsonObject) -> json.JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _list(items: json.JsonObject) -> json.JsonObject:
    return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}


def _default(schema: json.JsonObject, value: object) -> json.JsonObject:
    return {**schema, "default": value}


def _reference(group: str, kind: str) -> json.JsonObject:
    return _object(
        group=_default(_TEXT, group),
        kind=_default(_TEXT, kind),
        name=_TEXT,
        namespace=_TEXT,
        port=_NUMBER,
        sectionName=_TEXT,
    )


def _gateway() -> json.JsonObject:
    namespaces = _default(_object(**{"from": _default(_TEXT, "Same")}), {"from": "Same"})
    certificate = _reference("", "Secret")
    tls = _object(mode=_default(_TEXT, "Terminate"), certificateRefs=_list(certificate))
    listener = _object(
        name=_TEXT,
        hostname=_TEXT,
        port=_NUMBER,
        protocol=_TEXT,
        tls=tls,
        allowedRoutes=_default(_object(namespaces=namespaces), {"namespaces": {"from": "Same"}}),
    )
    listeners = {
        "type": "array",
        "items": {**listener, "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    return _object(gatewayClassName=_TEXT, listeners=listeners)


def _route(rule: json.JsonObject) -> json.JsonObject:
    return _object(
        parentRefs=_list(_reference(GROUP, "Gateway")), hostnames=_list(_TEXT), rules=rule
    )


def _backend(filters: json.JsonObject) -> json.JsonObject:
    reference = _reference("", "Service")
    reference["properties"].pop("sectionName")
    reference["properties"].update(weight=_default(_NUMBER, 1), filters=_list(filters))
    return reference


def _named() -> json.JsonObject:
    """A header or a query field that is compared."""
    named = _object(name=_TEXT, value=_TEXT, type=_default(_TEXT, "Exact"))
    return {
        "type": "array",
        "items": {**named, "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }


def _filter() -> json.JsonObject:
    fraction = _object(numerator=_NUMBER, denominator=_default(_NUMBER, 100))
    mirror = _object(backendRef=_reference("", "Service"), percent=_NUMBER, fraction=fraction)
    return _object(type=_TEXT, requestMirror=mirror)


def _http_rule() -> json.JsonObject:
    everything = {"type": "PathPrefix", "value": "/"}
    path = _object(type=_default(_TEXT, "PathPrefix"), value=_default(_TEXT, "/"))
    match = _object(
        path=_default(path, everything), headers=_named(), queryParams=_named(), method=_TEXT
    )
    rule = _object(
        name=_TEXT,
        matches=_default(_list(match), [{"path": everything}]),
        filters=_list(_filter()),
        backendRefs=_list(_backend(_filter())),
    )
    return _default(_list(rule), [{"matches": [{"path": everything}]}])


def _grpc_rule() -> json.JsonObject:
    method = _object(type=_default(_TEXT, "Exact"), service=_TEXT, method=_TEXT)
    match = _object(method=method, headers=_named())
    return _list(
        _object(
            name=_TEXT,
            matches=_list(match),
            filters=_list(_filter()),
            backendRefs=_list(_backend(_filter())),
        )
    )
