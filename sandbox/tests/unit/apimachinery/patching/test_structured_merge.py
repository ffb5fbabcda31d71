"""Properties of the structured merge and of field sets."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import schema_samples as samples
from kube_sandbox.apimachinery.patching import field_sets, managed_fields, structured_merge

_POD = samples.kind("v1", "Pod").type
_NAMES = st.sampled_from(["a", "b", "c", "d"])
_TEXTS = st.sampled_from(["x", "y", "z"])
_VARIABLES = st.lists(
    st.fixed_dictionaries({"name": _NAMES}, optional={"value": _TEXTS}),
    max_size=3,
    unique_by=lambda each: each["name"],
)
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": _NAMES},
        optional={"image": _TEXTS, "env": _VARIABLES, "args": st.lists(_TEXTS, max_size=2)},
    ),
    max_size=4,
    unique_by=lambda each: each["name"],
)
_LABELS = st.dictionaries(_NAMES, _TEXTS, max_size=3)
_PODS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": _LABELS}),
        "spec": st.fixed_dictionaries(
            {"containers": _CONTAINERS},
            optional={"nodeSelector": _LABELS, "restartPolicy": _TEXTS},
        ),
    },
)


def _trie() -> st.SearchStrategy[dict[str, Any]]:
    keys = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
    nodes = st.recursive(
        st.just({}),
        lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=3).flatmap(
            lambda node: st.sampled_from([node, {".": {}, **node}])
        ),
        max_leaves=8,
    )
    return st.dictionaries(keys, nodes, max_size=3)


@samples.BOUNDED
@given(_PODS, _PODS)
def test_what_is_applied_is_there_and_merging_it_again_changes_nothing(
    live: dict[str, Any], applied: dict[str, Any]
) -> None:
    before = copy.deepcopy((live, applied))
    merged = structured_merge.merge(_POD, live, applied)

    assert structured_merge.merge(_POD, merged, applied) == merged
    assert (live, applied) == before
    changed, removed = structured_merge.compare(_POD, live, merged)
    assert removed is None
    untouched = field_sets.difference(changed or {}, structured_merge.field_set(_POD, applied))
    # Only collections the apply brought along are more than what it named.
    assert all(_is_collection(merged, path) for path in field_sets.paths(untouched))


def _is_collection(body: Any, path: str) -> bool:
    return path.rsplit(".", 1)[-1] in (
        "metadata",
        "labels",
        "spec",
        "containers",
        "env",
        "nodeSelector",
    )


@samples.BOUNDED
@given(_CONTAINERS, _CONTAINERS)
def test_merged_items_keep_the_applied_order(
    live: list[dict[str, Any]], applied: list[dict[str, Any]]
) -> None:
    """Applied items come in their own order, live-only items in that of the live list."""
    merged = structured_merge.merge(_POD.fields["spec"].fields["containers"], live, applied)
    names = [each["name"] for each in merged or []]
    wanted = [each["name"] for each in applied]
    others = [each["name"] for each in live if each["name"] not in wanted]

    assert [name for name in names if name in wanted] == wanted
    assert [name for name in names if name not in wanted] == others


@samples.BOUNDED
@given(_PODS, _PODS)
def test_comparing_both_ways_swaps_added_and_removed(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    changed, removed = structured_merge.compare(_POD, old, new)
    changed_back, removed_back = structured_merge.compare(_POD, new, old)
    added = field_sets.difference(changed or {}, changed_back or {})

    assert field_sets.difference(removed_back or {}, added) == {}
    assert field_sets.intersection(changed or {}, removed or {}) == {}


@samples.BOUNDED
@given(_PODS, _PODS)
def test_giving_up_everything_leaves_what_the_other_applied(
    mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Applied by two managers, then given up by one: the other's fields are exactly there."""
    kind = samples.kind("v1", "Pod")
    head = {"apiVersion": "v1", "kind": "Pod"}
    meta = {"name": "p"}

    def body(pod: dict[str, Any]) -> dict[str, Any]:
        return {**head, **pod, "metadata": {**pod.get("metadata", {}), **meta}}

    live = managed_fields.apply(kind, None, body(theirs), manager="them", now=samples.NOW).body
    only_theirs = copy.deepcopy(live)
    live = managed_fields.apply(
        kind, live, body(mine), manager="me", now=samples.NOW, force=True
    ).body
    live = managed_fields.apply(
        kind, live, body(theirs), manager="them", now=samples.NOW, force=True
    ).body
    live = managed_fields.apply(kind, live, body({}), manager="me", now=samples.NOW).body

    assert structured_merge.field_set(kind.type, _plain(live)) == structured_merge.field_set(
        kind.type, _plain(only_theirs)
    )


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """Return an object without managers and without containers that hold nothing."""
    metadata = {key: each for key, each in body["metadata"].items() if key != "managedFields"}
    return _full({**body, "metadata": metadata})


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _full(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in ({}, [], None)}
    return [_full(each) for each in value] if isinstance(value, list) else value


@samples.BOUNDED
@given(_trie(), _trie())
def test_field_sets_obey_the_laws_of_sets(left: dict[str, Any], right: dict[str, Any]) -> None:
    union = field_sets.union(left, right)
    rest = field_sets.difference(left, right)
    common = field_sets.intersection(left, right)

    assert field_sets.difference(left, left) == {}
    assert field_sets.union(left, left) == left
    assert set(field_sets.paths(union)) == set(field_sets.paths(left)) | set(
        field_sets.paths(right)
    )
    assert set(field_sets.paths(rest)) == set(field_sets.paths(left)) - set(field_sets.paths(right))
    assert set(field_sets.paths(common)) == set(field_sets.paths(left)) & set(
        field_sets.paths(right)
    )


def test_paths_are_shown_as_conflicts_name_them() -> None:
    fields = {
        "f:spec": {
            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:name": {}},
            'v:"x"': {},
        }
    }

    assert list(field_sets.paths(fields)) == [
        '.spec[containerPort=80,protocol="TCP"]',
        '.spec[="x"]',
        '.spec[containerPort=80,protocol="TCP"].name',
    ]
