"""Where requests to a Service would go right now, without sending any.

Follows what a mesh, a gateway and kube-proxy look at: the objects of routers if there are
any (`dataplane.routes`), then the published EndpointSlices. What reaches no ready pod is
lost, and so is what a pod's error rate drops; scenarios assert that it stays 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, selectors
from kube_sandbox.controllers.framework import pods, view
from kube_sandbox.controllers.kubelet import behaviours as kubelet_behaviours
from kube_sandbox.dataplane.routes import lookup, matching, route_rules


@dataclass(frozen=True, slots=True)
class Flow:
    """The part of the requests that one pod gets."""

    #: 0 to 1.
    share: float
    pod: str
    labels: Mapping[str, str]
    images: tuple[str, ...]
    #: Of `share`, how much the pod answers with an error.
    error_rate: float
    #: Seconds until it answers.
    latency: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """How the requests to a Service are spread."""

    flows: tuple[Flow, ...]
    #: Share of the requests that reach no ready pod.
    unrouted: float
    #: One sentence per reason why requests are lost; empty when none is.
    reasons: tuple[str, ...] = ()

    @property
    def lost(self) -> float:
        """Share of requests without a good answer."""
        return self.unrouted + sum(each.share * each.error_rate for each in self.flows)

    def by_label(self, key: str) -> dict[str, float]:
        """Shares by the pods' value of a label; pods without it under the empty text."""
        return self._grouped(lambda flow: flow.labels.get(key, ""))

    def by_image(self) -> dict[str, float]:
        """Shares by the image of the pods' first container."""
        return self._grouped(lambda flow: flow.images[0] if flow.images else "")

    def _grouped(self, group: Callable[[Flow], str]) -> dict[str, float]:
        shares: dict[str, float] = {}
        for flow in self.flows:
            shares[group(flow)] = shares.get(group(flow), 0.0) + flow.share
        return shares


def resolve(
    cluster: view.View,
    namespace: str,
    service: str,
    *,
    rules: kubelet_behaviours.ImageRules | None = None,
) -> Traffic:
    """Return where requests to a Service go, as seen from within its namespace.

    `service` may also be a host that a route names. The rule for requests without special
    headers counts.

    `rules` are the cluster's image rules (`faults.Switchboard.images`): they decide
    about error rates too.
    """
    flows: list[Flow] = []
    unrouted, reasons = 0.0, list[str]()
    routes = _shares(cluster, namespace, service)
    if isinstance(routes, str):
        return Traffic((), 1.0, (routes,))
    total = sum(each.weight for each in routes)
    for route in routes:
        backends = _backends(cluster, route)
        if isinstance(backends, str):
            unrouted += route.weight / total
            reasons.append(backends)
            continue
        part = route.weight / total / len(backends)
        for pod in backends:
            if pod is None:
                unrouted += part
                reasons.append(f"an endpoint of {route.namespace}/{route.service} is gone")
            else:
                flows.append(_flow(pod, part, rules or kubelet_behaviours.ImageRules()))
    reasons.extend(
        f"pod {each.pod} answers {each.error_rate:.0%} of its requests with an error"
        for each in flows
        if each.error_rate
    )
    return Traffic(tuple(flows), unrouted, tuple(reasons))


def _shares(cluster: view.View, namespace: str, host: str) -> tuple[route_rules.Backend, ...] | str:
    """The backends of requests without anything special; a sentence when there are none."""
    routes = lookup.find(cluster, host, namespace)
    if routes is None:
        return f"there is no Service {namespace}/{host}"
    rule = matching.choose(routes, "GET", "/", ())
    if rule is None and routes.falls_through:
        return lookup.plain(*route_rules.service_of(host, namespace)).rules[0].backends
    used = tuple(each for each in rule.backends if each.weight) if rule is not None else ()
    kind = routes.source.partition(" ")[0]
    return used or f"the {kind} has no route with a weight for every request"


def _backends(cluster: view.View, route: route_rules.Backend) -> list[json.JsonObject | None] | str:
    """The pods of a destination, None for one that does not answer, or why there are none."""
    title = f"{route.namespace}/{route.service}"
    if cluster.get("Service", route.namespace, route.service) is None:
        return f"there is no Service {title}"
    if route.subset is None:
        return f"no DestinationRule defines the subset that is routed to at {title}"
    wanted = {"matchLabels": dict(route.subset)}
    found = [
        pod
        for pod in _published(cluster, route.namespace, route.service)
        if pod is None or selectors.matches(wanted, objects.labels(pod))
    ]
    return found or f"the Service {title} has no ready endpoint"


def _published(cluster: view.View, namespace: str, service: str) -> list[json.JsonObject | None]:
    """The pods in the Service's slices that are told ready; None for those that are not."""
    found: list[json.JsonObject | None] = []
    for each in cluster.list("EndpointSlice", namespace):
        if objects.labels(each).get("kubernetes.io/service-name") != service:
            continue
        for endpoint in each.get("endpoints") or ():
            name = str((endpoint.get("targetRef") or {}).get("name", ""))
            pod = cluster.get("Pod", namespace, name)
            ready = (endpoint.get("conditions") or {}).get("ready")
            if ready:
                found.append(pod if pod is not None and pods.is_ready(pod) else None)
    return found


def _flow(pod: json.JsonObject, share: float, rules: kubelet_behaviours.ImageRules) -> Flow:
    images = tuple(str(each.get("image", "")) for each in objects.spec(pod).get("containers") or ())
    behaviours = [kubelet_behaviours.of(image, objects.annotations(pod), rules) for image in images]
    return Flow(
        share,
        objects.name(pod),
        objects.labels(pod),
        images,
        max((each.error_rate for each in behaviours), default=0.0),
        max((each.latency for each in behaviours), default=0.0),
    )
