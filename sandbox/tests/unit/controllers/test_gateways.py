"""What a gateway or a mesh says about the routes attached to it."""

from datetime import UTC, datetime

import pytest

import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import times
from kube_sandbox.controllers import gateways
from kube_sandbox.controllers.framework import actions, view

AT = times.Instant(datetime(2026, 1, 1, tzinfo=UTC), 0.0)
GROUP = gateways.GROUP
SERVICE: json.JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "shop", "namespace": "shop"},
}
MESH = {"group": "", "kind": "Service", "name": "shop"}


def route(*parents: json.JsonObject, **status: object) -> json.JsonObject:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "shop", "namespace": "shop", "generation": 3},
        "spec": {"parentRefs": list(parents), "rules": [{"backendRefs": [{"name": "shop"}]}]},
        "status": status,
    }


def gateway(controller: str) -> tuple[json.JsonObject, json.JsonObject]:
    return (
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "GatewayClass",
            "metadata": {"name": "edge"},
            "spec": {"controllerName": controller},
        },
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Gateway",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"gatewayClassName": "edge"},
        },
    )


def said(*held: json.JsonObject) -> list[json.JsonObject]:
    key = view.Key(f"HTTPRoute.{GROUP}", "shop", "shop")
    writes = gateways.reconcile(world.MemoryView(*held), key, AT).writes
    assert len(writes) <= 1
    if not writes:
        return []
    assert isinstance(writes[0], actions.UpdateStatus)
    parents: list[json.JsonObject] = writes[0].body["status"]["parents"]
    return parents


def states(answer: json.JsonObject) -> dict[str, tuple[str, int]]:
    return {
        each["type"]: (each["status"], each["observedGeneration"]) for each in answer["conditions"]
    }


def test_a_mesh_accepts_a_route_of_a_service() -> None:
    (answer,) = said(SERVICE, route(MESH))

    assert answer["parentRef"] == MESH
    assert states(answer) == {"Accepted": ("True", 3), "ResolvedRefs": ("True", 3)}


def test_a_backend_that_is_not_there_is_not_resolved() -> None:
    (answer,) = said(route(MESH))

    assert states(answer) == {"Accepted": ("False", 3), "ResolvedRefs": ("False", 3)}


@pytest.mark.parametrize(("controller", "count"), [(gateways.CONTROLLER, 1), ("traefik.io/x", 0)])
def test_gateways_of_other_classes_are_left_alone(controller: str, count: int) -> None:
    assert len(said(SERVICE, *gateway(controller), route({"name": "web"}))) == count


def test_answers_of_others_stay_and_an_answer_is_given_once() -> None:
    theirs = {"parentRef": MESH, "controllerName": "other", "conditions": []}

    first = said(SERVICE, route(MESH, parents=[theirs]))

    assert first[0] == theirs
    assert said(SERVICE, route(MESH, parents=first)) == []
