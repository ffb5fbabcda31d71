"""What is said about fields of others that a write changes."""

from typing import Any

import pytest

from volary.clusters.apply import taken_fields
from volary.manifests.ownership import tracking
from volary.model import json
from volary.model.objects import ownership

SHOP = ownership.Owner("shop", "0123456789abcdef")
DATA = {"f:data": {"f:a": {}, "f:b": {}}}
LAST_APPLIED = {"f:metadata": {"f:annotations": {f"f:{tracking.LAST_APPLIED}": {}}}}
LONG = 60 * "x"


def managed(name: str, fields: Any = None, **more: str) -> json.JsonObject:
    return {"manager": name, "operation": "Update", "fieldsV1": fields or DATA, **more}


def config(
    *managers: json.JsonObject, ours: bool = False, kind: str = "ConfigMap", **data: Any
) -> json.JsonObject:
    marks = {**tracking.owner_labels(SHOP), tracking.APPLICATION: "shop"} if ours else {}
    metadata = {"name": "c", "labels": marks, "annotations": marks, "managedFields": [*managers]}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}


def described(live: json.JsonObject, policy: str = "takeBack", **data: Any) -> tuple[str, ...]:
    conflicts = ownership.Conflicts(ownership.ConflictPolicy(policy))
    after = {**live, "data": data}
    return taken_fields.describe(live, after, title="c", owner=SHOP, conflicts=conflicts)


@pytest.mark.parametrize(
    ("live", "after", "said"),
    [
        (
            config(managed("helm"), a="1", b="2"),
            {"a": "1"},
            ["adopts c from helm, removes .data.b"],
        ),
        (config(managed("helm"), a="1"), {"a": "2"}, ["adopts c from helm"]),
        (
            config(managed("helm"), ours=True, a="1", b="2"),
            {"a": "2"},
            ["takes back .data.a (1 → 2) from helm", "takes back .data.b (2 → none) from helm"],
        ),
        (config(managed("k9s"), a="1"), {"a": "2"}, ["takes back .data.a (1 → 2) from k9s"]),
        (config(managed("k9s"), a="1"), {"a": "1"}, []),
        (config(managed("operator"), a="1"), {"a": "2"}, []),
        (config(managed("volary"), a="1"), {"a": "2"}, []),
        (config(managed("k9s", subresource="status"), a="1"), {"a": "2"}, []),
        (config({"manager": "k9s", "operation": "Update"}, a="1"), {"a": "2"}, []),
        (
            config(managed("k9s"), kind="Secret", a="1"),
            {"a": "2"},
            ["takes back .data.a from k9s"],
        ),
        (
            config(managed("k9s"), a=LONG, b=f"{LONG}y"),
            {},
            [
                f"takes back .data.a ({LONG} → none) from k9s",
                f"takes back .data.b ({LONG}… → none) from k9s",
            ],
        ),
    ],
)
def test_who_loses_what_is_said(live: json.JsonObject, after: Any, said: list[str]) -> None:
    assert described(live, **after) == tuple(said)


def test_what_is_left_to_others_is_not_said() -> None:
    assert described(config(managed("k9s"), a="1"), policy="refuse", a="2") == ()


@pytest.mark.parametrize(("count", "more"), [(8, ()), (9, ("and 1 more",))])
def test_many_fields_are_counted(count: int, more: tuple[str, ...]) -> None:
    names = [str(number) for number in range(count)]
    owner = managed("k9s", {"f:data": {f"f:{name}": {} for name in names}})

    said = described(config(owner, **dict.fromkeys(names, "1")))

    assert said == (*(f"takes back .data.{name} (1 → none) from k9s" for name in names[:8]), *more)
