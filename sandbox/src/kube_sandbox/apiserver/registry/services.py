"""What a Service gets from its cluster: addresses, families, node ports."""

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import reading
from kube_sandbox.apiserver.storage import allocators, cluster_state

_NONE = "None"
_WITH_PORTS = ("NodePort", "LoadBalancer")


def allocate(
    state: cluster_state.ClusterState,
    body: json.JsonObject,
    old: json.JsonObject | None,
    *,
    dry_run: bool,
) -> json.JsonObject:
    """Return a Service with what it needs allocated; what it had before stays.

    A dry run takes nothing.

    Raises:
        api_errors.StatusError: 422, a wanted address or port is taken; 500, none is left.
    """
    spec = dict(body["spec"])
    before = (old or {}).get("spec") or {}
    try:
        if spec.get("type") == "ExternalName":
            spec = _without_addresses(spec)
        else:
            _address(state, body, spec, before)
        _ports(state, body, spec, before)
    except allocators.ExhaustedError as problem:
        raise api_errors.StatusError(500, f"Internal error occurred: {problem}") from problem
    allocated = {**body, "spec": spec}
    if dry_run:
        release(state, allocated, keep=old)
    elif old is not None:
        release(state, old, keep=allocated)
    return allocated


def release(
    state: cluster_state.ClusterState, body: json.JsonObject, *, keep: json.JsonObject | None = None
) -> None:
    """Give back what a Service holds, except what `keep` holds as well."""
    kept = (keep or {}).get("spec") or {}
    address = body["spec"].get("clusterIP", "")
    if address and address != kept.get("clusterIP"):
        state.addresses.release(address)
    kept_ports = {each.get("nodePort") for each in kept.get("ports") or ()}
    for port in body["spec"].get("ports") or ():
        if port.get("nodePort") and port["nodePort"] not in kept_ports:
            state.addresses.release_port(port["nodePort"])


def _without_addresses(spec: json.JsonObject) -> json.JsonObject:
    lost = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    return {key: value for key, value in spec.items() if key not in lost}


def _address(
    state: cluster_state.ClusterState,
    body: json.JsonObject,
    spec: json.JsonObject,
    before: json.JsonObject,
) -> None:
    had = before.get("clusterIP", "")
    listed = spec.get("clusterIPs") or [""]
    wanted = spec.get("clusterIP") or listed[0] or had
    if had and spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        wanted = spec["clusterIP"]
    if wanted not in (_NONE, had) or not wanted:
        found = state.addresses.take(wanted)
        if found is None:
            raise _taken(body, "spec.clusterIPs", [wanted], "provided IP is already allocated")
        wanted = found
    spec["clusterIP"] = wanted
    spec["clusterIPs"] = [wanted]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")


def _ports(
    state: cluster_state.ClusterState,
    body: json.JsonObject,
    spec: json.JsonObject,
    before: json.JsonObject,
) -> None:
    if spec.get("type") not in _WITH_PORTS:
        if before.get("type") in _WITH_PORTS:
            spec["ports"] = [_without_port(each) for each in spec.get("ports") or ()]
        return
    held = {_identity(each): each.get("nodePort") for each in before.get("ports") or ()}
    mine = set(held.values())
    ports = []
    for index, port in enumerate(spec.get("ports") or ()):
        wanted = port.get("nodePort") or held.get(_identity(port)) or 0
        if not wanted or wanted not in mine:
            if wanted and wanted not in state.settings.node_ports:
                where = f"spec.ports[{index}].nodePort"
                first, last = state.settings.node_ports[0], state.settings.node_ports[-1]
                why = (
                    "provided port is not in the valid range. "
                    f"The range of valid ports is {first}-{last}"
                )
                raise _taken(body, where, wanted, why)
            found = state.addresses.take_port(wanted)
            if found is None:
                where = f"spec.ports[{index}].nodePort"
                raise _taken(body, where, wanted, "provided port is already allocated")
            wanted = found
        ports.append({**port, "nodePort": wanted})
    spec["ports"] = ports


def _identity(port: json.JsonObject) -> tuple[object, object]:
    return port.get("protocol"), port.get("port")


def _without_port(port: json.JsonObject) -> json.JsonObject:
    return {key: value for key, value in port.items() if key != "nodePort"}


def _taken(body: json.JsonObject, field: str, value: object, why: str) -> api_errors.StatusError:
    cause = causes.invalid(field, value, why)
    return reading.refuse(kinds.SERVICE, str(body["metadata"].get("name", "")), [cause])
