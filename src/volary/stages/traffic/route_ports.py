"""Ports in routes that name a Service and its port: they change with the version they lead to.

The live route has the ports of the running version. Canary's Service has those of the new
one, and primary's gets them when it is promoted.
"""

from collections.abc import Collection
from typing import Any

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant

#: Routers whose entries have a port; Istio's destinations seldom do, and then by choice.
_METHODS = (routing_options.RoutingMethod.GATEWAY_API, routing_options.RoutingMethod.TRAEFIK)


def follow(
    item: manifest.Manifest,
    wanted: manifest.Manifest,
    which: variant.Variant,
    application: applications.Application,
) -> manifest.Manifest:
    """Return `item` with the port that `wanted` has for primary in the entries of `which`.

    Unchanged when `wanted` is not clear about the port.
    """
    if application.traffic_routing.method not in _METHODS:
        return item
    known = backends.of(application)
    primary = {known.primary, *known.aliases}
    ports = _found(objects.mapping(wanted.body, "spec"), primary)
    if len(ports) != 1:
        return item
    names = primary if which is variant.Variant.PRIMARY else {known.name(which)}
    spec = _changed(objects.mapping(item.body, "spec"), names, ports.pop())
    return item.with_body({**item.body, "spec": spec})


def _found(value: Any, names: Collection[str]) -> set[Any]:
    """Return the ports of all entries that lead to one of the Services."""
    match value:
        case list():
            return {port for element in value for port in _found(element, names)}
        case dict() if value.get("name") in names and "port" in value:
            return {value["port"]}
        case dict():
            return {port for inner in value.values() for port in _found(inner, names)}
        case _:
            return set()


def _changed(value: Any, names: Collection[str], port: object) -> Any:
    match value:
        case list():
            return [_changed(element, names, port) for element in value]
        case dict() if value.get("name") in names and "port" in value:
            return {**value, "port": port}
        case dict():
            return {key: _changed(inner, names, port) for key, inner in value.items()}
        case _:
            return value
