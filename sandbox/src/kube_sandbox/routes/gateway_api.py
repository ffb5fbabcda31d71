"""Reading HTTPRoutes of the Gateway API, attached to Gateways or to Services."""

from collections.abc import Iterator, Sequence

from kube_sandbox import json
from kube_sandbox.controllers import objects, view
from kube_sandbox.routes import words

HTTP_ROUTE = "HTTPRoute.gateway.networking.k8s.io"
_PATHS = {
    "Exact": words.How.EXACT,
    "PathPrefix": words.How.SEGMENTS,
    "RegularExpression": words.How.REGEX,
}
_RANK = {words.How.EXACT: 0, words.How.SEGMENTS: 1, words.How.REGEX: 2}


def find(cluster: view.View, host: str, home: str) -> words.Routes | None:
    """Return the rules of all HTTPRoutes for a host, the most specific first."""
    found = [each for each in cluster.list(HTTP_ROUTE) if _is_for(cluster, each, host, home)]
    if not found:
        return None
    single = [
        words.Rule(rule.backends, (match,), rule.mirror, rule.mirror_share)
        for route in found
        for rule in _rules(route)
        for match in rule.matches or (words.Match(),)
    ]
    # Sorting keeps the order of equals: older routes and earlier rules win.
    single.sort(key=lambda rule: _specificity(rule.matches[0]))
    title = ", ".join(f"HTTPRoute {objects.name(each)}" for each in found)
    return words.Routes(title, tuple(single))


def _is_for(cluster: view.View, route: json.JsonObject, host: str, home: str) -> bool:
    place = objects.namespace(route)
    spec = objects.spec(route)
    for each in spec.get("parentRefs") or ():
        if each.get("kind") == "Service":
            parent = (str(each.get("name")), str(each.get("namespace") or place))
            if parent == words.service_of(host, home):
                return True
    if not any(
        (each.get("kind") or "Gateway") == "Gateway" for each in spec.get("parentRefs") or ()
    ):
        return False
    hostnames = [str(each) for each in spec.get("hostnames") or ()]
    if hostnames:
        return any(words.same_host(each, host, namespace=place, home=home) for each in hostnames)
    # A route without hostnames takes all; but here every Service can be asked for by name.
    name, namespace = words.service_of(host, home)
    return cluster.get("Service", namespace, name) is None or any(
        backend.service == name and backend.namespace == namespace
        for rule in _rules(route)
        for backend in rule.backends
    )


def _specificity(match: words.Match) -> tuple[int, int, int, int, int]:
    """Gateway API: exact path, longest prefix, method, most headers, most query fields."""
    path = next((each for each in match.tests if each.part is words.Part.PATH), None)
    rank = _RANK.get(path.how, 3) if path is not None else 3
    counts = [
        sum(each.part is part for each in match.tests)
        for part in (words.Part.METHOD, words.Part.HEADER, words.Part.QUERY)
    ]
    length = len(path.value.rstrip("/")) if path is not None else 0
    return rank if length else 3, -length, -counts[0], -counts[1], -counts[2]


def _rules(route: json.JsonObject) -> Iterator[words.Rule]:
    place = objects.namespace(route)
    for each in objects.spec(route).get("rules") or ():
        filters = list(each.get("filters") or ())
        shared = _added(filters)
        backends = tuple(
            _backend(backend, place, shared) for backend in each.get("backendRefs") or ()
        )
        mirror, share = _mirror(filters, place)
        matches = tuple(_match(match) for match in each.get("matches") or ())
        yield words.Rule(backends, matches, mirror, share)


def _backend(
    reference: json.JsonObject, namespace: str, shared: tuple[tuple[str, str], ...]
) -> words.Backend:
    weight = reference.get("weight")
    return words.Backend(
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
) -> tuple[words.Backend | None, float]:
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


def _match(match: json.JsonObject) -> words.Match:
    tests: list[words.Test] = []
    path = match.get("path") or {}
    if path.get("value"):
        how = _PATHS[str(path.get("type") or "PathPrefix")]
        if (how, path["value"]) != (words.How.SEGMENTS, "/"):
            tests.append(words.Test(words.Part.PATH, how, str(path["value"])))
    if match.get("method"):
        tests.append(words.Test(words.Part.METHOD, words.How.EXACT, str(match["method"])))
    for field, part in (("headers", words.Part.HEADER), ("queryParams", words.Part.QUERY)):
        for each in match.get(field) or ():
            regex = each.get("type") == "RegularExpression"
            name = str(each.get("name", ""))
            tests.append(
                words.Test(
                    part,
                    words.How.REGEX if regex else words.How.EXACT,
                    str(each.get("value", "")),
                    name.lower() if part is words.Part.HEADER else name,
                )
            )
    return words.Match(tuple(tests))
