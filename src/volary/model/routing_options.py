"""How traffic gets to the variants of an application: the router, its options, its objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal

from volary.model import options


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """Points at manifests of the application by kind and name."""

    kind: str = options.option("Kind; empty: the usual one for the place.", "")
    name: str = options.option("Name; empty: any.", "")


class RoutingMethod(StrEnum):
    """How traffic is divided between variants."""

    POD_SELECTOR = "podselector"
    ISTIO = "istio"
    GATEWAY_API = "gatewayapi"
    SMI = "smi"
    NGINX = "nginx"
    TRAEFIK = "traefik"


#: How long the proxies of a router take to follow its objects, as they are by default: twice the
#: longest that they wait between two looks, and a second. kube-proxy and the proxies of meshes are
#: told within a second; Traefik waits two (`providersThrottleDuration`), which other
#: implementations of the Gateway API do not exceed; the NGINX Ingress controller reloads three
#: times in ten seconds (`sync-rate-limit`).
DRAIN_DELAYS: Mapping[RoutingMethod, timedelta] = {
    RoutingMethod.POD_SELECTOR: timedelta(seconds=3),
    RoutingMethod.ISTIO: timedelta(seconds=3),
    RoutingMethod.GATEWAY_API: timedelta(seconds=5),
    RoutingMethod.SMI: timedelta(seconds=3),
    RoutingMethod.NGINX: timedelta(seconds=8),
    RoutingMethod.TRAEFIK: timedelta(seconds=5),
}


@dataclass(frozen=True, slots=True)
class VariantServices:
    """Services that lead to one variant each."""

    primary: options.DnsLabel = options.option(
        "Primary's; empty: `service.name`, or its copy where `create` or the rollout of primary "
        "makes one.",
        "",
    )
    canary: options.DnsLabel = options.option(
        "Canary's; empty: `service.name` with the suffix of its rollout.", ""
    )
    baseline: options.DnsLabel = options.option(
        "Baseline's; empty: `service.name` with the suffix of its rollout.", ""
    )


_HOSTS = "Hosts of a route that is made by `create`"
_LEADING = "Name; empty: the one that leads to the Service."


@dataclass(frozen=True, slots=True)
class VirtualService(ObjectReference):
    """Points at the VirtualService to edit."""

    kind: Literal["", "VirtualService"] = options.option(
        "Only `VirtualService`; may be left out.", ""
    )
    name: str = options.option("Name; empty: the `service` reference, or the first.", "")


@dataclass(frozen=True, slots=True)
class IstioRouting:
    """Options of the Istio router (PipeCD: ``trafficRouting.istio``)."""

    editable_routes: tuple[options.Text, ...] = options.option(
        "Names of HTTP routes that may be changed; empty: all.", ()
    )
    host: str = options.option(
        "Destination host that carries the variants; empty: `service.name`. (PipeCD reads but "
        "never uses it.)",
        "",
    )
    virtual_service: VirtualService = options.option(
        "The VirtualService to edit.", VirtualService()
    )
    gateways: tuple[options.Text, ...] = options.option(
        "Gateways of a VirtualService that is made by `create`; empty: the mesh alone.", ()
    )
    hosts: tuple[options.Text, ...] = options.option(
        f"{_HOSTS}; empty: `host`, or the Service.", ()
    )


@dataclass(frozen=True, slots=True)
class GatewayRoute(ObjectReference):
    """Points at the route to edit."""

    kind: Literal["", "HTTPRoute", "GRPCRoute"] = options.option(
        "`HTTPRoute` or `GRPCRoute`; empty: either, HTTPRoute when made.", ""
    )
    name: str = options.option(_LEADING, "")


@dataclass(frozen=True, slots=True)
class ParentReference:
    """What a route that is made is attached to."""

    name: Annotated[options.Text, options.Option("Name.")]
    kind: Literal["Gateway", "Service"] = options.option(
        "A Gateway, or in a mesh a Service.", "Gateway"
    )
    group: str = options.option(
        "API group; empty: the usual one of the kind. `core` for a Service.", ""
    )
    namespace: options.DnsLabel = options.option("Namespace; empty: the route's.", "")
    section_name: str = options.option("Listener of the Gateway; empty: all.", "")
    port: int = options.option("Port; 0: any.", 0, least=0, most=65535)


@dataclass(frozen=True, slots=True)
class GatewayRouting:
    """Options of the Gateway API router."""

    route: GatewayRoute = options.option("The route to edit.", GatewayRoute())
    editable_routes: tuple[options.Text, ...] = options.option(
        "Names of rules that may be changed, `#1` for the first rule; empty: all that lead to the "
        "application.",
        (),
    )
    gateway_refs: tuple[ParentReference, ...] = options.option(
        "Parents of a route that is made by `create`; empty: the Service itself, as in a mesh.", ()
    )
    hosts: tuple[options.Text, ...] = options.option(f"{_HOSTS}.", ())


@dataclass(frozen=True, slots=True)
class TrafficSplit(ObjectReference):
    """Points at the TrafficSplit to edit."""

    kind: Literal["", "TrafficSplit"] = options.option("Only `TrafficSplit`; may be left out.", "")
    name: str = options.option(_LEADING, "")


@dataclass(frozen=True, slots=True)
class SmiRouting:
    """Options of the SMI router."""

    traffic_split: TrafficSplit = options.option("The TrafficSplit to edit.", TrafficSplit())
    version: Literal["v1alpha1", "v1alpha2", "v1alpha3", "v1alpha4"] = options.option(
        "Version of a TrafficSplit that is made by `create`; one in Git has its own.", "v1alpha2"
    )


@dataclass(frozen=True, slots=True)
class Ingress(ObjectReference):
    """Points at the Ingress that leads to primary."""

    kind: Literal["", "Ingress"] = options.option("Only `Ingress`; may be left out.", "")
    name: str = options.option(_LEADING, "")


@dataclass(frozen=True, slots=True)
class NginxRouting:
    """Options of the NGINX Ingress router."""

    ingress: Ingress = options.option("The Ingress that gets a canary beside it.", Ingress())
    annotation_prefix: options.AnnotationPrefix = options.option(
        "Prefix of the controller's annotations.", "nginx.ingress.kubernetes.io"
    )
    class_name: options.Text = options.option(
        "Class of an Ingress that is made by `create`.", "nginx"
    )
    hosts: tuple[options.Text, ...] = options.option(f"{_HOSTS}; empty: any.", ())


@dataclass(frozen=True, slots=True)
class TraefikService(ObjectReference):
    """Points at the TraefikService to edit."""

    kind: Literal["", "TraefikService"] = options.option(
        "Only `TraefikService`; may be left out.", ""
    )
    name: str = options.option(_LEADING, "")


@dataclass(frozen=True, slots=True)
class TraefikRouting:
    """Options of the Traefik router."""

    service: TraefikService = options.option(
        "The weighted TraefikService to edit.", TraefikService()
    )


@dataclass(frozen=True, slots=True)
class TrafficRouting:
    """How traffic is divided between variants."""

    method: RoutingMethod = options.option(
        "`podselector` switches the Service's selector; `istio` sets weights in a VirtualService, "
        "`gatewayapi` in an HTTPRoute or a GRPCRoute, `smi` in a TrafficSplit, `traefik` in a "
        "TraefikService, `nginx` in the annotations of a canary Ingress.",
        RoutingMethod.POD_SELECTOR,
    )
    create: bool = options.option(
        "Make the route object where the manifests have none, and the Services that lead to one "
        "variant each.",
        False,
    )
    drain_delay: timedelta | None = options.option(
        "How long pods stay after the routes have left them, for proxies follow late. Empty: "
        + ", ".join(f"{delay.seconds}s for `{method}`" for method, delay in DRAIN_DELAYS.items())
        + ".",
        None,
    )
    drain_timeout: timedelta = options.option(
        "How long at most requests that are under way to a variant are waited for after that, "
        "where the router's metrics tell them. `0s`: not at all.",
        timedelta(minutes=1),
    )
    services: VariantServices = options.option(
        "Names of those Services; not for `podselector` and `istio`.", VariantServices()
    )
    istio: IstioRouting = options.option("Options of the Istio router.", IstioRouting())
    gateway_api: GatewayRouting = options.option(
        "Options of the Gateway API router.", GatewayRouting()
    )
    smi: SmiRouting = options.option("Options of the SMI router.", SmiRouting())
    nginx: NginxRouting = options.option("Options of the NGINX Ingress router.", NginxRouting())
    traefik: TraefikRouting = options.option("Options of the Traefik router.", TraefikRouting())

    @property
    def patience(self) -> timedelta:
        """How long pods stay after the routes have left them."""
        return DRAIN_DELAYS[self.method] if self.drain_delay is None else self.drain_delay
