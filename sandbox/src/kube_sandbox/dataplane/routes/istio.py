"""Reading Istio's VirtualService and DestinationRule."""

from collections.abc import Mapping, Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

VIRTUAL_SERVICE = "VirtualService.networking.istio.io"
DESTINATION_RULE = "DestinationRule.networking.istio.io"
_HOWS = {
    "exact": route_rules.Comparison.EXACT,
    "prefix": route_rules.Comparison.PREFIX,
    "regex": route_rules.Comparison.REGEX,
}


def find(cluster: view.View, host: str, home: str) -> route_rules.Routes | None:
    """Return the rules of the VirtualService for a host, None without one."""
    for each in cluster.list(VIRTUAL_SERVICE):
        place = objects.namespace(each)
        hosts = [str(host) for host in objects.spec(each).get("hosts") or ()]
        if any(route_rules.same_host(name, host, namespace=place, home=home) for name in hosts):
            rules = [_rule(cluster, place, route) for route in objects.spec(each).get("http") or ()]
            return route_rules.Routes(f"VirtualService {objects.name(each)}", tuple(rules))
    return None


def _rule(cluster: view.View, namespace: str, route: json.JsonObject) -> route_rules.Rule:
    mirror = route.get("mirror")
    share = (route.get("mirrorPercentage") or {}).get("value", 100.0)
    return route_rules.Rule(
        _weighted(cluster, namespace, list(route.get("route") or ())),
        tuple(_match(each) for each in route.get("match") or ()),
        mirror=_backend(cluster, namespace, mirror, weight=1.0) if mirror else None,
        mirror_share=float(share) / 100,
    )


def _weighted(
    cluster: view.View, namespace: str, destinations: Sequence[json.JsonObject]
) -> tuple[route_rules.Backend, ...]:
    # Istio: a single destination needs no weight, among several a missing one is 0.
    weights = [float(each.get("weight") or 0) for each in destinations]
    if len(destinations) == 1 and not weights[0]:
        weights = [100.0]
    return tuple(
        _backend(
            cluster,
            namespace,
            each.get("destination") or {},
            weight=weight,
            headers=_added(each.get("headers") or {}),
        )
        for each, weight in zip(destinations, weights, strict=True)
    )


def _added(headers: json.JsonObject) -> tuple[tuple[str, str], ...]:
    response = headers.get("response") or {}
    pairs = {**(response.get("add") or {}), **(response.get("set") or {})}
    return tuple((str(name), str(value)) for name, value in pairs.items())


def _backend(
    cluster: view.View,
    namespace: str,
    destination: json.JsonObject,
    *,
    weight: float,
    headers: tuple[tuple[str, str], ...] = (),
) -> route_rules.Backend:
    name, place = route_rules.service_of(str(destination.get("host", "")), namespace)
    subset = str(destination.get("subset") or "")
    port = (destination.get("port") or {}).get("number")
    labels = _subset(cluster, place, name, subset) if subset else {}
    return route_rules.Backend(name, place, weight, port, labels, subset, headers)


def _subset(
    cluster: view.View, namespace: str, service: str, subset: str
) -> Mapping[str, str] | None:
    for rule in cluster.list(DESTINATION_RULE, namespace):
        host = str(objects.spec(rule).get("host", ""))
        if route_rules.service_of(host, namespace) != (service, namespace):
            continue
        for each in objects.spec(rule).get("subsets") or ():
            if each.get("name") == subset:
                return dict(each.get("labels") or {})
    return None


def _match(match: json.JsonObject) -> route_rules.Match:
    tests: list[route_rules.Test] = []
    for field, part in (("uri", route_rules.Part.PATH), ("method", route_rules.Part.METHOD)):
        if match.get(field):
            tests.append(_test(part, match[field]))
    for name, wanted in (match.get("headers") or {}).items():
        tests.append(_test(route_rules.Part.HEADER, wanted, name=str(name).lower()))
    for name in match.get("withoutHeaders") or {}:
        tests.append(
            route_rules.Test(
                route_rules.Part.HEADER, route_rules.Comparison.ABSENT, name=str(name).lower()
            )
        )
    for name, wanted in (match.get("queryParams") or {}).items():
        tests.append(_test(route_rules.Part.QUERY, wanted, name=str(name)))
    return route_rules.Match(tuple(tests))


def _test(part: route_rules.Part, wanted: json.JsonObject, *, name: str = "") -> route_rules.Test:
    for key, how in _HOWS.items():
        if key in wanted:
            return route_rules.Test(part, how, str(wanted[key]), name)
    return route_rules.Test(part, route_rules.Comparison.PRESENT, name=name)
