from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.manifests.diff import value_diff

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab1", max_size=2)
trees = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below),
)


def carry_out(items: list[value_diff.Item], old: object) -> object:
    """Return `old` with the differences carried out; what they do not touch is shared."""
    result = old
    # Elements are removed from the end, so that earlier indices stay valid.
    removals = [item for item in items if item.new is value_diff.ABSENT]
    others = [item for item in items if item.new is not value_diff.ABSENT]
    for item in [*others, *reversed(removals)]:
        result = put(result, item.path, item.new)
    return result


def put(value: Any, path: value_diff.Path, new: object) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if not rest and new is value_diff.ABSENT:
        del copy[step]
    elif isinstance(copy, list) and step == len(copy):
        copy.append(new)
    elif rest:
        copy[step] = put(copy[step], rest, new)
    else:
        copy[step] = new
    return copy


@given(trees, trees)
def test_carrying_out_the_differences_leaves_none(old: object, new: object) -> None:
    for rules in (value_diff.PLAIN, value_diff.PREVIEW):
        carried_out = carry_out(value_diff.compare(old, new, rules), old)

        assert value_diff.compare(carried_out, new, rules) == []


@given(trees)
def test_a_value_never_differs_from_itself(value: object) -> None:
    for rules in (value_diff.PLAIN, value_diff.PREVIEW):
        assert value_diff.compare(value, value, rules) == []


@given(trees, trees)
def test_tolerant_rules_never_find_more(old: object, new: object) -> None:
    """What is a difference in a preview, is one plainly."""
    preview = {item.path for item in value_diff.compare(old, new, value_diff.PREVIEW)}
    plain = {item.path for item in value_diff.compare(old, new, value_diff.PLAIN)}

    assert preview <= plain


def test_items_tell_path_old_and_new() -> None:
    old = {"spec": {"replicas": 1, "gone": "x", "list": [1, 2]}}
    new = {"spec": {"replicas": 3, "list": [1, 2, 3]}}
    found = value_diff.compare(old, new)

    assert [(item.dotted, item.old, item.new) for item in found] == [
        ("spec.gone", "x", value_diff.ABSENT),
        ("spec.list.2", value_diff.ABSENT, 3),
        ("spec.replicas", 1, 3),
    ]
    assert [item.dotted for item in value_diff.below(found, "spec", "list")] == ["spec.list.2"]


@pytest.mark.parametrize(
    ("old", "new", "plain", "preview"),
    [
        ({"a": 0}, {"a": ""}, 0, 0),
        ({"a": []}, {}, 1, 0),
        ({}, {"a": ""}, 1, 0),
        ({"a": None}, {}, 0, 0),
        ({"a": 1}, {}, 1, 1),
        ({}, {"a": 1}, 1, 1),
        ({"a": 1}, {"a": "1"}, 1, 0),
        ({"a": 1}, {"a": 1.0}, 0, 0),
        ({"a": True}, {"a": 1}, 1, 1),
        ({"a": 1}, {"a": True}, 1, 1),
        ({"a": 2}, {"a": "1"}, 1, 1),
        ({"a": "x"}, {"a": 1}, 1, 1),
        ({"a": "2"}, {"a": 1}, 1, 1),
        ({"a": "1"}, {"a": 1}, 1, 0),
        ({"a": 0}, {}, 1, 0),
        ({"a": False}, {}, 1, 0),
        ({}, {"a": None}, 0, 0),
        ({"a": True}, {"a": "true"}, 1, 1),
        ({"a": [1, 2]}, {"a": [2, 1]}, 2, 2),
        ({"a": {"b": 1}}, {"a": "b"}, 1, 1),
        ({"a": "b"}, {"a": {"b": 1}}, 1, 1),
        ({"a": "b"}, {"a": [1]}, 1, 1),
        ({"a": [1]}, {"a": {"b": 1}}, 1, 1),
        ({"limits": {"memory": "1536Mi"}}, {"limits": {"memory": "1.5Gi"}}, 0, 0),
        ({"limits": {"cpu": 1}}, {"limits": {"cpu": "1000m"}}, 0, 0),
        ({"name": "1000m"}, {"name": "1"}, 1, 1),
    ],
)
def test_rules(old: object, new: object, plain: int, preview: int) -> None:
    rules = (value_diff.PLAIN, value_diff.PREVIEW)

    assert tuple(len(value_diff.compare(old, new, each)) for each in rules) == (
        plain,
        preview,
    )
