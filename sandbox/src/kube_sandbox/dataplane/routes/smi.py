"""Reading SMI's TrafficSplit, versions v1alpha1 to v1alpha4."""

import re

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

TRAFFIC_SPLIT = "TrafficSplit.split.smi-spec.io"
HTTP_ROUTE_GROUP = "HTTPRouteGroup.specs.smi-spec.io"
_QUANTITY = re.compile(r"(\d+)(m?)")


def find(cluster: view.View, host: str, home: str) -> route_rules.Routes | None:
    """Return the rules of the TrafficSplits for a Service, None without one."""
    name, namespace = route_rules.service_of(host, home)
    rules: list[route_rules.Rule] = []
    titles: list[str] = []
    plain: list[route_rules.Rule] = []
    for each in cluster.list(TRAFFIC_SPLIT, namespace):
        spec = objects.spec(each)
        if route_rules.service_of(str(spec.get("service", "")), namespace) != (name, namespace):
            continue
        titles.append(f"TrafficSplit {objects.name(each)}")
        backends = tuple(
            route_rules.Backend(
                str(part.get("service", "")), namespace, _weight(part.get("weight"))
            )
            for part in spec.get("backends") or ()
        )
        matches = _matches(cluster, namespace, spec)
        (rules if matches else plain).append(route_rules.Rule(backends, matches))
    if not titles:
        return None
    return route_rules.Routes(", ".join(titles), (*rules, *plain), falls_through=True)


def _weight(told: object) -> float:
    """An integer, or in v1alpha1 a quantity: ``500m`` is a half."""
    read = _QUANTITY.fullmatch(str(told or 0))
    if read is None:
        return 0.0
    return float(read[1]) / (1000 if read[2] else 1)


def _matches(
    cluster: view.View, namespace: str, spec: json.JsonObject
) -> tuple[route_rules.Match, ...]:
    found: list[route_rules.Match] = []
    for each in spec.get("matches") or ():
        group = cluster.get(HTTP_ROUTE_GROUP, namespace, str(each.get("name", "")))
        for match in objects.spec(group or {}).get("matches") or ():
            found.append(_match(match))
    return tuple(found)


def _match(match: json.JsonObject) -> route_rules.Match:
    tests: list[route_rules.Test] = []
    if match.get("pathRegex"):
        tests.append(
            route_rules.Test(
                route_rules.Part.PATH, route_rules.Comparison.REGEX, str(match["pathRegex"])
            )
        )
    for method in match.get("methods") or ():
        if method != "*":
            tests.append(
                route_rules.Test(route_rules.Part.METHOD, route_rules.Comparison.EXACT, str(method))
            )
    headers = match.get("headers") or {}
    pairs = (
        headers.items()
        if isinstance(headers, dict)
        else [pair for each in headers for pair in each.items()]
    )
    for name, pattern in pairs:
        tests.append(
            route_rules.Test(
                route_rules.Part.HEADER,
                route_rules.Comparison.REGEX,
                str(pattern),
                str(name).lower(),
            )
        )
    return route_rules.Match(tuple(tests))
