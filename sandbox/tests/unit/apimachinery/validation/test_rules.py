"""Validation rules of CustomResourceDefinitions (CEL): what they refuse, and in which words."""

from typing import Any

import pytest

from kube_sandbox.apimachinery.scheme import structural_schemas
from kube_sandbox.apimachinery.validation import custom_resources, rule_definitions, rules


def _broken(
    schema: dict[str, Any], spec: Any, old: Any = None, **fields: Any
) -> list[tuple[str, str]]:
    whole = {"type": "object", "properties": {"spec": schema}, **fields}
    body, former = {"spec": spec}, None if old is None else {"spec": old}
    before = custom_resources.check(whole, body, former)
    told = rules.check(structural_schemas.build(whole), body, former, before)
    return [(cause.field, cause.message) for cause in told]


def _object(*texts: str, **properties: Any) -> dict[str, Any]:
    listed = [{"rule": text} for text in texts]
    return {"type": "object", "properties": properties, rules.RULES: listed}


_NUMBER = {"type": "integer"}
_TEXT = {"type": "string"}


def test_a_rule_that_holds_is_silent_and_one_that_does_not_is_named() -> None:
    schema = _object("self.least <= self.most", least=_NUMBER, most=_NUMBER)

    assert _broken(schema, {"least": 1, "most": 2}) == []
    assert _broken(schema, {"least": 3, "most": 2}) == [
        ("spec", "Invalid value: failed rule: self.least <= self.most")
    ]


def test_message_reason_and_field_are_the_rules_own() -> None:
    schema = _object(least=_NUMBER)
    schema[rules.RULES] = [
        {
            "rule": "self.least > 0",
            "messageExpression": "'least is ' + string(self.least)",
            "reason": "FieldValueForbidden",
            "fieldPath": ".least",
        }
    ]

    assert _broken(schema, {"least": -1}) == [("spec.least", "Forbidden: least is -1")]


def test_a_field_that_is_not_there_is_a_fault_of_the_rule() -> None:
    schema = _object("self.least > 0", least=_NUMBER)

    assert _broken(schema, {}) == [
        ("spec", "Invalid value: no such key: least evaluating rule: self.least > 0")
    ]


def test_rules_reach_into_lists_and_maps() -> None:
    item = _object("self.n > 0", n=_NUMBER)
    schema = {
        "type": "object",
        "properties": {
            "listed": {"type": "array", "items": item},
            "named": {"type": "object", "additionalProperties": item},
        },
    }
    spec = {"listed": [{"n": 1}, {"n": 0}], "named": {"a": {"n": 0}}}

    assert [field for field, _ in _broken(schema, spec)] == ["spec.listed[1]", "spec.named[a]"]


def test_a_transition_rule_compares_with_what_was_there() -> None:
    schema = _object("self.name == oldSelf.name", name=_TEXT)

    assert _broken(schema, {"name": "b"}) == []
    assert _broken(schema, {"name": "a"}, {"name": "a"}) == []
    assert _broken(schema, {"name": "b"}, {"name": "a"}) != []


def test_items_of_keyed_lists_are_compared_by_their_keys() -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": _object("self.port == oldSelf.port", name=_TEXT, port=_NUMBER),
    }
    old = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]

    assert _broken(schema, [old[1], old[0]], old) == []
    assert [field for field, _ in _broken(schema, [{"name": "b", "port": 3}], old)] == ["spec[0]"]


def test_an_optional_old_value_may_be_missing() -> None:
    schema = _object(name=_TEXT)
    text = "!oldSelf.hasValue() || oldSelf.value().name == self.name"
    schema[rules.RULES] = [{"rule": text, "optionalOldSelf": True}]

    assert _broken(schema, {"name": "a"}) == []
    assert _broken(schema, {"name": "b"}, {"name": "a"}) != []


def test_what_was_let_in_before_may_stay() -> None:
    inner = _object("self.n > 0", n=_NUMBER)
    schema = {"type": "object", "properties": {"inner": inner, "other": _NUMBER}}
    old = {"inner": {"n": 0}, "other": 1}

    assert _broken(schema, {"inner": {"n": 0}, "other": 2}, old) == []
    assert _broken(schema, {"inner": {"n": -1}, "other": 1}, old) != []


def test_reserved_and_awkward_names_are_escaped() -> None:
    schema = _object("self.__namespace__ == self.a__dash__b", **{"namespace": _TEXT, "a-b": _TEXT})

    assert _broken(schema, {"namespace": "x", "a-b": "x"}) == []
    assert _broken(schema, {"namespace": "x", "a-b": "y"}) != []


