"""Definitions of custom resources that a fleet can start with."""

from kube_sandbox import json
from kube_sandbox.crds import gateway_api as crd_gateway_api

_ISTIO = "networking.istio.io"
_ISTIO_VERSIONS = ("v1", "v1beta1", "v1alpha3")


def istio() -> tuple[json.JsonObject, ...]:
    """Istio's VirtualService and DestinationRule, as far as routing by weights needs them.

    The schemas keep every field and check none of Istio's own rules: nothing in the
    sandbox would reject what istiod's webhook rejects.
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
        ),
        _definition(
            "DestinationRule",
            "destinationrules",
            "dr",
            (("Host", ".spec.host", "The name of a service from the service registry"),),
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
    return crd_gateway_api.gateway_api()


def _definition(
    kind: str,
    plural: str,
    short: str,
    shown: tuple[tuple[str, str, str], ...],
    *,
    group: str = _ISTIO,
    versions: tuple[str, ...] = _ISTIO_VERSIONS,
) -> json.JsonObject:
    columns = [
        {"name": name, "jsonPath": path, "type": "string", "description": text}
        for name, path, text in shown
    ]
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
                    "schema": {"openAPIV3Schema": _schema()},
                }
                for version in versions
            ],
        },
    }


def _schema() -> json.JsonObject:
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": open_object, "status": open_object}}
