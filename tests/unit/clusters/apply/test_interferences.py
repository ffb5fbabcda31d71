"""What somebody else has written since it was applied, and nothing else, is an interference."""

from typing import Any

import pytest

from volary.clusters.apply import interferences
from volary.model import json
from volary.model.objects import ownership

IMAGE = {"f:spec": {"f:template": {"f:spec": {"f:image": {}}}}}
REPLICAS = {"f:spec": {"f:replicas": {}}}
DATA = {"f:data": {"f:password": {}}}
TAKE_BACK = ownership.Conflicts()
REFUSE = ownership.Conflicts(ownership.ConflictPolicy.REFUSE)


def deployment(image: str = "shop:v2", replicas: int = 2, **metadata: Any) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", **metadata},
        "spec": {"replicas": replicas, "template": {"spec": {"image": image}}},
    }


def entry(manager: str, fields: json.JsonObject, subresource: str = "") -> json.JsonObject:
    return {
        "manager": manager,
        "operation": "Update",
        "fieldsV1": fields,
        **({"subresource": subresource} if subresource else {}),
    }


@pytest.mark.parametrize(
    ("live", "owner", "said"),
    [
        (
            {"image": "other:v9"},
            entry("kubectl-set", IMAGE),
            [".spec.template.spec.image to other:v9"],
        ),
        ({"image": "other:v9"}, entry("keel", IMAGE), [".spec.template.spec.image to other:v9"]),
        (
            {"image": 60 * "x"},
            entry("k9s", IMAGE),
            [f".spec.template.spec.image to {60 * 'x'}"],
        ),
        (
            {"image": 61 * "x"},
            entry("k9s", IMAGE),
            [f".spec.template.spec.image to {60 * 'x'}…"],
        ),
        ({"image": "other:v9"}, entry("volary-traffic", IMAGE), []),
        ({"image": "shop:v2"}, entry("kubectl-set", IMAGE), []),
        ({"replicas": 5}, entry("kube-controller-manager", REPLICAS, "scale"), []),
        ({"replicas": 5}, entry("kubectl-scale", REPLICAS, "scale"), [".spec.replicas to 5"]),
        ({}, entry("somebody", {"f:metadata": {"f:labels": {"f:more": {}}}}), []),
    ],
)
def test_what_is_an_interference(
    live: dict[str, Any], owner: json.JsonObject, said: list[str]
) -> None:
    seen = deployment(**live, managedFields=[owner])

    found = interferences.find(deployment(), seen)

    assert [f"{one.path} to {one.value}" for one in found] == said


def test_what_somebody_took_away_has_no_value() -> None:
    seen = deployment(managedFields=[entry("k9s", IMAGE)])
    del seen["spec"]["template"]

    (found,) = interferences.find(deployment(), seen)

    assert found.sentence == (
        "Deployment shop: somebody (k9s) changed .spec.template while the stage waited"
    )


def test_only_from_peoples_tools_is_it_taken_back() -> None:
    seen = deployment("other", managedFields=[entry("kubectl-set", IMAGE)])
    (by_hand,) = interferences.find(deployment(), seen)
    seen = deployment("other", managedFields=[entry("keel", IMAGE)])
    (by_program,) = interferences.find(deployment(), seen)

    assert (by_hand.is_by_person, by_program.is_by_person) == (True, False)


def test_the_value_of_a_secret_is_not_said() -> None:
    body: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "shop"},
        "data": {"password": "b2xk"},
    }
    live = {
        **body,
        "metadata": {"name": "shop", "managedFields": [entry("kubectl-edit", DATA)]},
        "data": {"password": "bmV3"},
    }

    (found,) = interferences.find(body, live)

    assert found.sentence == (
        "Secret shop: somebody (kubectl-edit) changed .data.password while the stage waited"
    )


@pytest.mark.parametrize(
    ("owner", "conflicts", "said"),
    [
        ("kubectl-set", TAKE_BACK, ["added .spec.template.spec.debug"]),
        ("kubectl-set", REFUSE, []),
        ("keel", TAKE_BACK, []),
    ],
)
def test_what_people_add_is_an_interference_where_it_would_be_handed_over(
    owner: str, conflicts: ownership.Conflicts, said: list[str]
) -> None:
    added = {"f:spec": {"f:template": {"f:spec": {"f:debug": {}}}}}
    seen = deployment(managedFields=[{**entry(owner, added), "apiVersion": "apps/v1"}])
    seen["spec"]["template"]["spec"]["debug"] = True

    found = interferences.find(deployment(), seen, conflicts)

    assert [one.sentence for one in found] == [
        f"Deployment shop: somebody ({owner}) {what} while the stage waited" for what in said
    ]
