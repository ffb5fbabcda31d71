"""Reading SMI's TrafficSplit, versions v1alpha1 to v1alpha4."""

import re

from kube_sandbox import json
from kube_sandbox.controllers import objects, view
from kube_sandbox.routes import words

TRAFFIC_SPLIT = "TrafficSplit.split.smi-spec.io"
HTTP_ROUTE_GROUP = "HTTPRouteGroup.specs.smi-spec.io"
_QUANTITY = re.compile(r"(\d+)(m?)")


def find(cluster: view.View, host: str, home: str) -> words.Routes | None:
    """Return the rules of the TrafficSplits for a Service, None without one."""
    name, namespace = words.service_of(host, home)
    rules: list[words.Rule] = []
    titles: list[str] = []
    plain: list[words.Rule] = []
    for each in cluster.list(TRAFFIC_SPLIT, namespace):
        spec = objects.spec(each)
        if words.service_of(str(spec.get("service", "")), namespace) != (name, namespace):
            continue
        titles.append(f"TrafficSplit {objects.name(each)}")
        backends = tuple(
            words.Backend(str(part.get("service", "")), namespace, _weight(part.get("weight")))
            for part in spec.get("backends") or ()
        )
        matches = _matches(cluster, namespace, spec)
        (rules if matches else plain).append(words.Rule(backends, matches))
    if not titles:
        return None
    return words.Routes(", ".join(titles), (*rules, *plain), falls_through=True)


def _weight(told: object) -> float:
    """An integer, or in v1alpha1 a quantity: ``500m`` is a half."""
    read = _QUANTITY.fullmatch(str(told or 0))
    if read is None:
        return 0.0
    return float(read[1]) / (1000 if read[2] else 1)


def _matches(cluster: view.View, namespace: str, spec: json.JsonObject) -> tuple[words.Match, ...]:
    found: list[words.Match] = []
    for each in spec.get("matches") or ():
        group = cluster.get(HTTP_ROUTE_GROUP, namespace, str(each.get("name", "")))
        for match in objects.spec(group or {}).get("matches") or ():
            found.append(_match(match))
    return tuple(found)


def _match(match: json.JsonObject) -> words.Match:
    tests: list[words.Test] = []
    if match.get("pathRegex"):
        tests.append(words.Test(words.Part.PATH, words.How.REGEX, str(match["pathRegex"])))
    for method in match.get("methods") or ():
        if method != "*":
            tests.append(words.Test(words.Part.METHOD, words.How.EXACT, str(method)))
    headers = match.get("headers") or {}
    pairs = (
        headers.items()
        if isinstance(headers, dict)
        else [pair for each in headers for pair in each.items()]
    )
    for name, pattern in pairs:
        tests.append(
            words.Test(words.Part.HEADER, words.How.REGEX, str(pattern), str(name).lower())
        )
    return words.Match(tuple(tests))
