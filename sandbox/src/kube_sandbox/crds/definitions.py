"""Definitions of custom resources that a fleet can start with."""

from kube_sandbox import json
from kube_sandbox.crds import istio as crd_istio
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import definitions as gateway_definitions

_ISTIO = "networking.istio.io"
_ISTIO_VERSIONS = ("v1", "v1beta1", "v1alpha3")


def istio() -> tuple[json.JsonObject, ...]:
    """Istio's VirtualService and DestinationRule, as far as routing by weights needs them.

    The schemas hold what istiod's webhook would check besides; so a refusal comes as 422
    from the server and not as 400 from the webhook.
    """
    return (
        _definition(
            "VirtualService",
            "virtualservices",
            "vs",
            (
                ("Gateways", ".spec.gateways", "The names of gateways and sidecars"),
                ("Hosts", ".spec.hosts", "The destination hosts to which traffic is being sent"),
            ),
            spec=crd_istio.virtual_service(),
        ),
        _definition(
            "DestinationRule",
            "destinationrules",
            "dr",
            (("Host", ".spec.host", "The name of a service from the service registry"),),
            spec=crd_istio.destination_rule(),
        ),
    )


def smi() -> tuple[json.JsonObject, ...]:
    """SMI's TrafficSplit in all its versions; of them the sandbox stores the last."""
    shown = (("Service", ".spec.service", "The apex service of this split."),)
    return (
        _definition(
            "TrafficSplit",
            "trafficsplits",
            "ts",
            shown,
            group="split.smi-spec.io",
            versions=("v1alpha4", "v1alpha3", "v1alpha2", "v1alpha1"),
        ),
    )


def traefik() -> tuple[json.JsonObject, ...]:
    """Traefik's IngressRoute and TraefikService."""
    return tuple(
        _definition(kind, f"{kind.lower()}s", "", (), group="traefik.io", versions=("v1alpha1",))
        for kind in ("IngressRoute", "TraefikService")
    )


def gateway_api() -> tuple[json.JsonObject, ...]:
    """The Gateway API's kinds, with their defaults (`gateway_crds`)."""
    return gateway_definitions.gateway_api()


def _definition(
    kind: str,
    plural: str,
    short: str,
    shown: tuple[tuple[str, str, str], ...],
    *,
    group: str = _ISTIO,
    versions: tuple[str, ...] = _ISTIO_VERSIONS,
    spec: json.JsonObject = schemas.OPEN,
) -> json.JsonObject:
    columns = [
        {"name": name, "jsonPath": path, "type": "string", "description": text}
        for name, path, text in shown
    ]
    schema = schemas.structure(spec=spec, status=schemas.OPEN)
    columns.append({"name": "Age", "jsonPath": ".metadata.creationTimestamp", "type": "date"})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short] if short else [],
                "categories": ["istio-io", "networking-istio-io"] if group == _ISTIO else [],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "additionalPrinterColumns": columns,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in versions
            ],
        },
    }
