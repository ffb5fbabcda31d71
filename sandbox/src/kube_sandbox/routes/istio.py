"""Reading Istio's VirtualService and DestinationRule."""

from collections.abc import Mapping, Sequence

from kube_sandbox import json
from kube_sandbox.controllers import objects, view
from kube_sandbox.routes import words

VIRTUAL_SERVICE = "VirtualService.networking.istio.io"
DESTINATION_RULE = "DestinationRule.networking.istio.io"
_HOWS = {"exact": words.How.EXACT, "prefix": words.How.PREFIX, "regex": words.How.REGEX}


def find(cluster: view.View, host: str, home: str) -> words.Routes | None:
    """Return the rules of the VirtualService for a host, None without one."""
    for each in cluster.list(VIRTUAL_SERVICE):
        place = objects.namespace(each)
        hosts = [str(host) for host in objects.spec(each).get("hosts") or ()]
        if any(words.same_host(name, host, namespace=place, home=home) for name in hosts):
            rules = [_rule(cluster, place, route) for route in objects.spec(each).get("http") or ()]
            return words.Routes(f"VirtualService {objects.name(each)}", tuple(rules))
    return None


def _rule(cluster: view.View, namespace: str, route: json.JsonObject) -> words.Rule:
    mirror = route.get("mirror")
    share = (route.get("mirrorPercentage") or {}).get("value", 100.0)
    return words.Rule(
        _weighted(cluster, namespace, list(route.get("route") or ())),
        tuple(_match(each) for each in route.get("match") or ()),
        mirror=_backend(cluster, namespace, mirror, weight=1.0) if mirror else None,
        mirror_share=float(share) / 100,
    )


def _weighted(
    cluster: view.View, namespace: str, destinations: Sequence[json.JsonObject]
) -> tuple[words.Backend, ...]:
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
) -> words.Backend:
    name, place = words.service_of(str(destination.get("host", "")), namespace)
    subset = str(destination.get("subset") or "")
    port = (destination.get("port") or {}).get("number")
    labels = _subset(cluster, place, name, subset) if subset else {}
    return words.Backend(name, place, weight, port, labels, subset, headers)


def _subset(
    cluster: view.View, namespace: str, service: str, subset: str
) -> Mapping[str, str] | None:
    for rule in cluster.list(DESTINATION_RULE, namespace):
        host = str(objects.spec(rule).get("host", ""))
        if words.service_of(host, namespace) != (service, namespace):
            continue
        for each in objects.spec(rule).get("subsets") or ():
            if each.get("name") == subset:
                return dict(each.get("labels") or {})
    return None


def _match(match: json.JsonObject) -> words.Match:
    tests: list[words.Test] = []
    for field, part in (("uri", words.Part.PATH), ("method", words.Part.METHOD)):
        if match.get(field):
            tests.append(_test(part, match[field]))
    for name, wanted in (match.get("headers") or {}).items():
        tests.append(_test(words.Part.HEADER, wanted, name=str(name).lower()))
    for name in match.get("withoutHeaders") or {}:
        tests.append(words.Test(words.Part.HEADER, words.How.ABSENT, name=str(name).lower()))
    for name, wanted in (match.get("queryParams") or {}).items():
        tests.append(_test(words.Part.QUERY, wanted, name=str(name)))
    return words.Match(tuple(tests))


def _test(part: words.Part, wanted: json.JsonObject, *, name: str = "") -> words.Test:
    for key, how in _HOWS.items():
        if key in wanted:
            return words.Test(part, how, str(wanted[key]), name)
    return words.Test(part, words.How.PRESENT, name=name)
