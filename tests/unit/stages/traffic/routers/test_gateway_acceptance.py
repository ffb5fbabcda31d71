"""When a route of the Gateway API counts as carried out."""

import pytest

from volary.model import applications, json
from volary.stages.traffic.routers import gateway_api

PARENT = {"name": "edge"}
#: The same one in all words.
GATEWAY = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "edge"}
MESH = {"group": "core", "kind": "Service", "name": "shop"}


def condition(kind: str, status: str = "True", **more: object) -> json.JsonObject:
    return {"type": kind, "status": status, "observedGeneration": 2, **more}


OLD = condition("Accepted", observedGeneration=1)
UNSAID = {"type": "Accepted", "status": "True"}
REFUSED = condition("Accepted", "False", message="no listener fits")
ACCEPTED = condition("Accepted")
UNRESOLVED = condition("ResolvedRefs", "False", reason="BackendNotFound")


def route(
    *answers: tuple[json.JsonObject, list[json.JsonObject]], parents: tuple[json.JsonObject, ...]
) -> json.JsonObject:
    said = [{"parentRef": parent, "conditions": found} for parent, found in answers]
    return {
        "metadata": {"namespace": "shop", "generation": 2},
        "spec": {"parentRefs": list(parents)},
        "status": {"parents": said},
    }


@pytest.mark.parametrize(
    ("body", "waiting"),
    [
        (route((PARENT, [ACCEPTED]), parents=(PARENT,)), ""),
        (route((PARENT, [UNSAID]), parents=(PARENT,)), ""),
        (route((PARENT, [OLD]), parents=(PARENT,)), "the last change is not answered yet"),
        (route((PARENT, [REFUSED]), parents=(PARENT,)), "not accepted: no listener fits"),
        (
            route((PARENT, [ACCEPTED, UNRESOLVED]), parents=(PARENT,)),
            "backends not resolved: BackendNotFound",
        ),
        (route(parents=(PARENT,)), "Gateway edge: no controller has answered yet"),
        (route((PARENT, [ACCEPTED]), parents=(PARENT, MESH)), "Service shop: no controller"),
        (route((PARENT, [REFUSED]), (PARENT, [ACCEPTED]), parents=(PARENT,)), ""),
        (
            route(
                ({"group": "", "kind": "Service", "name": "shop", "namespace": "shop"}, [ACCEPTED]),
                parents=(MESH,),
            ),
            "",
        ),
        (route((GATEWAY, [ACCEPTED]), parents=(PARENT,)), ""),
        (route((PARENT, [ACCEPTED]), parents=(GATEWAY,)), ""),
        (
            route(({"name": "other"}, [ACCEPTED]), parents=(PARENT,)),
            "no controller has answered yet; the answers are for Gateway other",
        ),
        (route(parents=()), "attached to nothing"),
    ],
)
def test_every_parent_has_to_carry_the_route_out(body: json.JsonObject, waiting: str) -> None:
    found = gateway_api.GatewayApi(applications.Application("shop")).waiting(body)

    assert waiting in found
    assert bool(found) == bool(waiting)


def test_a_route_that_anybody_refused_is_answered() -> None:
    router = gateway_api.GatewayApi(applications.Application("shop"))

    assert router.is_unanswered(route(parents=(PARENT,)))
    assert router.is_unanswered(route(({"name": "other"}, [ACCEPTED]), parents=(PARENT,)))
    assert not router.is_unanswered(route((PARENT, [REFUSED]), parents=(PARENT,)))
    assert not router.is_unanswered(route((PARENT, [OLD]), parents=(PARENT, MESH)))
