"""Writing into objects of any shape."""

import pytest

from volary.manifests import objects
from volary.model import json


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"spec": {"labels": {"app": "shop"}}}),
        ({"spec": None}, {"spec": {"labels": {"app": "shop"}}}),
        ({"spec": {"labels": "text"}}, {"spec": {"labels": {"app": "shop"}}}),
        (
            {"spec": {"labels": {"team": "a"}, "replicas": 1}, "kind": "Shop"},
            {"spec": {"labels": {"team": "a", "app": "shop"}, "replicas": 1}, "kind": "Shop"},
        ),
    ],
)
def test_a_branch_keeps_what_is_there(body: json.JsonObject, expected: json.JsonObject) -> None:
    objects.branch(body, "spec", "labels")["app"] = "shop"

    assert body == expected
