"""Writing into objects of any shape."""

import copy

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


def test_a_value_is_put_on_its_way_and_the_rest_is_shared() -> None:
    body = {"spec": {"http": [{"name": "old"}], "hosts": ["shop"]}, "metadata": {"name": "shop"}}
    before = copy.deepcopy(body)

    changed = objects.with_value(body, [{"name": "new"}], "spec", "http")

    assert changed == {
        "spec": {"http": [{"name": "new"}], "hosts": ["shop"]},
        "metadata": {"name": "shop"},
    }
    assert body == before
    assert changed["metadata"] is body["metadata"]


def test_a_way_that_is_not_there_is_made() -> None:
    assert objects.with_value({"spec": "text"}, 1, "spec", "a") == {"spec": {"a": 1}}
