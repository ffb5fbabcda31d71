"""The answer of a gateway or a mesh to routes of the Gateway API, in their status.

It answers for Services as parents, as a mesh does, and for Gateways of its own class.
Gateways of other classes are left to their controllers, such as a real Traefik.
"""

from collections.abc import Iterator

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import conditions, objects, times
from kube_sandbox.controllers.framework import actions, view

GROUP = "gateway.networking.k8s.io"
#: ``controllerName`` of a GatewayClass whose Gateways the sandbox itself looks after.
CONTROLLER = "kube-sandbox/proxy"
ROUTES = (f"HTTPRoute.{GROUP}", f"GRPCRoute.{GROUP}")
_MANAGER_KEYS = ("group", "kind", "namespace", "name", "sectionName", "port")


def reconcile(cluster: view.View, key: view.Key, at: times.Instant) -> actions.Result:
    """Return the status of the route at `key`."""
    route = cluster.get(key.kind, key.namespace, key.name)
    if route is None or objects.is_deleting(route):
        return actions.NOTHING
    before = list(objects.status(route).get("parents") or ())
    others = [each for each in before if each.get("controllerName") != CONTROLLER]
    answers = [
        _answer(cluster, route, parent, before, at)
        for parent in objects.spec(route).get("parentRefs") or ()
        if _is_ours(cluster, parent, objects.namespace(route))
    ]
    if before == [*others, *answers]:
        return actions.NOTHING
    status = {**objects.status(route), "parents": [*others, *answers]}
    return actions.Result((actions.UpdateStatus({**route, "status": status}),))


def _is_ours(cluster: view.View, parent: json.JsonObject, home: str) -> bool:
    place = str(parent.get("namespace") or home)
    name = str(parent.get("name", ""))
    if parent.get("kind") == "Service":
        return True
    gateway = cluster.get(f"Gateway.{GROUP}", place, name)
    if gateway is None:
        return False
    chosen = cluster.get(
        f"GatewayClass.{GROUP}", "", str(objects.spec(gateway).get("gatewayClassName", ""))
    )
    return chosen is not None and objects.spec(chosen).get("controllerName") == CONTROLLER


def _answer(
    cluster: view.View,
    route: json.JsonObject,
    parent: json.JsonObject,
    before: list[json.JsonObject],
    at: times.Instant,
) -> json.JsonObject:
    home = objects.namespace(route)
    reference = {key: parent[key] for key in _MANAGER_KEYS if parent.get(key) is not None}
    place = str(parent.get("namespace") or home)
    is_there = parent.get("kind") != "Service" or (
        cluster.get("Service", place, str(parent.get("name", ""))) is not None
    )
    missing = sorted(set(_missing(cluster, route)))
    known = next(
        (
            list(each.get("conditions") or ())
            for each in before
            if each.get("controllerName") == CONTROLLER and each.get("parentRef") == reference
        ),
        [],
    )
    said = (
        ("Accepted", is_there, "Accepted" if is_there else "NoMatchingParent", ""),
        (
            "ResolvedRefs",
            not missing,
            "BackendNotFound" if missing else "ResolvedRefs",
            f"there is no Service {', '.join(missing)}" if missing else "",
        ),
    )
    return {
        "parentRef": reference,
        "controllerName": CONTROLLER,
        "conditions": [_condition(known, route, *each, at) for each in said],
    }


def _condition(
    known: list[json.JsonObject],
    route: json.JsonObject,
    kind: str,
    holds: bool,
    reason: str,
    message: str,
    at: times.Instant,
) -> json.JsonObject:
    status = "True" if holds else "False"
    before = conditions.find(known, kind)
    same = before is not None and before.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": objects.generation(route),
        "lastTransitionTime": before.get("lastTransitionTime") if same and before else at.stamp,
    }


def _missing(cluster: view.View, route: json.JsonObject) -> Iterator[str]:
    """Yield Services that a rule leads to and that are not there."""
    home = objects.namespace(route)
    for rule in objects.spec(route).get("rules") or ():
        for each in rule.get("backendRefs") or ():
            place, name = str(each.get("namespace") or home), str(each.get("name", ""))
            is_service = (each.get("kind") or "Service") == "Service"
            if is_service and cluster.get("Service", place, name) is None:
                yield name
