"""What somebody else has written since it was applied, and nothing else, is an interference."""

from typing import Any

import pytest

import memory_client
from volary.clusters.api import discovery
from volary.clusters.apply import applied_objects, interferences
from volary.clusters.client import resource_mapping
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import manifest, ownership

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


MARKS = tracking.owner_labels(ownership.Owner("shop", "1"))
#: As API servers note it: what is left to its default is owned, and not there.
OURS = {
    "f:data": {"f:a": {}, "f:b": {}},
    "f:immutable": {},
    "f:metadata": {"f:labels": {"f:team": {}}},
}
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "shop",
        "labels": {**MARKS, "team": "a"},
        "annotations": {**MARKS, tracking.APPLICATION: "shop"},
    },
    "data": {"a": "1", "b": "2"},
    "immutable": False,
}


def config(*owners: json.JsonObject, ours: Any = OURS, uid: str = "u1", **body: Any) -> Any:
    """The ConfigMap as it is by now."""
    version = "1" if not owners and ours is OURS else "2"
    applied = {"manager": "volary", "operation": "Apply", "fieldsV1": ours}
    kept = {
        "uid": uid,
        "resourceVersion": body.pop("version", version),
        "managedFields": [applied, *owners],
        **body.pop("metadata", {}),
    }
    shown = {key: value for key, value in CONFIG.items() if key != "immutable"}
    return {**shown, **body, "metadata": {**CONFIG["metadata"], **kept}}


def applied_as(
    body: json.JsonObject, live: json.JsonObject, resource: discovery.Resource
) -> applied_objects.AppliedObject:
    return applied_objects.of(
        resource_mapping.MappedManifest(manifest.Manifest(body), resource), live
    )


WITHOUT_B = {**OURS, "f:data": {"f:a": {}}}
THEIRS = entry("kubectl-edit", {"f:data": {"f:b": {}}})


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (config(), []),
        (config(version="2"), []),
        (config(ours=WITHOUT_B, data={"a": "1"}), ["somebody removed .data.b"]),
        (config(THEIRS, ours=WITHOUT_B), []),
        (
            config(THEIRS, ours=WITHOUT_B, data={"a": "1", "b": "3"}),
            ["somebody (kubectl-edit) changed .data.b to 3"],
        ),
        (
            config(THEIRS, ours={"f:immutable": {}}, data={"b": "3"}, metadata={"labels": {}}),
            [
                "somebody (kubectl-edit) changed .data.b to 3",
                "somebody removed .data.a",
                "somebody removed .metadata.labels.team",
            ],
        ),
        (config(data={"a": "9"}, version="1"), []),
        (config(ours=OURS, version="2", metadata={"deletionTimestamp": "now"}), ["deleted it"]),
        (config(uid="u2"), []),
        (config(uid="u2", metadata={"labels": {}}), ["deleted it and made another one"]),
        (None, ["deleted it"]),
    ],
    ids=[
        "untouched",
        "written to without a change",
        "removed",
        "owned by somebody with our value",
        "changed",
        "emptied",
        "of the version that was applied",
        "on its way out",
        "another one with our marks",
        "another one",
        "gone",
    ],
)
def test_what_was_done_since_it_was_applied(live: Any, said: list[str]) -> None:
    applied = applied_as(CONFIG, config(), memory_client.CONFIG_MAPS)

    found = interferences.find_since(applied, live, TAKE_BACK)

    assert [one.sentence for one in found] == [
        f"ConfigMap shop: {'' if deed.startswith('somebody') else 'somebody '}{deed} while the"
        " stage waited"
        for deed in said
    ]


@pytest.mark.parametrize(("group", "name"), [("batch/v1", "Job"), ("v1", "Pod")])
def test_what_goes_by_itself_was_not_deleted(group: str, name: str) -> None:
    body: json.JsonObject = {"apiVersion": group, "kind": name, "metadata": {"name": "shop"}}
    resource = memory_client.kind(group.rpartition("/")[0], name, f"{name.lower()}s")

    assert interferences.find_since(applied_as(body, body, resource), None, TAKE_BACK) == []


@pytest.mark.parametrize(
    ("conflicts", "taken", "left"),
    [
        (TAKE_BACK, True, False),
        (REFUSE, False, False),
        (ownership.Conflicts(exceptions=(".data",)), False, True),
        (ownership.Conflicts(ownership.ConflictPolicy.REFUSE, (".data.b",)), True, False),
    ],
)
def test_what_nobody_is_known_for_follows_the_rule(
    conflicts: ownership.Conflicts, taken: bool, left: bool
) -> None:
    applied = applied_as(CONFIG, config(), memory_client.CONFIG_MAPS)
    live = config(ours=WITHOUT_B, data={"a": "1"})

    (found,) = interferences.find_since(applied, live, conflicts)

    assert (found.is_taken_back(conflicts), found.is_left(conflicts)) == (taken, left)
    assert found.is_by_person


@pytest.mark.parametrize(
    ("live", "taken"), [(None, True), (config(uid="u2", metadata={"labels": {}}), False)]
)
def test_an_object_that_is_gone_is_no_exception_and_another_one_is_theirs(
    live: Any, taken: bool
) -> None:
    applied = applied_as(CONFIG, config(), memory_client.CONFIG_MAPS)
    every = ownership.Conflicts(exceptions=(".data", ".spec"))

    (found,) = interferences.find_since(applied, live, every)

    assert (found.is_taken_back(every), found.is_left(every)) == (taken, False)
