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
    for each in objects.mappings(body, "status", "listeners"):
        if trouble := _refused(body, each, ("Accepted", "ResolvedRefs")):
            name = objects.text(each, "name")
            return conditions.degraded(f"listener {name}: {trouble.reason}")
    programmed = conditions.find(body, "Programmed")
    if programmed and programmed.is_true:
        return conditions.healthy("programmed")
    # For a while that is what a new one is: addresses take time.
    return conditions.progressing(programmed.explain() if programmed else "not programmed yet")


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
