"""Reading Ingresses as ingress-nginx does: one per host, and its canaries by annotation."""

import re
from collections.abc import Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.routes import route_rules

_PREFIX = "nginx.ingress.kubernetes.io/"
_CANARY = f"{_PREFIX}canary"


def find(cluster: view.View, host: str, _home: str) -> route_rules.Routes | None:
    """Return the rules of the Ingresses for a host, None without one."""
    main: list[tuple[str, str, route_rules.Backend]] = []
    canaries: list[tuple[str, route_rules.Backend, Mapping[str, str]]] = []
    titles: list[str] = []
    for each in cluster.list("Ingress"):
        annotations = objects.annotations(each)
        for path, kind, backend in _paths(each, host):
            if annotations.get(_CANARY) == "true":
                canaries.append((path, backend, annotations))
            else:
                main.append((path, kind, backend))
                titles.append(f"Ingress {objects.name(each)}")
    if not main:
        return None
    rules: list[route_rules.Rule] = []
    for path, kind, backend in sorted(main, key=lambda each: -len(each[0])):
        own = [(other, annotations) for at, other, annotations in canaries if at == path]
        rules.extend(_rules(path, kind, backend, own))
    return route_rules.Routes(", ".join(dict.fromkeys(titles)), tuple(rules))


def _paths(ingress: json.JsonObject, host: str) -> list[tuple[str, str, route_rules.Backend]]:
    place = objects.namespace(ingress)
    found = []
    for rule in objects.spec(ingress).get("rules") or ():
        if str(rule.get("host") or "") not in ("", host):
            continue
        for each in (rule.get("http") or {}).get("paths") or ():
            service = (each.get("backend") or {}).get("service") or {}
            port = (service.get("port") or {}).get("number")
            backend = route_rules.Backend(str(service.get("name", "")), place, 1.0, port)
            found.append(
                (str(each.get("path") or "/"), str(each.get("pathType") or "Prefix"), backend)
            )
    return found


def _rules(
    path: str,
    kind: str,
    main: route_rules.Backend,
    canaries: list[tuple[route_rules.Backend, Mapping[str, str]]],
) -> list[route_rules.Rule]:
    """The rules of one path; ingress-nginx: by header, else by cookie, else by weight."""
    how = route_rules.Comparison.EXACT if kind == "Exact" else route_rules.Comparison.SEGMENTS
    here = (
        ()
        if path == "/" and kind != "Exact"
        else (route_rules.Test(route_rules.Part.PATH, how, path),)
    )
    rules: list[route_rules.Rule] = []
    backends: tuple[route_rules.Backend, ...] = (main,)
    for canary, annotations in canaries:
        for tests, chosen in _forced(main, canary, annotations):
            rules.append(route_rules.Rule((chosen,), (route_rules.Match((*here, *tests)),)))
        total = float(annotations.get(f"{_CANARY}-weight-total", "100"))
        weight = float(annotations.get(f"{_CANARY}-weight", "0"))
        backends = (_weighted(main, total - weight), _weighted(canary, weight))
    return [*rules, route_rules.Rule(backends, (route_rules.Match(here),) if here else ())]


def _forced(
    main: route_rules.Backend, canary: route_rules.Backend, annotations: Mapping[str, str]
) -> list[tuple[tuple[route_rules.Test, ...], route_rules.Backend]]:
    found: list[tuple[tuple[route_rules.Test, ...], route_rules.Backend]] = []
    header = annotations.get(f"{_CANARY}-by-header", "").lower()
    value = annotations.get(f"{_CANARY}-by-header-value")
    pattern = annotations.get(f"{_CANARY}-by-header-pattern")
    if header and value:
        found.append(((_header(header, route_rules.Comparison.EXACT, value),), canary))
    elif header and pattern:
        found.append(
            ((_header(header, route_rules.Comparison.REGEX, f".*(?:{pattern}).*"),), canary)
        )
    elif header:
        found.append(((_header(header, route_rules.Comparison.EXACT, "always"),), canary))
        found.append(((_header(header, route_rules.Comparison.EXACT, "never"),), main))
    cookie = annotations.get(f"{_CANARY}-by-cookie", "")
    if cookie:
        for word, chosen in (("always", canary), ("never", main)):
            regex = rf"(?:.*; *)?{re.escape(cookie)}={word}(?:;.*)?"
            found.append(((_header("cookie", route_rules.Comparison.REGEX, regex),), chosen))
    return found


def _header(name: str, how: route_rules.Comparison, value: str) -> route_rules.Test:
    return route_rules.Test(route_rules.Part.HEADER, how, value, name)


def _weighted(backend: route_rules.Backend, weight: float) -> route_rules.Backend:
    return route_rules.Backend(backend.service, backend.namespace, weight, backend.port)
