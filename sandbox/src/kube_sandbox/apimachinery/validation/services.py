"""What kube-apiserver refuses about Services, Ingresses and NetworkPolicies."""

import ipaddress
from typing import Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import internal_structs
from kube_sandbox.apimachinery.validation import checks, names

Causes = list[causes.Cause]
Object = json.JsonObject

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_POLICIES = ("Cluster", "Local")
_NODE_PORTS = range(30000, 32768)
_OUTSIDE = "provided port is not in the valid range. The range of valid ports is 30000-32767"


def service(body: Object, old: Object | None) -> Causes:
    """Check a Service."""
    spec = body.get("spec") or {}
    kind = spec.get("type", "ClusterIP")
    ports = spec.get("ports") or []
    found: Causes = []
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        found.append(causes.required("spec.ports"))
    found += _ports(ports, kind)
    found += checks.labels("spec.selector", spec.get("selector"))
    found += checks.one_of("spec.type", kind, _TYPES)
    found += checks.one_of(
        "spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None")
    )
    found += checks.one_of(
        "spec.internalTrafficPolicy", spec.get("internalTrafficPolicy"), _POLICIES
    )
    found += _type_rules(spec, kind)
    if old is not None:
        before = old.get("spec") or {}
        found += _same_address(spec, before)
        found += _same_balancer(spec, before)
    return found


def _type_rules(spec: Object, kind: str) -> Causes:
    found: Causes = []
    if kind == "ExternalName":
        name = spec.get("externalName", "")
        if name:
            found += checks.named("spec.externalName", name.rstrip("."), names.subdomain)
        else:
            found.append(causes.required("spec.externalName"))
    if kind in ("NodePort", "LoadBalancer"):
        if spec.get("clusterIP") == "None":
            detail = f"may not be set to 'None' for {kind} services"
            found.append(causes.invalid("spec.clusterIPs[0]", "None", detail))
        policy = spec.get("externalTrafficPolicy")
        found += checks.one_of("spec.externalTrafficPolicy", policy, _POLICIES)
    elif spec.get("externalTrafficPolicy"):
        detail = "may only be set for externally-accessible services"
        value = spec["externalTrafficPolicy"]
        found.append(causes.invalid("spec.externalTrafficPolicy", value, detail))
    return found


def _ports(ports: list[Object], kind: str) -> Causes:
    found: Causes = []
    seen_names: set[str] = set()
    seen_ports: set[Any] = set()
    seen_nodes: set[Any] = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        found += _port(where, port, kind, several=len(ports) > 1)
        name = port.get("name", "")
        if name and name in seen_names:
            found.append(causes.duplicate(f"{where}.name", name))
        seen_names.add(name)
        pair = (port.get("port"), port.get("protocol"))
        if pair in seen_ports:
            shown = {"port": port.get("port"), "protocol": port.get("protocol")}
            found.append(causes.duplicate(where, shown))
        seen_ports.add(pair)
        node = (port.get("nodePort"), port.get("protocol"))
        if node[0] and node in seen_nodes:
            found.append(causes.duplicate(f"{where}.nodePort", node[0]))
        seen_nodes.add(node)
    return found


def _port(path: str, port: Object, kind: str, *, several: bool) -> Causes:
    found: Causes = []
    name = port.get("name", "")
    if name:
        found += checks.named(f"{path}.name", name, names.label)
    elif several:
        found.append(causes.required(f"{path}.name"))
    found += checks.port_number(f"{path}.port", port.get("port", 0))
    found += checks.one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)
    target = port.get("targetPort")
    if target is not None:
        found += checks.port_or_name(f"{path}.targetPort", target)
    node = port.get("nodePort")
    if node and kind in ("ClusterIP", "ExternalName"):
        detail = f"may not be used when `type` is '{kind}'"
        found.append(causes.forbidden(f"{path}.nodePort", detail))
    elif node and node not in _NODE_PORTS:
        found.append(causes.invalid(f"{path}.nodePort", node, _OUTSIDE))
    return found


def addresses(spec: Object, old: Object | None = None) -> list[str]:
    """Return the cluster IPs a Service means; ``clusterIP`` alone may have been changed."""
    several, single = list(spec.get("clusterIPs") or ()), spec.get("clusterIP") or ""
    before = old or {}
    if not several:
        return [single] if single else []
    if single and single != several[0] and several == list(before.get("clusterIPs") or several):
        return [single, *several[1:]]
    return several


def _same_address(spec: Object, before: Object) -> Causes:
    was = before.get("type", "ClusterIP")
    if was == "ExternalName" or spec.get("type") == "ExternalName":
        return []
    old, new = addresses(before), addresses(spec, before)
    if not old or not new or old[0] == new[0]:
        return []
    return [causes.invalid("spec.clusterIPs[0]", new, "may not change once set")]


def _same_balancer(spec: Object, before: Object) -> Causes:
    path, name = "spec.loadBalancerClass", spec.get("loadBalancerClass")
    if before.get("type") != "LoadBalancer" or spec.get("type") != "LoadBalancer":
        return []
    return checks.unchanged(path, name, before.get("loadBalancerClass"), "may not change once set")


