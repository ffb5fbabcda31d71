"""Definitions of the Gateway API's kinds, standard channel: defaults, bounds and rules.

A controller such as Traefik reads an HTTPRoute as it is stored: without the group, kind and weight
that the definitions fill in, it would ignore the route. Statuses are kept and not checked.
"""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields, gateways, http_routes, policies, routes


def gateway_api() -> tuple[json.JsonObject, ...]:
    """The standard channel: classes, Gateways, routes for HTTP, gRPC and TLS, and grants."""
    return (
        _definition(
            "GatewayClass",
            "gatewayclasses",
            ("v1",),
            gateways.gateway_class(),
            short="gc",
            cluster=True,
        ),
        _definition("Gateway", "gateways", ("v1",), gateways.gateway(), short="gtw"),
        _definition(
            "HTTPRoute", "httproutes", ("v1", "v1beta1"), routes.route(http_routes.http_rules())
        ),
        _definition("GRPCRoute", "grpcroutes", ("v1",), routes.route(routes.grpc_rules())),
        _definition("TLSRoute", "tlsroutes", ("v1",), routes.tls_route()),
        _definition(
            "ReferenceGrant",
            "referencegrants",
            ("v1beta1",),
            policies.reference_grant(),
            short="refgrant",
        ),
        _definition(
            "BackendTLSPolicy",
            "backendtlspolicies",
            ("v1",),
            policies.backend_tls_policy(),
            short="btlspolicy",
        ),
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
    required = () if kind == "ReferenceGrant" else ("spec",)
    schema = schemas.structure(required, spec=spec, status=schemas.OPEN)
    columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    if kind.endswith("Route"):
        hosts = {"name": "Hostnames", "type": "string", "jsonPath": ".spec.hostnames"}
        columns.insert(0, hosts)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{fields.GROUP}",
            "annotations": {
                "api-approved.kubernetes.io": (
                    "https://github.com/kubernetes-sigs/gateway-api/pull/3328"
                ),
                "gateway.networking.k8s.io/bundle-version": "v1.5.0",
                "gateway.networking.k8s.io/channel": "standard",
            },
        },
        "spec": {
            "group": fields.GROUP,
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
