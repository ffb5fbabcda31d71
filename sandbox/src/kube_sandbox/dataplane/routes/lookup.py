"""Which rules hold for a host: those of the first kind of router that knows it."""

from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import gateway_api, ingress, istio, route_rules, smi, traefik

#: Buckets of the kinds that decide about routes, and of what they lead to.
KINDS = frozenset(
    {
        "services",
        "endpointslices.discovery.k8s.io",
        "ingresses.networking.k8s.io",
        "virtualservices.networking.istio.io",
        "destinationrules.networking.istio.io",
        "httproutes.gateway.networking.k8s.io",
        "trafficsplits.split.smi-spec.io",
        "httproutegroups.specs.smi-spec.io",
        "ingressroutes.traefik.io",
        "traefikservices.traefik.io",
    }
)
_READERS = (istio.find, gateway_api.find, smi.find, traefik.find, ingress.find)


def find(cluster: view.View, host: str, home: str) -> route_rules.Routes | None:
    """Return the rules for a host; None when nothing knows it.

    A host that is a Service's name and that no router knows is the Service itself;
    `home` is the namespace of who asks.
    """
    for read in _READERS:
        found = read(cluster, host, home)
        if found is not None:
            return found
    name, namespace = route_rules.service_of(host, home)
    if cluster.get("Service", namespace, name) is None:
        return None
    return plain(name, namespace)


def plain(service: str, namespace: str) -> route_rules.Routes:
    """The rules of a Service that no router stands before."""
    return route_rules.Routes(
        f"Service {service}", (route_rules.Rule((route_rules.Backend(service, namespace),)),)
    )