_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


def ingress(body: Object, old: Object | None) -> Causes:
    """Check an Ingress."""
    spec = body.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        detail = "either `defaultBackend` or `rules` must be specified"
        shown = internal_structs.shown("io.k8s.api.networking.v1.IngressSpec", spec)
        return [causes.invalid("spec", shown, detail)]
    found: Causes = []
    if spec.get("defaultBackend"):
        found += _backend("spec.defaultBackend", spec["defaultBackend"])
    for index, rule in enumerate(spec.get("rules") or ()):
        found += _rule(f"spec.rules[{index}]", rule)
    return found


def _rule(path: str, rule: Object) -> Causes:
    found: Causes = []
    host = rule.get("host", "").removeprefix("*.")
    if host:
        found += checks.named(f"{path}.host", host, names.subdomain)
    if "http" not in rule:
        return found
    paths = rule["http"].get("paths") or []
    if not paths:
        found.append(causes.required(f"{path}.http.paths"))
    for index, each in enumerate(paths):
        found += _path(f"{path}.http.paths[{index}]", each)
    return found


def _path(where: str, path: Object) -> Causes:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        return [causes.required(f"{where}.pathType", "pathType must be specified")]
    found = checks.one_of(f"{where}.pathType", kind, _PATH_TYPES)
    if not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        found.append(causes.invalid(f"{where}.path", text, "must be an absolute path"))
    return found + _backend(f"{where}.backend", path.get("backend") or {})


def _backend(path: str, backend: Object) -> Causes:
    target = backend.get("service")
    if target is None:
        if "resource" in backend:
            return []
        return [causes.required(path, "port name or number is required")]
    if not target.get("name"):
        return [causes.required(f"{path}.service.name")]
    found = checks.named(f"{path}.service.name", target["name"], names.label)
    port = target.get("port") or {}
    if port.get("name"):
        return found + checks.named(f"{path}.service.port.name", port["name"], names.port_name)
    if not port.get("number"):
        return [*found, causes.required(path, "port name or number is required")]
    return found + checks.port_number(f"{path}.service.port.number", port["number"])


def network_policy(body: Object, old: Object | None) -> Causes:
    """Check a NetworkPolicy."""
    spec = body.get("spec") or {}
    found = checks.label_selector("spec.podSelector", spec.get("podSelector"))
    for index, each in enumerate(spec.get("policyTypes") or ()):
        found += checks.one_of(f"spec.policyTypes[{index}]", each, ("Egress", "Ingress"))
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(side) or ()):
            found += _policy_rule(f"spec.{side}[{index}]", rule, peers)
    return found


def _policy_rule(path: str, rule: Object, peers: str) -> Causes:
    found: Causes = []
    for index, port in enumerate(rule.get("ports") or ()):
        where = f"{path}.ports[{index}]"
        found += checks.one_of(f"{where}.protocol", port.get("protocol"), _PROTOCOLS)
        if "port" in port:
            found += checks.port_or_name(f"{where}.port", port["port"])
    for index, peer in enumerate(rule.get(peers) or ()):
        where = f"{path}.{peers}[{index}]"
        if not peer:
            found.append(causes.required(where, "must specify a peer"))
        for name in ("podSelector", "namespaceSelector"):
            found += checks.label_selector(f"{where}.{name}", peer.get(name))
    return found


_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")


def endpoint_slice(body: Object, old: Object | None) -> Causes:
    """Check an EndpointSlice."""
    kind = body.get("addressType", "")
    found: Causes = []
    if not kind:
        found.append(causes.required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        found.append(causes.unsupported("addressType", kind, _ADDRESS_TYPES))
    for index, endpoint in enumerate(body.get("endpoints") or ()):
        if not endpoint.get("addresses"):
            detail = "must contain at least 1 address"
            found.append(causes.required(f"endpoints[{index}].addresses", detail))
    if old is not None:
        found += checks.unchanged("addressType", kind, old.get("addressType"))
    return found


_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def endpoints(body: Object, old: Object | None) -> Causes:
    """Check Endpoints."""
    found: Causes = []
    for index, subset in enumerate(body.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            detail = "must specify `addresses` or `notReadyAddresses`"
            found.append(causes.required(path, detail))
        for field in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(subset.get(field) or ()):
                found += _address(f"{path}.{field}[{number}].ip", address.get("ip", ""))
        ports = subset.get("ports") or []
        for number, port in enumerate(ports):
            found += _endpoint_port(f"{path}.ports[{number}]", port, several=len(ports) > 1)
    return found


def _address(path: str, text: str) -> Causes:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return [causes.invalid(path, text, _ADDRESS)]
    return []


def _endpoint_port(path: str, port: Object, *, several: bool) -> Causes:
    found: Causes = []
    if port.get("name"):
        found += checks.named(f"{path}.name", port["name"], names.label)
    elif several:
        found.append(causes.required(f"{path}.name"))
    found += checks.port_number(f"{path}.port", port.get("port", 0))
    return found + checks.one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)
