"""The three patch types."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schema_samples as samples
from kube_sandbox.apimachinery.patching import (
    json_patch,
    merge_patch,
    patch_errors,
    strategic_merge,
)

_KIND = samples.kind("apps/v1", "Deployment")
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=10,
)
_OBJECTS = st.dictionaries(st.text(max_size=2), _VALUES, max_size=4)


def _containers(*names: str, **more: Any) -> dict[str, Any]:
    items = [{"name": name, "image": f"{name}:1"} for name in names]
    return {"spec": {"template": {"spec": {"containers": items, **more}}}}


def _patched(live: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategic_merge.merge(_KIND, live, patch)["spec"]["template"]["spec"]


def _names(spec: dict[str, Any]) -> list[str]:
    return [each["name"] for each in spec["containers"]]


@samples.BOUNDED
@given(_OBJECTS, _OBJECTS)
def test_a_merge_patch_is_idempotent_and_leaves_its_arguments_alone(
    live: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy.deepcopy((live, patch))
    once = merge_patch.apply(live, patch)

    assert merge_patch.apply(once, patch) == once
    assert (live, patch) == before


def test_merge_patch_replaces_lists_merges_objects_and_removes_by_null() -> None:
    live = {"a": {"x": 1, "y": 2}, "l": [1, 2], "n": 1}

    assert merge_patch.apply(live, {"a": {"x": None, "z": 3}, "l": [3], "n": None}) == {
        "a": {"y": 2, "z": 3},
        "l": [3],
    }


def test_json_patch_operations() -> None:
    live = {"a": {"b~/c": [1, 2, 3]}, "d": 1}
    operations = [
        {"op": "test", "path": "/a/b~0~1c/0", "value": 1},
        {"op": "add", "path": "/a/b~0~1c/1", "value": 9},
        {"op": "add", "path": "/a/b~0~1c/-", "value": 4},
        {"op": "remove", "path": "/a/b~0~1c/0"},
        {"op": "replace", "path": "/d", "value": {"x": 1}},
        {"op": "copy", "from": "/d", "path": "/e"},
        {"op": "move", "from": "/d/x", "path": "/f"},
    ]

    assert json_patch.apply(live, operations) == {
        "a": {"b~/c": [9, 2, 3, 4]},
        "d": {},
        "e": {"x": 1},
        "f": 1,
    }
    assert live == {"a": {"b~/c": [1, 2, 3]}, "d": 1}


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"op": "test", "path": "/a", "value": 2}, 422),
        ({"op": "test", "path": "/a", "value": True}, 422),
        ({"op": "remove", "path": "/nope"}, 422),
        ({"op": "replace", "path": "/nope", "value": 1}, 422),
        ({"op": "add", "path": "/x/y", "value": 1}, 422),
        ({"op": "add", "path": "/l/7", "value": 1}, 422),
        ({"op": "add", "path": "/l/x", "value": 1}, 422),
        ({"op": "add", "path": "a", "value": 1}, 422),
        ({"op": "add", "path": "/b"}, 422),
        ({"op": "remove", "path": ""}, 422),
        ({"op": "dance", "path": "/a"}, 422),
    ],
)
def test_json_patches_that_do_not_fit(operation: dict[str, Any], status: int) -> None:
    with pytest.raises(patch_errors.PatchError) as caught:
        json_patch.apply({"a": 1, "l": []}, [operation])

    assert caught.value.status == status


def test_patches_of_the_wrong_shape_are_refused() -> None:
    for refuse in (
        lambda: json_patch.apply({}, {"op": "add"}),
        lambda: merge_patch.apply({}, []),
        lambda: strategic_merge.merge(_KIND, {}, "x"),
    ):
        with pytest.raises(patch_errors.PatchError) as caught:
            refuse()
        assert caught.value.status == 400


def test_too_many_operations_are_refused() -> None:
    operations = [{"op": "test", "path": "/a", "value": 1}] * (json_patch.MAXIMUM_OPERATIONS + 1)

    with pytest.raises(patch_errors.PatchError, match="maximum operations") as caught:
        json_patch.apply({"a": 1}, operations)

    assert caught.value.status == 413


def test_strategic_merge_puts_new_items_first_as_the_server_does() -> None:
    spec = _patched(_containers("main"), _containers("side"))

    assert _names(spec) == ["side", "main"]


def test_strategic_merge_merges_items_by_key() -> None:
    live = _containers("main")
    env = {"name": "main", "env": [{"name": "A", "value": "1"}]}
    patch = {"spec": {"template": {"spec": {"containers": [env]}}}}

    spec = _patched(live, patch)

    assert spec["containers"] == [
        {"name": "main", "image": "main:1", "env": [{"name": "A", "value": "1"}]}
    ]


def test_strategic_merge_deletes_items_and_replaces_lists() -> None:
    delete = {"spec": {"template": {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}}}
    items = [{"$patch": "replace"}, {"name": "z", "image": "z:1"}]
    replace = {"spec": {"template": {"spec": {"containers": items}}}}

    assert _names(_patched(_containers("a", "b"), delete)) == ["b"]
    assert _names(_patched(_containers("a", "b"), replace)) == ["z"]


def test_strategic_merge_orders_as_told() -> None:
    patch = _containers("b")
    patch["spec"]["template"]["spec"]["$setElementOrder/containers"] = [
        {"name": "b"},
        {"name": "a"},
    ]

    assert _names(_patched(_containers("a", "server", "b"), patch)) == ["server", "b", "a"]


def test_strategic_merge_replaces_atomic_lists_and_maps_with_a_directive() -> None:
    live = _containers("a", nodeSelector={"x": "1"}, tolerations=[{"key": "t"}])
    change = {"nodeSelector": {"$patch": "replace", "y": "2"}, "tolerations": [{"key": "u"}]}
    patch = {"spec": {"template": {"spec": change}}}

    spec = _patched(live, patch)

    assert spec["nodeSelector"] == {"y": "2"}
    assert spec["tolerations"] == [{"key": "u"}]


def test_retain_keys_drops_what_is_not_named() -> None:
    live = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}

    assert strategic_merge.merge(_KIND, live, patch) == {"spec": {"strategy": {"type": "Recreate"}}}
    with pytest.raises(patch_errors.PatchError, match="retainKeys"):
        strategic_merge.merge(
            _KIND, live, {"spec": {"strategy": {"$retainKeys": ["x"], "type": "y"}}}
        )


def test_lists_of_scalars_are_united_and_deleted_from() -> None:
    live = {"metadata": {"finalizers": ["a/x", "b/y"]}}
    add = {"metadata": {"finalizers": ["c/z"]}}
    delete = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]}}

    assert strategic_merge.merge(_KIND, live, add)["metadata"]["finalizers"] == [
        "c/z",
        "a/x",
        "b/y",
    ]
    assert strategic_merge.merge(_KIND, live, delete)["metadata"]["finalizers"] == ["b/y"]


def test_directives_and_nulls_in_new_parts_leave_no_trace() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "x": None}}}
    patch["spec"]["strategy"]["$retainKeys"].append("x")

    assert strategic_merge.merge(_KIND, {}, patch) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_malformed_directives_are_refused() -> None:
    for patch in (
        {"$patch": "explode"},
        {"metadata": {"$setElementOrder/finalizers": "x"}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
        {"spec": {"strategy": {"$retainKeys": "type"}}},
    ):
        with pytest.raises(patch_errors.PatchError):
            strategic_merge.merge(_KIND, {}, patch)
    with pytest.raises(patch_errors.PatchError, match="merge key"):
        _patched(_containers("a"), {"spec": {"template": {"spec": {"containers": [{"x": 1}]}}}})


@samples.BOUNDED
@given(st.permutations(["a", "b", "c"]), st.permutations(["b", "c", "d"]))
def test_strategic_merge_keeps_both_orders(live: list[str], patch: list[str]) -> None:
    """Items of the patch stay in its order; the others lose none and keep theirs."""
    names = _names(_patched(_containers(*live), _containers(*patch)))

    assert [name for name in names if name in patch] == patch
    assert [name for name in names if name not in patch] == [x for x in live if x not in patch]
