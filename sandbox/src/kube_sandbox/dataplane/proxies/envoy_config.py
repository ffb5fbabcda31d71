"""What Envoy is told about a cluster, as istiod would tell a sidecar's proxy; pure.

Routes come from VirtualServices, and from Services where none stands before them; subsets from
DestinationRules; endpoints from EndpointSlices. Retries are Istio's defaults.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.controllers.framework import view
from kube_sandbox.dataplane.proxies import backends
from kube_sandbox.dataplane.routes import istio, lookup, route_rules

_TYPES = "type.googleapis.com/envoy"
#: Istio: what a proxy tries again, twice and on another host.
_RETRIES: json.JsonObject = {
    "retry_on": "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
    "num_retries": 2,
    "retriable_status_codes": [503],
    "retry_host_predicate": [
        {
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {
                "@type": f"{_TYPES}.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
            },
        }
    ],
    "host_selection_retry_max_attempts": 5,
}
#: None, as Istio sets it: Envoy's own limit would end requests that a busy machine is slow with.
_TIMEOUT = "0s"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What Envoy is to know at a moment."""

    routes: json.JsonObject
    #: By the name of the Envoy cluster.
    endpoints: Mapping[str, json.JsonObject]


def take(cluster: view.View) -> Snapshot:
    """Read what a cluster's objects say now."""
    found: dict[str, route_rules.Backend] = {}
    hosts = []
    for host, domains, routes in _hosts(cluster):
        rules = [_route(rule, match, found) for rule in routes.rules for match in _matches(rule)]
        hosts.append({"name": host, "domains": domains, "routes": rules})
    table = {
        "@type": f"{_TYPES}.config.route.v3.RouteConfiguration",
        "name": "outbound",
        "ignore_port_in_host_matching": True,
        "virtual_hosts": hosts,
    }
    return Snapshot(
        table, {name: _assignment(cluster, name, backend) for name, backend in found.items()}
    )


def cluster_of(name: str, endpoints_path: str) -> json.JsonObject:
    """An Envoy cluster whose endpoints stand in a file."""
    return {
        "@type": f"{_TYPES}.config.cluster.v3.Cluster",
        "name": name,
        "type": "EDS",
        "connect_timeout": "2s",
        "lb_policy": "ROUND_ROBIN",
        "eds_cluster_config": {"eds_config": source(endpoints_path)},
    }


def bootstrap(*, address: str, port: int, admin_port: int, files: str) -> json.JsonObject:
    """What Envoy starts with: one listener, everything else from `files`."""
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_TYPES}.extensions.filters.http.router.v3.Router"},
    }
    manager_type = "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    manager = {
        "@type": f"{_TYPES}.{manager_type}",
        "stat_prefix": "outbound",
        "rds": {"route_config_name": "outbound", "config_source": source(f"{files}/rds.json")},
        "http_filters": [router],
        # As Istio has it.
        "upgrade_configs": [{"upgrade_type": "websocket"}],
    }
    filters = [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]
    return {
        "node": {"id": "sandbox", "cluster": "sandbox"},
        "admin": {"address": _socket(address, admin_port)},
        "dynamic_resources": {"cds_config": source(f"{files}/cds.json")},
        "static_resources": {
            "listeners": [
                {
                    "name": "outbound",
                    "address": _socket(address, port),
                    "filter_chains": [{"filters": filters}],
                }
            ]
        },
    }


def source(path: str) -> json.JsonObject:
    """A file that Envoy follows."""
    return {"path_config_source": {"path": path}, "resource_api_version": "V3"}


def _socket(address: str, port: int) -> json.JsonObject:
    return {"socket_address": {"address": address, "port_value": port}}


