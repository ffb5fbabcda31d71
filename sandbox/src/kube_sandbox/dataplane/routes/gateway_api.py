"""Reading HTTPRoutes of the Gateway API, attached to Gateways or to Services."""

from collections.abc import Iterator, Sequence

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

HTTP_ROUTE = "HTTPRoute.gateway.networking.k8s.io"
_PATHS = {
    "Exact": route_rules.Comparison.EXACT,
    "PathPrefix": route_rules.Comparison.SEGMENTS,
    "RegularExpression": route_rules.Comparison.REGEX,
}
_RANK = {
    route_rules.Comparison.EXACT: 0,
    route_rules.Comparison.SEGMENTS: 1,
    route_rules.Comparison.REGEX: 2,
}


def find(cluster: view.View, host: str, home: str) -> route_rules.Routes | None:
    """Return the rules of all HTTPRoutes for a host, the most specific first."""
    found = [each for each in cluster.list(HTTP_ROUTE) if _is_for(cluster, each, host, home)]
    if not found:
        return None
    single = [
        route_rules.Rule(rule.backends, (match,), rule.mirror, rule.mirror_share)
        for route in found
        for rule in _rules(route)
        for match in rule.matches or (route_rules.Match(),)
    ]
    # Sorting keeps the order of equals: older routes and earlier rules win.
    single.sort(key=lambda rule: _specificity(rule.matches[0]))
    title = ", ".join(f"HTTPRoute {objects.name(each)}" for each in found)
    return route_rules.Routes(title, tuple(single))


def _is_for(cluster: view.View, route: json.JsonObject, host: str, home: str) -> bool:
    place = objects.namespace(route)
    spec = objects.spec(route)
    for each in spec.get("parentRefs") or ():
        if each.get("kind") == "Service":
            parent = (str(each.get("name")), str(each.get("namespace") or place))
            if parent == route_rules.service_of(host, home):
                return True
    if not any(
        (each.get("kind") or "Gateway") == "Gateway" for each in spec.get("parentRefs") or ()
    ):
        return False
    hostnames = [str(each) for each in spec.get("hostnames") or ()]
    if hostnames:
        return any(
            route_rules.same_host(each, host, namespace=place, home=home) for each in hostnames
        )
    # A route without hostnames takes all; but here every Service can be asked for by name.
    name, namespace = route_rules.service_of(host, home)
    return cluster.get("Service", namespace, name) is None or any(
        backend.service == name and backend.namespace == namespace
        for rule in _rules(route)
        for backend in rule.backends
    )


def _specificity(match: route_rules.Match) -> tuple[int, int, int, int, int]:
    """Gateway API: exact path, longest prefix, method, most headers, most query fields."""
    path = next((each for each in match.tests if each.part is route_rules.Part.PATH), None)
    rank = _RANK.get(path.how, 3) if path is not None else 3
    counts = [
        sum(each.part is part for each in match.tests)
        for part in (route_rules.Part.METHOD, route_rules.Part.HEADER, route_rules.Part.QUERY)
    ]
    length = len(path.value.rstrip("/")) if path is not None else 0
    return rank if length else 3, -length, -counts[0], -counts[1], -counts[2]


def _rules(route: json.JsonObject) -> Iterator[route_rules.Rule]:
    place = objects.namespace(route)
    for each in objects.spec(route).get("rules") or ():
        filters = list(each.get("filters") or ())
        shared = _added(filters)
        backends = tuple(
            _backend(backend, place, shared) for backend in each.get("backendRefs") or ()
        )
        mirror, share = _mirror(filters, place)
        matches = tuple(_match(match) for match in each.get("matches") or ())
        yield route_rules.Rule(backends, matches, mirror, share)


def _backend(
    reference: json.JsonObject, namespace: str, shared: tuple[tuple[str, str], ...]
) -> route_rules.Backend:
    weight = reference.get("weight")
    return route_rules.Backend(
        str(reference.get("name", "")),
        str(reference.get("namespace") or namespace),
        1.0 if weight is None else float(weight),
        reference.get("port"),
        response_headers=(*shared, *_added(reference.get("filters") or ())),
    )


def _added(filters: Sequence[json.JsonObject]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (str(header.get("name")), str(header.get("value")))
        for each in filters
        if each.get("type") == "ResponseHeaderModifier"
        for action in ("add", "set")
        for header in (each.get("responseHeaderModifier") or {}).get(action) or ()
    )


def _mirror(
    filters: Sequence[json.JsonObject], namespace: str
) -> tuple[route_rules.Backend | None, float]:
    for each in filters:
        if each.get("type") != "RequestMirror":
            continue
        told = each.get("requestMirror") or {}
        share = 1.0
        if told.get("percent") is not None:
            share = float(told["percent"]) / 100
        elif told.get("fraction"):
            fraction = told["fraction"]
            share = float(fraction.get("numerator", 0)) / float(fraction.get("denominator", 100))
        return _backend(told.get("backendRef") or {}, namespace, ()), share
    return None, 1.0


def _match(match: json.JsonObject) -> route_rules.Match:
    tests: list[route_rules.Test] = []
    path = match.get("path") or {}
    if path.get("value"):
        how = _PATHS[str(path.get("type") or "PathPrefix")]
        if (how, path["value"]) != (route_rules.Comparison.SEGMENTS, "/"):
            tests.append(route_rules.Test(route_rules.Part.PATH, how, str(path["value"])))
    if match.get("method"):
        tests.append(
            route_rules.Test(
                route_rules.Part.METHOD, route_rules.Comparison.EXACT, str(match["method"])
            )
        )
    for field, part in (
        ("headers", route_rules.Part.HEADER),
        ("queryParams", route_rules.Part.QUERY),
    ):
        for each in match.get(field) or ():
            regex = each.get("type") == "RegularExpression"
            name = str(each.get("name", ""))
            tests.append(
                route_rules.Test(
                    part,
                    route_rules.Comparison.REGEX if regex else route_rules.Comparison.EXACT,
                    str(each.get("value", "")),
                    name.lower() if part is route_rules.Part.HEADER else name,
                )
            )
    return route_rules.Match(tuple(tests))
