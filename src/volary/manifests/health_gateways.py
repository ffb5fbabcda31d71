"""Health of the Gateway API's kinds: their conditions say for which generation they hold."""

from collections.abc import Iterable

from volary.manifests import conditions, health_customs, objects
from volary.model import health, json


def gateway_class(body: json.JsonObject) -> health.Health:
    """Judge a GatewayClass: a controller has taken it up."""
    return health_customs.by_condition(body, "Accepted")


def gateway(body: json.JsonObject) -> health.Health:
    """Judge a Gateway: accepted, programmed, and each of its listeners too."""
    if trouble := _refused(body, objects.mapping(body, "status"), ("Accepted", "ResolvedRefs")):
        return trouble
    listeners = list(objects.mappings(body, "status", "listeners"))
    for each in listeners:
        if trouble := _listener_trouble(body, each):
            name = objects.text(each, "name")
            return conditions.degraded(f"listener {name}: {trouble.reason}")
    programmed = conditions.find(body, "Programmed")
    if not programmed or not programmed.is_true:
        # For a while that is what a new one is: addresses take time.
        return conditions.progressing(programmed.explain() if programmed else "not programmed yet")
    for each in listeners:
        found = conditions.find_in(body, each, "Programmed")
        if found and not found.is_true:
            name = objects.text(each, "name")
            return conditions.progressing(f"listener {name}: {found.explain()}")
    return conditions.healthy("programmed")


def _listener_trouble(body: json.JsonObject, listener: json.JsonObject) -> health.Health | None:
    """Return what is wrong with one listener; older controllers write no Programmed."""
    conflict = conditions.find_in(body, listener, "Conflicted")
    if conflict and conflict.is_true:
        return conditions.degraded(conflict.explain())
    return _refused(body, listener, ("Accepted", "ResolvedRefs", "Programmed"))


def route(body: json.JsonObject) -> health.Health:
    """Judge a route: every parent that speaks of this generation has taken it as it is."""
    found = [
        parent
        for parent in objects.mappings(body, "status", "parents")
        if conditions.find_in(body, parent, "Accepted")
    ]
    for parent in found:
        if trouble := _refused(body, parent, ("Accepted", "ResolvedRefs", "Programmed")):
            name = objects.text(parent, "parentRef", "name")
            return conditions.degraded(f"parent {name}: {trouble.reason}")
    wanted = len(objects.sequence(body, "spec", "parentRefs"))
    if len(found) < max(wanted, 1):
        return conditions.progressing(f"taken by {len(found)} of {max(wanted, 1)} parents")
    return conditions.healthy("taken by every parent")


def _refused(
    body: json.JsonObject, part: json.JsonObject, kinds: Iterable[str]
) -> health.Health | None:
    for kind in kinds:
        found = conditions.find_in(body, part, kind)
        if found and found.is_false and not found.waits:
            return conditions.degraded(found.explain())
    return None