def _hosts(cluster: view.View) -> Iterable[tuple[str, list[str], route_rules.Routes]]:
    taken: set[str] = set()
    for each in cluster.list("Service"):
        name, namespace = objects.name(each), objects.namespace(each)
        full = f"{name}.{namespace}"
        domains = [full, f"{full}.svc", f"{full}.svc.cluster.local"]
        if namespace == "default":
            domains.insert(0, name)
        taken.update(domains)
        routes = istio.find(cluster, full, namespace) or lookup.plain(name, namespace)
        yield full, domains, routes
    for each in cluster.list(istio.VIRTUAL_SERVICE):
        for host in objects.spec(each).get("hosts") or ():
            if str(host) in taken or "." not in str(host):
                continue
            taken.add(str(host))
            found = istio.find(cluster, str(host), objects.namespace(each))
            if found is not None:
                yield str(host), [str(host)], found


def _matches(rule: route_rules.Rule) -> tuple[route_rules.Match, ...]:
    return rule.matches or (route_rules.Match(),)


def _route(
    rule: route_rules.Rule, match: route_rules.Match, found: dict[str, route_rules.Backend]
) -> json.JsonObject:
    used = [each for each in rule.backends if each.weight]
    told: json.JsonObject = {"match": _match(match)}
    if not used:
        told["direct_response"] = {"status": 503}
        return told
    action: json.JsonObject = {"timeout": _TIMEOUT, "retry_policy": _RETRIES}
    clusters = []
    for each in used:
        part: json.JsonObject = {"name": _name(each, found), "weight": round(each.weight)}
        if each.response_headers:
            part["response_headers_to_add"] = [
                {"header": {"key": key, "value": value}} for key, value in each.response_headers
            ]
        clusters.append(part)
    action["weighted_clusters"] = {"clusters": clusters}
    if rule.mirror is not None:
        share = {"numerator": round(rule.mirror_share * 10_000), "denominator": "TEN_THOUSAND"}
        action["request_mirror_policies"] = [
            {
                "cluster": _name(rule.mirror, found),
                "runtime_fraction": {"default_value": share},
            }
        ]
    told["route"] = action
    return told


def _name(backend: route_rules.Backend, found: dict[str, route_rules.Backend]) -> str:
    """Istio's name of the Envoy cluster of a backend; remembers it."""
    port = backend.port if backend.port is not None else ""
    host = f"{backend.service}.{backend.namespace}.svc.cluster.local"
    name = f"outbound|{port}|{backend.subset_name}|{host}"
    found[name] = backend
    return name


def _assignment(cluster: view.View, name: str, backend: route_rules.Backend) -> json.JsonObject:
    listed = [{"endpoint": {"address": _socket(*each)}} for each in backends.find(cluster, backend)]
    return {
        "@type": f"{_TYPES}.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name,
        "endpoints": [{"lb_endpoints": listed}],
    }


def _match(match: route_rules.Match) -> json.JsonObject:
    told: json.JsonObject = {"prefix": "/"}
    headers: list[json.JsonObject] = []
    query: list[json.JsonObject] = []
    for test in match.tests:
        match test.part:
            case route_rules.Part.PATH:
                told.pop("prefix", None)
                told.update(_path(test))
            case route_rules.Part.METHOD:
                headers.append({"name": ":method", "string_match": _text(test)})
            case route_rules.Part.HEADER:
                headers.append(_named(test))
            case route_rules.Part.QUERY:
                query.append(_named(test))
    if headers:
        told["headers"] = headers
    if query:
        told["query_parameters"] = query
    return told


def _path(test: route_rules.Test) -> json.JsonObject:
    match test.how:
        case route_rules.Comparison.EXACT:
            return {"path": test.value}
        case route_rules.Comparison.REGEX:
            return {"safe_regex": {"regex": test.value}}
        case _:
            return {"prefix": test.value}


def _named(test: route_rules.Test) -> json.JsonObject:
    if test.how is route_rules.Comparison.PRESENT:
        return {"name": test.name, "present_match": True}
    if test.how is route_rules.Comparison.ABSENT:
        return {"name": test.name, "present_match": False}
    return {"name": test.name, "string_match": _text(test)}


def _text(test: route_rules.Test) -> json.JsonObject:
    if test.how is route_rules.Comparison.REGEX:
        return {"safe_regex": {"regex": test.value}}
    return {"exact" if test.how is route_rules.Comparison.EXACT else "prefix": test.value}
