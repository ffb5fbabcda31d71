"""Services of an application, and copies of them for a variant."""

import re
from collections.abc import Sequence

from volary.manifests import objects
from volary.model import errors, routing_options
from volary.model.objects import manifest

#: Fields that belong to one Service alone, or to how it is reached from outside. A copy that
#: kept them would be refused (node ports, cluster IPs) or would take the traffic away.
_OWN_FIELDS = frozenset(
    {
        "allocateLoadBalancerNodePorts",
        "externalIPs",
        "externalName",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
    }
)
#: Given out by the cluster, one Service each. IP families and their policy are a wish and stay.
_ADDRESS_FIELDS = frozenset({"clusterIP", "clusterIPs"})
_HEADLESS = "None"

_SUFFIX = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")

#: Longest names by kind; other kinds take a DNS subdomain.
_LONGEST = {
    "Service": 63,
    # Its pods carry the name and an eleven-character revision in one label of 63.
    "StatefulSet": 52,
}
_LONGEST_OTHER = 253


def find(
    manifests: Sequence[manifest.Manifest], reference: routing_options.ObjectReference
) -> list[manifest.Manifest]:
    """Return the Services of the core group, of the reference's name if it has one.

    The reference's kind is not looked at (PipeCD: ``service``).
    """
    return [
        item
        for item in manifests
        if item.kind == "Service" and not item.group and reference.name in ("", item.name)
    ]


def variant(item: manifest.Manifest, *, suffix: str, key: str, value: str) -> manifest.Manifest:
    """Return a copy that is reached inside the cluster only and selects one variant.

    Raises:
        UserError: For a Service without pods of its own (no selector, ``ExternalName``),
            whose copy would select every application's variant.
    """
    return select(duplicate(item, suffix=suffix), key, value)


def select(item: manifest.Manifest, key: str, value: str) -> manifest.Manifest:
    """Return the Service with the label in its selector."""
    selector = {**objects.mapping(item.body, "spec", "selector"), key: value}
    return item.with_spec({"selector": selector})


def duplicate(item: manifest.Manifest, *, suffix: str) -> manifest.Manifest:
    """Return a copy that is reached inside the cluster only and selects the same pods.

    A headless Service stays headless. Node ports, cluster IPs, load balancer fields and
    the status are left out, PipeCD keeps some of them.

    Raises:
        UserError: For a Service without pods of its own (no selector, ``ExternalName``).
    """
    if not objects.mapping(item.body, "spec", "selector"):
        raise errors.user_error(
            f"Service {item.name} has no selector, so it cannot have a variant",
            hint="name the Service that leads to the workload in service.name",
            where=item.origin,
        )
    copy = add_suffix(item, suffix)
    spec = {
        field: content
        for field, content in objects.mapping(copy.body, "spec").items()
        if field not in _OWN_FIELDS and field not in _ADDRESS_FIELDS
    }
    spec["type"] = "ClusterIP"
    if objects.text(item.body, "spec", "clusterIP") == _HEADLESS:
        spec["clusterIP"] = _HEADLESS
    if isinstance(spec.get("ports"), list):
        spec["ports"] = [_without_node_port(port) for port in spec["ports"]]
    body = {field: content for field, content in copy.body.items() if field != "status"}
    return copy.with_body({**body, "spec": spec})


def _without_node_port(port: object) -> object:
    if not isinstance(port, dict):
        return port
    return {field: content for field, content in port.items() if field != "nodePort"}


def add_suffix(item: manifest.Manifest, suffix: str) -> manifest.Manifest:
    """Return the manifest as ``<name>-<suffix>``.

    Raises:
        UserError: When the name is none that the kind may have.
    """
    if not _SUFFIX.fullmatch(suffix):
        raise errors.user_error(
            f"the suffix {suffix!r} cannot be part of a name",
            hint="set the stage's suffix to lower-case letters, digits and dashes; "
            "by default it is the value of the variant label",
        )
    name = f"{item.name}-{suffix}"
    longest = _LONGEST.get(item.kind, _LONGEST_OTHER)
    if len(name) > longest:
        raise errors.user_error(
            f"the name of the {item.kind}, {name}, is too long: {len(name)} characters, "
            f"at most {longest} are allowed",
            hint="choose a shorter name, or a shorter suffix in the stage's options",
            where=item.origin,
        )
    return item.with_metadata({"name": name})
