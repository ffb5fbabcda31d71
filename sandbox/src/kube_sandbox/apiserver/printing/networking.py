"""The columns of Services and what routes to them."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects
from kube_sandbox.apiserver.printing import cells

#: Items shown of a long list (Kubernetes: formatEndpoints, three addresses).
_SHOWN = 3


def _external(service: json.JsonObject) -> str:
    spec = objects.spec(service)
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return str(spec.get("externalName"))
    own = list(spec.get("externalIPs") or ())
    if kind != "LoadBalancer":
        return cells.joined(own)
    given = (objects.status(service).get("loadBalancer") or {}).get("ingress") or ()
    told = [str(each.get("ip") or each.get("hostname")) for each in given]
    return cells.joined([*told, *own], empty="<pending>")


def _ports(service: json.JsonObject) -> str:
    told = []
    for each in objects.spec(service).get("ports") or ():
        node = f":{each['nodePort']}" if each.get("nodePort") else ""
        told.append(f"{each['port']}{node}/{each.get('protocol') or 'TCP'}")
    return cells.joined(told)


def _shortened(values: list[str]) -> str:
    if len(values) <= _SHOWN:
        return cells.joined(values)
    return f"{','.join(values[:_SHOWN])} + {len(values) - _SHOWN} more..."


def _endpoints(obj: json.JsonObject) -> str:
    told = [
        f"{address['ip']}:{port['port']}" if port else str(address["ip"])
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or [None]
        for address in subset.get("addresses") or ()
    ]
    return _shortened(told)


def _slice_addresses(obj: json.JsonObject) -> str:
    told = [str(a) for each in obj.get("endpoints") or () for a in each.get("addresses") or ()]
    return _shortened(told) if told else cells.UNSET


def _slice_ports(obj: json.JsonObject) -> str:
    told = [str(each.get("port", "*")) for each in obj.get("ports") or ()]
    return _shortened(told) if told else cells.UNSET


def _hosts(ingress: json.JsonObject) -> str:
    rules = objects.spec(ingress).get("rules") or ()
    return cells.joined([str(each.get("host") or "*") for each in rules], empty="*")


def _addresses(ingress: json.JsonObject) -> str:
    given = (objects.status(ingress).get("loadBalancer") or {}).get("ingress") or ()
    return ",".join(str(each.get("ip") or each.get("hostname")) for each in given)


COLUMNS: dict[tuple[str, str], tuple[cells.Column, ...]] = {
    ("", "Service"): (
        cells.NAME,
        cells.column("Type", lambda obj: str(objects.spec(obj).get("type") or "ClusterIP")),
        cells.column("Cluster-IP", lambda obj: objects.spec(obj).get("clusterIP") or cells.NONE),
        cells.column("External-IP", _external),
        cells.column("Port(s)", _ports),
        cells.AGE,
        cells.column(
            "Selector", lambda obj: cells.labels(objects.spec(obj).get("selector")), wide=True
        ),
    ),
    ("", "Endpoints"): (cells.NAME, cells.column("Endpoints", _endpoints), cells.AGE),
    ("discovery.k8s.io", "EndpointSlice"): (
        cells.NAME,
        cells.column("AddressType", lambda obj: str(obj.get("addressType", ""))),
        cells.column("Ports", _slice_ports),
        cells.column("Endpoints", _slice_addresses),
        cells.AGE,
    ),
    ("networking.k8s.io", "Ingress"): (
        cells.NAME,
        cells.column("Class", lambda obj: objects.spec(obj).get("ingressClassName") or cells.NONE),
        cells.column("Hosts", _hosts),
        cells.column("Address", _addresses),
        cells.column("Ports", lambda obj: "80, 443" if objects.spec(obj).get("tls") else "80"),
        cells.AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        cells.NAME,
        cells.column("Controller", lambda obj: str(objects.spec(obj).get("controller", ""))),
        cells.column(
            "Parameters",
            lambda obj: (objects.spec(obj).get("parameters") or {}).get("name") or cells.NONE,
        ),
        cells.AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        cells.NAME,
        cells.column(
            "Pod-Selector", lambda obj: cells.selector(objects.spec(obj).get("podSelector"))
        ),
        cells.AGE,
    ),
}
