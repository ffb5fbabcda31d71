"""Reading Traefik's IngressRoute and weighted TraefikService."""

import re

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

INGRESS_ROUTE = "IngressRoute.traefik.io"
TRAEFIK_SERVICE = "TraefikService.traefik.io"
_HOST = re.compile(r"Host\(`([^`]+)`\)")
_PREFIX = re.compile(r"PathPrefix\(`([^`]+)`\)")
_DEEPEST = 4


def find(cluster: view.View, host: str, home: str) -> route_rules.Routes | None:
    """Return the rules of the IngressRoutes for a host, None without one.

    Without any, a host that is a TraefikService's name asks for that one.
    """
    rules: list[tuple[int, route_rules.Rule]] = []
    titles: dict[str, None] = {}
    for each in cluster.list(INGRESS_ROUTE):
        for route in objects.spec(each).get("routes") or ():
            match = str(route.get("match", ""))
            hosts = _HOST.findall(match)
            if hosts and host not in hosts:
                continue
            prefix = next(iter(_PREFIX.findall(match)), "")
            tests = (
                (route_rules.Test(route_rules.Part.PATH, route_rules.Comparison.PREFIX, prefix),)
                if prefix
                else ()
            )
            backends = _backends(
                cluster, objects.namespace(each), list(route.get("services") or ()), 1.0, 0
            )
            rule = route_rules.Rule(tuple(backends), (route_rules.Match(tests),) if tests else ())
            rules.append((-len(match), rule))
            titles[f"IngressRoute {objects.name(each)}"] = None
    if rules:
        ordered = tuple(rule for _, rule in sorted(rules, key=lambda each: each[0]))
        return route_rules.Routes(", ".join(titles), ordered)
    name, namespace = route_rules.service_of(host, home)
    found = cluster.get(TRAEFIK_SERVICE, namespace, name)
    if found is None:
        return None
    rule = route_rules.Rule(tuple(_weighted(cluster, found, 1.0, 0)))
    return route_rules.Routes(f"TraefikService {name}", (rule,))


def _backends(
    cluster: view.View,
    namespace: str,
    services: list[json.JsonObject],
    share: float,
    depth: int,
) -> list[route_rules.Backend]:
    total = sum(_weight(each) for each in services)
    found: list[route_rules.Backend] = []
    for each in services:
        part = share * _weight(each) / total if total else 0.0
        name, place = str(each.get("name", "")), str(each.get("namespace") or namespace)
        if each.get("kind") == "TraefikService":
            inner = cluster.get(TRAEFIK_SERVICE, place, name)
            if inner is not None and depth < _DEEPEST:
                found.extend(_weighted(cluster, inner, part, depth + 1))
                continue
        port = each.get("port")
        found.append(
            route_rules.Backend(name, place, part, port if isinstance(port, int) else None)
        )
    return found


def _weighted(
    cluster: view.View, service: json.JsonObject, share: float, depth: int
) -> list[route_rules.Backend]:
    spec = objects.spec(service)
    services = list((spec.get("weighted") or {}).get("services") or ())
    if not services and spec.get("mirroring"):
        services = [spec["mirroring"]]
    return _backends(cluster, objects.namespace(service), services, share, depth)


def _weight(service: json.JsonObject) -> float:
    weight = service.get("weight")
    return 1.0 if weight is None else float(weight)
