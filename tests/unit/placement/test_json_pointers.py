"""Pointers into documents, and what the three operations do where they lead."""

import copy

import pytest

from volary.model import errors
from volary.model.placement import overrides
from volary.placement import json_pointers

ADD, REMOVE, REPLACE = overrides.Operator.ADD, overrides.Operator.REMOVE, overrides.Operator.REPLACE
DOCUMENT = {"spec": {"list": ["a", "b"], "a/b": {"m~n": 1}}, "text": "t"}


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("", []),
        ("/", [""]),
        ("/a", ["a"]),
        ("/a/b/0", ["a", "b", "0"]),
        ("/a~1b/m~0n", ["a/b", "m~n"]),
        ("/~01", ["~1"]),
    ],
)
def test_a_pointer_is_taken_apart(path: str, tokens: list[str]) -> None:
    assert json_pointers.tokens(path) == tokens


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", DOCUMENT),
        ("/text", "t"),
        ("/spec/list/0", "a"),
        ("/spec/list/1", "b"),
        ("/spec/a~1b/m~0n", 1),
    ],
)
def test_a_value_is_read(path: str, value: object) -> None:
    assert json_pointers.read(DOCUMENT, path) == value


@pytest.mark.parametrize(
    ("path", "operator", "value", "path_after", "after"),
    [
        ("/new", ADD, 1, "/new", 1),
        ("/text", ADD, 1, "/text", 1),
        ("/text", REPLACE, 2, "/text", 2),
        ("/spec/list/0", ADD, "x", "/spec/list", ["x", "a", "b"]),
        ("/spec/list/1", ADD, "x", "/spec/list", ["a", "x", "b"]),
        ("/spec/list/2", ADD, "x", "/spec/list", ["a", "b", "x"]),
        ("/spec/list/-", ADD, "x", "/spec/list", ["a", "b", "x"]),
        ("/spec/list/0", REPLACE, "x", "/spec/list", ["x", "b"]),
        ("/spec/list/1", REPLACE, "x", "/spec/list", ["a", "x"]),
        ("/spec/list/0", REMOVE, None, "/spec/list", ["b"]),
        ("/spec/list/1", REMOVE, None, "/spec/list", ["a"]),
        ("/text", REMOVE, None, "", {"spec": DOCUMENT["spec"]}),
        ("", REPLACE, 3, "", 3),
        ("", ADD, 3, "", 3),
    ],
)
def test_an_operation_changes_a_copy(
    path: str, operator: overrides.Operator, value: object, path_after: str, after: object
) -> None:
    document = copy.deepcopy(DOCUMENT)

    changed = json_pointers.patch(document, overrides.PatchOverride(path, operator, value))

    assert json_pointers.read(changed, path_after) == after
    assert document == DOCUMENT


def test_what_stands_beside_stays_as_it_was() -> None:
    document = [{"a": 1}, {"b": 2}, {"c": 3}]

    changed = json_pointers.patch(document, overrides.PatchOverride("/1/b", REPLACE, 9))

    assert changed == [{"a": 1}, {"b": 9}, {"c": 3}]


@pytest.mark.parametrize(
    ("path", "operator", "why"),
    [
        ("text", REPLACE, "text is no JSON pointer"),
        ("", REMOVE, " leads nowhere: the whole document cannot be removed"),
        ("/none", REPLACE, "/none leads nowhere: there is no none to replace"),
        ("/none", REMOVE, "/none leads nowhere: there is no none to remove"),
        ("/none/x", ADD, "/none/x leads nowhere: there is no none"),
        ("/text/x", ADD, "/text/x leads nowhere: it leads through a value that has no parts"),
        ("/text/x/y", ADD, "/text/x/y leads nowhere: it leads through a value that has no parts"),
        ("/spec/list/2", REPLACE, "/spec/list/2 leads nowhere: a list of 2 has no place 2"),
        ("/spec/list/2", REMOVE, "/spec/list/2 leads nowhere: a list of 2 has no place 2"),
        ("/spec/list/3", ADD, "/spec/list/3 leads nowhere: a list of 2 has no place 3"),
        ("/spec/list/-", REMOVE, "/spec/list/- leads nowhere: a list of 2 has no place -"),
        ("/spec/list/01", REPLACE, "/spec/list/01 leads nowhere: a list of 2 has no place 01"),
        ("/spec/list/x", REPLACE, "/spec/list/x leads nowhere: a list of 2 has no place x"),
        ("/spec/list/2/x", ADD, "/spec/list/2/x leads nowhere: a list of 2 has no place 2"),
    ],
)
def test_a_pointer_that_leads_nowhere_is_said(
    path: str, operator: overrides.Operator, why: str
) -> None:
    with pytest.raises(errors.UserError) as raised:
        json_pointers.patch(DOCUMENT, overrides.PatchOverride(path, operator))

    assert raised.value.problems[0].message == why


@pytest.mark.parametrize("path", ["/none", "/text/x", "/spec/list/2", "/spec/list/-"])
def test_nothing_is_read_where_there_is_nothing(path: str) -> None:
    with pytest.raises(errors.UserError, match="leads nowhere"):
        json_pointers.read(DOCUMENT, path)
