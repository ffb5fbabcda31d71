"""The built-in proxy as a Gateway API controller: it says which routes it has accepted.

It answers for Gateways whose class names `CONTROLLER`, and for Services, to which routes of
meshes are attached. Gateways of other classes are left to their controllers.
"""

import asyncio
from collections.abc import Iterator

from volary.model import json
from volary.sandbox import registry, status, storage, verbs
from volary.sandbox.controllers import moment, objects, view

CLASS = "sandbox"
CONTROLLER = "sandbox.volary.dev/proxy"
_GROUP = "gateway.networking.k8s.io"
_ROUTES = (f"HTTPRoute.{_GROUP}", f"GRPCRoute.{_GROUP}")
_BUCKETS = {
    *(f"{each}.{_GROUP}" for each in ("httproutes", "grpcroutes", "gateways", "gatewayclasses")),
    "services",
}
_OPTIONS = verbs.Options(manager="sandbox-proxy", agent="sandbox-proxy")


class Acceptance:
    """Keeps the status of the routes of one cluster."""

    def __init__(self, cluster: registry.Registry, seen: view.View) -> None:
        self._cluster = cluster
        self._seen = seen
        self._events = asyncio.get_running_loop()
        self._due: asyncio.Handle | None = None

    def note(self, change: storage.Change) -> None:
        """Take in a change of the cluster."""
        if self._due is None and change.bucket in _BUCKETS:
            self._due = self._events.call_soon(self._look)

    def close(self) -> None:
        """Stop looking."""
        if self._due is not None:
            self._due.cancel()

    def _look(self) -> None:
        self._due = None
        for kind in _ROUTES:
            for route in self._seen.list(kind):
                wanted = self._parents(route)
                if wanted != (objects.status(route).get("parents") or []):
                    self._write({**route, "status": {**objects.status(route), "parents": wanted}})

    def _write(self, route: json.JsonObject) -> None:
        kind = self._cluster.kind_of(route)
        name, namespace = objects.name(route), objects.namespace(route)
        try:
            self._cluster.update_status(kind, namespace, name, route, _OPTIONS)
        except status.StatusError:
            return  # it has changed meanwhile, which asks for another look

    def _parents(self, route: json.JsonObject) -> list[json.JsonObject]:
        """The whole list: ours made anew, others' as they are."""
        listed = list(objects.status(route).get("parents") or ())
        kept = [each for each in listed if each.get("controllerName") != CONTROLLER]
        for parent in objects.spec(route).get("parentRefs") or ():
            if self._is_ours(parent, objects.namespace(route)):
                before: json.JsonObject = next(
                    (
                        each
                        for each in listed
                        if each.get("controllerName") == CONTROLLER
                        and each.get("parentRef") == parent
                    ),
                    {},
                )
                told = list(self._conditions(route, before))
                kept.append({"parentRef": parent, "controllerName": CONTROLLER, "conditions": told})
        return kept

    def _is_ours(self, parent: json.JsonObject, home: str) -> bool:
        namespace, name = str(parent.get("namespace") or home), str(parent.get("name"))
        if parent.get("kind") == "Service":
            return self._seen.get("Service", namespace, name) is not None
        gateway = self._seen.get(f"Gateway.{_GROUP}", namespace, name)
        if gateway is None:
            return False
        chosen = str(objects.spec(gateway).get("gatewayClassName", ""))
        found = self._seen.get(f"GatewayClass.{_GROUP}", "", chosen)
        return found is not None and objects.spec(found).get("controllerName") == CONTROLLER

    def _conditions(
        self, route: json.JsonObject, before: json.JsonObject
    ) -> Iterator[json.JsonObject]:
        missing = sorted(self._missing(route))
        resolved = ("ResolvedRefs", "True", "ResolvedRefs", "")
        if missing:
            resolved = ("ResolvedRefs", "False", "BackendNotFound", f"no Service {missing[0]}")
        for kind, state, reason, message in (("Accepted", "True", "Accepted", ""), resolved):
            earlier: json.JsonObject = next(
                (each for each in before.get("conditions") or () if each.get("type") == kind), {}
            )
            same = earlier.get("status") == state
            yield {
                "type": kind,
                "status": state,
                "reason": reason,
                "message": message,
                "observedGeneration": objects.metadata(route).get("generation", 1),
                "lastTransitionTime": earlier["lastTransitionTime"]
                if same
                else moment.stamp(self._cluster.time.now()),
            }

    def _missing(self, route: json.JsonObject) -> set[str]:
        home = objects.namespace(route)
        return {
            f"{namespace}/{name}"
            for rule in objects.spec(route).get("rules") or ()
            for each in rule.get("backendRefs") or ()
            for namespace, name in [(str(each.get("namespace") or home), str(each.get("name")))]
            if (each.get("kind") or "Service") == "Service"
            and self._seen.get("Service", namespace, name) is None
        }


def gateway() -> tuple[json.JsonObject, ...]:
    """The GatewayClass ``sandbox``, and a Gateway ``default/web`` of it."""
    return (
        {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "GatewayClass",
            "metadata": {"name": CLASS},
            "spec": {"controllerName": CONTROLLER},
        },
        {
            "apiVersion": f"{_GROUP}/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "gatewayClassName": CLASS,
                "listeners": [
                    {
                        "name": "web",
                        "port": 8080,
                        "protocol": "HTTP",
                        "allowedRoutes": {"namespaces": {"from": "All"}},
                    }
                ],
            },
        },
    )
