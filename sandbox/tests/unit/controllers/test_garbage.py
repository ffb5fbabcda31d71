"""What becomes of objects whose owners go."""

from datetime import UTC, datetime
from typing import Any

import sandbox_world as world
from kube_sandbox import json
from kube_sandbox.apimachinery.meta import objects, times
from kube_sandbox.controllers import garbage
from kube_sandbox.controllers.framework import actions, view

AT = times.Instant(datetime(2026, 1, 1, tzinfo=UTC), 0.0)


def _object(name: str, *owners: json.JsonObject, **metadata: Any) -> json.JsonObject:
    references = [objects.controller_reference(each) for each in owners]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "ownerReferences": references,
            **metadata,
        },
    }


def _dependent(*held: json.JsonObject, name: str = "child") -> tuple[actions.Write, ...]:
    key = view.Key("ConfigMap", "shop", name)
    return garbage.reconcile_dependent(world.MemoryView(*held), key, AT).writes


def _owner(*held: json.JsonObject, name: str = "owner") -> tuple[actions.Write, ...]:
    key = view.Key("ConfigMap", "shop", name)
    return garbage.reconcile_owner(world.MemoryView(*held), key, AT).writes


def _waiting(finalizer: str) -> json.JsonObject:
    return _object("owner", deletionTimestamp=AT.stamp, finalizers=[finalizer])


def test_an_owned_object_stays() -> None:
    owner = _object("owner")

    assert _dependent(owner, _object("child", owner)) == ()


def test_without_its_owner_it_goes() -> None:
    child = _object("child", _object("owner"))

    assert _dependent(child) == (actions.Delete(child, propagation="Background"),)


def test_an_owner_of_the_same_name_is_another() -> None:
    child = _object("child", _object("owner"))
    namesake = _object("owner", uid="another")

    assert _dependent(child, namesake) == (actions.Delete(child, propagation="Background"),)


def test_with_another_owner_left_only_the_reference_goes() -> None:
    other = _object("other")
    child = _object("child", _object("owner"), other)

    (update,) = _dependent(child, other)

    assert isinstance(update, actions.Update)
    assert [each["name"] for each in objects.metadata(update.body)["ownerReferences"]] == ["other"]


def test_a_waiting_owner_counts_as_gone() -> None:
    owner = _waiting(garbage.FOREGROUND)
    child = _object("child", owner)

    assert _dependent(owner, child) == (actions.Delete(child, propagation="Background"),)


def test_a_waiting_owner_deletes_its_dependents_and_stays() -> None:
    owner = _waiting(garbage.FOREGROUND)
    child = _object("child", owner)
    grandchild = _object("grandchild", child)

    assert _owner(owner, child, grandchild) == (actions.Delete(child, propagation="Foreground"),)


def test_without_dependents_the_waiting_owner_may_go() -> None:
    (update,) = _owner(_waiting(garbage.FOREGROUND))

    assert isinstance(update, actions.Update)
    assert objects.metadata(update.body)["finalizers"] == []


def test_a_dependent_that_does_not_block_does_not_hold_its_owner() -> None:
    owner = _waiting(garbage.FOREGROUND)
    child = _object("child", owner)
    objects.metadata(child)["ownerReferences"][0]["blockOwnerDeletion"] = False

    (update,) = _owner(owner, child)

    assert isinstance(update, actions.Update)


def test_orphans_forget_their_owner_before_it_goes() -> None:
    owner = _waiting(garbage.ORPHAN)
    child = _object("child", owner)

    (update,) = _owner(owner, child)

    assert isinstance(update, actions.Update)
    assert objects.name(update.body) == "child"
    assert objects.metadata(update.body)["ownerReferences"] == []