def test_formats_are_types_of_their_own() -> None:
    schema = _object(
        "self.pause < duration('1h') && self.since > timestamp('2020-01-01T00:00:00Z')",
        pause={"type": "string", "format": "duration"},
        since={"type": "string", "format": "date-time"},
    )

    assert _broken(schema, {"pause": "5m", "since": "2021-01-01T00:00:00Z"}) == []
    assert _broken(schema, {"pause": "2h", "since": "2021-01-01T00:00:00Z"}) != []


def test_rules_wait_until_the_object_has_the_right_types() -> None:
    schema = _object("self.n > 0", n=_NUMBER)

    told = _broken(schema, {"n": "text"})

    assert told[0][0] == "<nil>"
    assert "some validation rules were not checked" in told[0][1]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("self.split(',') == ['a', 'B']", True),
        ("self.lowerAscii() == 'a,b'", True),
        ("self.upperAscii().substring(2) == 'B'", True),
        ("self.replace(',', '').indexOf('B') == 1", True),
        ("['b', 'a'].isSorted()", False),
        ("[1, 2].sum() == 3", True),
        ("'a12'.find('[0-9]+') == '12'", True),
        ("[' x '.trim(), 'y'].join('-') == 'x-y'", True),
        ("isIP('10.0.0.1') && !isIP('10.0.0')", True),
    ],
)
def test_functions_of_kubernetes_on_texts_and_lists(text: str, answer: bool) -> None:
    assert rules.compile_rule(text).evaluate({"self": "a,B"}) is answer


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("self.size >>= 3", "Syntax error: extraneous input '>='"),
        ("other > 1", "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')"),
        ("self.nope()", "undeclared reference to 'nope'"),
    ],
)
def test_a_rule_that_does_not_compile_is_refused(text: str, fault: str) -> None:
    (cause,) = rule_definitions.faults("spec", {rules.RULES: [{"rule": text}]})

    assert cause.field == f"spec.{rules.RULES}[0].rule"
    assert fault in cause.message
    assert "compilation failed" in cause.message


@pytest.mark.parametrize(
    "text",
    [
        "authorizer.path(self.name).check('get').allowed()",
        "[?self.?name, 'x'].size() > 1",
    ],
)
def test_a_rule_beyond_this_evaluator_is_told_and_breaks_nothing(text: str) -> None:
    schema = _object(text, name=_TEXT, memory=_TEXT)

    assert len(rule_definitions.left_out(schema)) == 1
    assert rule_definitions.faults("spec", schema) == []
    assert _broken(schema, {}) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            {"rule": "true", "message": " "},
            'message: Invalid value: " ": message must be non-empty',
        ),
        ({"rule": "true", "message": "a\nb"}, "message must not contain line breaks"),
        ({"rule": "true ||\nfalse"}, "message: Required value: message must be specified if rule"),
        (
            {"rule": "true", "reason": "Why"},
            'reason: Unsupported value: "Why": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
        (
            {"rule": "true", "fieldPath": ".gone"},
            'fieldPath: Invalid value: ".gone": fieldPath must be a valid path: does not refer to '
            "a valid field",
        ),
        ({"rule": "true", "fieldPath": "name"}, "expected [ or . but got: name"),
        ({"rule": "true", "fieldPath": " "}, "fieldPath must be non-empty if specified"),
        (
            {"rule": "self.name != 'oldSelf'", "optionalOldSelf": True},
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_what_surrounds_a_rule_is_checked(rule: dict[str, Any], expected: str) -> None:
    schema = {**_object(name=_TEXT), rules.RULES: [rule]}

    (fault,) = rule_definitions.faults("spec", schema)

    assert str(fault).startswith(f"spec.{rules.RULES}[0].")
    assert expected in str(fault)


def test_paths_may_be_quoted_and_lead_into_maps() -> None:
    numbers = {"type": "object", "additionalProperties": _NUMBER}
    properties = {"a-b": _TEXT, "numbers": numbers}
    listed = [{"rule": "true", "fieldPath": path} for path in ("['a-b']", ".numbers.any")]
    schema = {"type": "object", "properties": properties, rules.RULES: listed}

    assert rule_definitions.faults("spec", schema) == []


@pytest.mark.parametrize(("kind", "count"), [("atomic", 1), ("set", 1), ("map", 0)])
def test_items_have_an_old_value_only_by_their_keys(kind: str, count: int) -> None:
    item = _object("self == oldSelf", name=_TEXT)
    listed = {"type": "array", "items": item, "x-kubernetes-list-type": kind}
    schema = {"type": "object", "properties": {"listed": listed}}

    found = rule_definitions.uncorrelatable("schema", schema)

    assert [str(fault) for fault in found] == count * [
        f"schema.properties[listed].items.{rules.RULES}[0].rule: Invalid value: "
        '"self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
        "within schema.properties[listed]"
    ]
