"""``trafficRouting``: the options of each router, as pydantic models with a description each."""

from typing import Literal

import pydantic
from pydantic import Field

from volary.config.decoding import base_sections, values
from volary.model import applications

_HOSTS = "Hosts of a route that is made by `create`"


class VirtualService(base_sections.Section):
    """Points at the VirtualService to edit."""

    kind: Literal["", "VirtualService"] = Field(
        default="", description="Only `VirtualService`; may be left out."
    )
    name: str = Field(default="", description="Name; empty: the `service` reference, or the first.")


class Istio(base_sections.Section):
    """Options of the Istio router."""

    editable_routes: list[base_sections.Text] = Field(
        default_factory=list, description="Names of HTTP routes that may be changed; empty: all."
    )
    host: str = Field(
        default="",
        description="Destination host that carries the variants; empty: `service.name`. "
        "(PipeCD reads but never uses it.)",
    )
    virtual_service: VirtualService = Field(
        default_factory=VirtualService, description="The VirtualService to edit."
    )
    gateways: list[base_sections.Text] = Field(
        default_factory=list,
        description="Gateways of a VirtualService that is made by `create`; empty: the mesh alone.",
    )
    hosts: list[base_sections.Text] = Field(
        default_factory=list, description=f"{_HOSTS}; empty: `host`, or the Service."
    )


class GatewayRoute(base_sections.Section):
    """Points at the route to edit."""

    kind: Literal["", "HTTPRoute", "GRPCRoute"] = Field(
        default="", description="`HTTPRoute` or `GRPCRoute`; empty: either, HTTPRoute when made."
    )
    name: str = Field(default="", description="Name; empty: the one that leads to the Service.")


class GatewayReference(base_sections.Section):
    """What a route that is made is attached to."""

    group: str = Field(
        default="", description="API group; empty: the usual one of the kind. `core` for a Service."
    )
    kind: Literal["Gateway", "Service"] = Field(
        default="Gateway", description="A Gateway, or in a mesh a Service."
    )
    name: base_sections.Text = Field(description="Name.")
    namespace: values.DnsLabel = Field(default="", description="Namespace; empty: the route's.")
    section_name: str = Field(default="", description="Listener of the Gateway; empty: all.")
    port: int = Field(default=0, ge=0, le=65535, strict=True, description="Port; 0: any.")


class GatewayApi(base_sections.Section):
    """Options of the Gateway API router."""

    route: GatewayRoute = Field(default_factory=GatewayRoute, description="The route to edit.")
    editable_routes: list[base_sections.Text] = Field(
        default_factory=list,
        description="Names of rules that may be changed, `#1` for the first rule; empty: all that "
        "lead to the application.",
    )
    gateway_refs: list[GatewayReference] = Field(
        default_factory=list,
        description="Parents of a route that is made by `create`; empty: the Service itself, as "
        "in a mesh.",
    )
    hosts: list[base_sections.Text] = Field(default_factory=list, description=f"{_HOSTS}.")


class TrafficSplit(base_sections.Section):
    """Points at the TrafficSplit to edit."""

    kind: Literal["", "TrafficSplit"] = Field(
        default="", description="Only `TrafficSplit`; may be left out."
    )
    name: str = Field(default="", description="Name; empty: the one that leads to the Service.")


class Smi(base_sections.Section):
    """Options of the SMI router."""

    traffic_split: TrafficSplit = Field(
        default_factory=TrafficSplit, description="The TrafficSplit to edit."
    )
    version: Literal["v1alpha1", "v1alpha2", "v1alpha3", "v1alpha4"] = Field(
        default="v1alpha2",
        description="Version of a TrafficSplit that is made by `create`; one in Git has its own.",
    )


class Ingress(base_sections.Section):
    """Points at the Ingress that leads to primary."""

    kind: Literal["", "Ingress"] = Field(default="", description="Only `Ingress`; may be left out.")
    name: str = Field(default="", description="Name; empty: the one that leads to the Service.")


class Nginx(base_sections.Section):
    """Options of the NGINX Ingress router."""

    ingress: Ingress = Field(
        default_factory=Ingress, description="The Ingress that gets a canary beside it."
    )
    annotation_prefix: values.AnnotationPrefix = Field(
        default="nginx.ingress.kubernetes.io", description="Prefix of the controller's annotations."
    )
    class_name: base_sections.Text = Field(
        default="nginx", description="Class of an Ingress that is made by `create`."
    )
    hosts: list[base_sections.Text] = Field(
        default_factory=list, description=f"{_HOSTS}; empty: any."
    )


class TraefikService(base_sections.Section):
    """Points at the TraefikService to edit."""

    kind: Literal["", "TraefikService"] = Field(
        default="", description="Only `TraefikService`; may be left out."
    )
    name: str = Field(default="", description="Name; empty: the one that leads to the Service.")


class Traefik(base_sections.Section):
    """Options of the Traefik router."""

    service: TraefikService = Field(
        default_factory=TraefikService, description="The weighted TraefikService to edit."
    )


class VariantServices(base_sections.Section):
    """Services that lead to one variant each."""

    primary: values.DnsLabel = Field(
        default="",
        description="Primary's; empty: `service.name`, or its copy where `create` or the rollout "
        "of primary makes one.",
    )
    canary: values.DnsLabel = Field(
        default="", description="Canary's; empty: `service.name` with the suffix of its rollout."
    )
    baseline: values.DnsLabel = Field(
        default="", description="Baseline's; empty: `service.name` with the suffix of its rollout."
    )


class TrafficRouting(base_sections.Section):
    """How traffic is divided between variants."""

    method: applications.RoutingMethod = Field(
        default=applications.RoutingMethod.POD_SELECTOR,
        description="`podselector` switches the Service's selector; `istio` sets weights in a "
        "VirtualService, `gatewayapi` in an HTTPRoute or a GRPCRoute, `smi` in a TrafficSplit, "
        "`traefik` in a TraefikService, `nginx` in the annotations of a canary Ingress.",
    )
    create: pydantic.StrictBool = Field(
        default=False,
        description="Make the route object where the manifests have none, and the Services that "
        "lead to one variant each.",
    )
    services: VariantServices = Field(
        default_factory=VariantServices,
        description="Names of those Services; not for `podselector` and `istio`.",
    )
    istio: Istio = Field(default_factory=Istio, description="Options of the Istio router.")
    gateway_api: GatewayApi = Field(
        default_factory=GatewayApi, description="Options of the Gateway API router."
    )
    smi: Smi = Field(default_factory=Smi, description="Options of the SMI router.")
    nginx: Nginx = Field(default_factory=Nginx, description="Options of the NGINX Ingress router.")
    traefik: Traefik = Field(default_factory=Traefik, description="Options of the Traefik router.")
