"""Custom resources: pruning, defaults, validation; and the checks on their definitions."""

import copy
from typing import Any

import pytest

from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import decoding, defaults, schema
from kube_sandbox.apimachinery.validation import definitions, validator

_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"type": "string", "default": "auto", "enum": ["auto", "manual"]},
        "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4},
        "port": {"x-kubernetes-int-or-string": True},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
        "when": {"type": "string", "format": "date-time"},
        "maybe": {"type": "string", "nullable": True},
        "tags": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "maxItems": 2,
            "items": {"type": "string"},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "inner": {
            "type": "object",
            "default": {},
            "properties": {"depth": {"type": "integer", "default": 3}},
        },
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "routes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "weight": {"type": "integer", "default": 1},
                },
            },
        },
    },
}
_OPEN_API: dict[str, Any] = {"type": "object", "properties": {"spec": _SPEC}}
_KIND = schema.custom("example.com", "v1", "Widget", _OPEN_API)


def _widget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"size": 1, **spec},
    }


def _stored(body: dict[str, Any]) -> dict[str, Any]:
    return defaults.apply(_KIND, decoding.decode(_KIND, body).body)


def _refused(**spec: Any) -> list[causes.Cause]:
    return validator.check(_KIND, _stored(_widget(**spec)))


def test_unknown_fields_are_pruned_except_where_they_are_preserved() -> None:
    body = _widget(bogus=1, free={"x": {"y": 1}}, labels={"a": "b"}, routes=[{"name": "r", "z": 1}])
    body["top"] = 1

    read = decoding.decode(_KIND, body)

    assert set(read.unknown) == {"spec.bogus", "spec.routes[0].z", "top"}
    assert read.body["spec"]["free"] == {"x": {"y": 1}}
    assert read.body["spec"]["labels"] == {"a": "b"}
    assert read.body["spec"]["routes"] == [{"name": "r"}]


def test_metadata_is_read_strictly() -> None:
    body = _widget()
    body["metadata"]["labels"] = {"a": 1}

    with pytest.raises(decoding.DecodeError, match=r"metadata\.labels"):
        decoding.decode(_KIND, body)


def test_defaults_reach_into_objects_and_items() -> None:
    body = _widget(routes=[{"name": "r"}, {"name": "s", "weight": 5}])

    spec = _stored(body)["spec"]

    assert spec["mode"] == "auto"
    assert spec["inner"] == {"depth": 3}
    assert spec["routes"] == [{"name": "r", "weight": 1}, {"name": "s", "weight": 5}]


def test_null_is_dropped_or_replaced_by_the_default_unless_allowed() -> None:
    spec = _stored(_widget(mode=None, name=None, maybe=None))["spec"]

    assert spec["mode"] == "auto"
    assert "name" not in spec
    assert spec["maybe"] is None


def test_a_schema_that_preserves_everything() -> None:
    kind = schema.custom("e.com", "v1", "W", {"type": "object"}, preserve_unknown_fields=True)
    body = {"apiVersion": "e.com/v1", "kind": "W", "metadata": {"name": "w"}, "x": {"y": 1}}

    assert decoding.decode(kind, body) == decoding.Decoded(body, ())


def test_a_good_widget_is_accepted() -> None:
    good = {
        "name": "abc",
        "port": "http",
        "ratio": 0.5,
        "when": "2026-01-02T03:04:05Z",
        "tags": ["a", "b"],
        "either": {"a": "x"},
        "maybe": None,
    }

    assert _refused(**good) == []


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        (
            {"size": 0},
            "FieldValueInvalid",
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
        ),
        (
            {"size": 10},
            "FieldValueInvalid",
            "spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9",
        ),
        (
            {"size": "1"},
            "FieldValueTypeInvalid",
            'spec.size: Invalid value: "string": spec.size in body must be of type integer: '
            '"string"',
        ),
        (
            {"mode": "x"},
            "FieldValueNotSupported",
            'spec.mode: Unsupported value: "x": supported values: "auto", "manual"',
        ),
        (
            {"name": "ABC"},
            "FieldValueInvalid",
            "spec.name: Invalid value: \"ABC\": spec.name in body should match '^[a-z]+$'",
        ),
        (
            {"name": "abcde"},
            "FieldValueTooLong",
            "spec.name: Too long: may not be more than 4 bytes",
        ),
        (
            {"name": "a"},
            "FieldValueInvalid",
            'spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long',
        ),
        (
            {"ratio": 0},
            "FieldValueInvalid",
            "spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0",
        ),
        (
            {"when": "noon"},
            "FieldValueInvalid",
            'spec.when: Invalid value: "noon": spec.when in body must be of type date-time: "noon"',
        ),
        ({"tags": ["a", "a"]}, "FieldValueDuplicate", 'spec.tags[1]: Duplicate value: "a"'),
        (
            {"tags": ["a", "b", "c"]},
            "FieldValueTooMany",
            "spec.tags: Too many: 3: must have at most 2 items",
        ),
        ({"routes": [{}]}, "FieldValueRequired", "spec.routes[0].name: Required value"),
        (
            {"either": {}},
            "FieldValueInvalid",
            'spec.either: Invalid value: {}: "spec.either" must validate one and only one schema '
            "(oneOf). Found none valid",
        ),
        (
            {"port": True},
            "FieldValueTypeInvalid",
            'spec.port: Invalid value: "boolean": spec.port in body must be of type '
            'integer,string: "boolean"',
        ),
        (
            {"labels": {"a/b": 1}},
            "FieldValueTypeInvalid",
            'spec.labels[a/b]: Invalid value: "integer": spec.labels[a/b] in body must be of type '
            'string: "integer"',
        ),
    ],
)
def test_what_breaks_the_schema(spec: dict[str, Any], reason: str, message: str) -> None:
    found = _refused(**spec)

    assert [(each.reason, str(each)) for each in found] == [(reason, message)]


def test_a_missing_required_field() -> None:
    body = _widget()
    del body["spec"]["size"]

    assert [str(each) for each in validator.check(_KIND, _stored(body))] == [
        "spec.size: Required value"
    ]


def _definition() -> dict[str, Any]:
    return copy.deepcopy(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": _OPEN_API},
                    }
                ],
            },
        }
    )


def _definition_refused(body: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    kind = schema.builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert kind is not None
    new = defaults.apply(kind, decoding.decode(kind, body).body)
    return [str(each) for each in validator.check(kind, new, old)]


def test_a_good_definition_gets_its_names() -> None:
    kind = schema.builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert kind is not None
    body = defaults.apply(kind, decoding.decode(kind, _definition()).body)

    assert validator.check(kind, body) == []
    assert body["spec"]["names"]["singular"] == "widget"
    assert body["spec"]["names"]["listKind"] == "WidgetList"
    assert body["spec"]["conversion"] == {"strategy": "None"}
    assert body["status"]["storedVersions"] == ["v1"]


_SCHEMA_PATH = "spec.validation.openAPIV3Schema"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            ("metadata", "name"),
            "w.example.com",
            'metadata.name: Invalid value: "w.example.com": must be '
            'spec.names.plural+"."+spec.group',
        ),
        (("spec", "scope"), "Galaxy", 'spec.scope: Unsupported value: "Galaxy"'),
        (
            ("spec", "versions", 0, "storage"),
            False,
            "must have exactly one version marked as storage version",
        ),
        (
            ("spec", "versions", 0, "schema"),
            None,
            "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
        ),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema"),
            {"properties": {}},
            f"{_SCHEMA_PATH}.type: Required value: must not be empty at the root",
        ),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec"),
            {"type": "object", "properties": {"a": {}}},
            f"{_SCHEMA_PATH}.properties[spec].properties[a].type: Required value: must not be "
            "empty for specified object fields",
        ),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec"),
            {"type": "array"},
            f"{_SCHEMA_PATH}.properties[spec].items: Required value: must be specified",
        ),
        (
            ("spec", "versions", 0, "schema", "openAPIV3Schema", "properties", "spec"),
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}},
            },
            "it must have a default or be a required property",
        ),
    ],
)
def test_what_a_definition_may_not_say(path: tuple[Any, ...], value: Any, expected: str) -> None:
    body: Any = _definition()
    target = body
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value

    assert any(expected in each for each in _definition_refused(body))


def test_group_and_stored_versions_stay() -> None:
    old = _definition()
    old["status"] = {"storedVersions": ["v1", "v0"]}
    new = _definition()
    new["spec"]["scope"] = "Cluster"

    found = _definition_refused(new, old)

    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in found
    assert any(each.startswith('status.storedVersions[1]: Invalid value: "v0"') for each in found)


def test_rules_that_are_not_evaluated_are_warned_about() -> None:
    body = _definition()
    spec = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"] = [
        {"rule": "self.size > 0"},
        {"rule": "authorizer.path(self.path).check('get').allowed()"},
    ]

    assert definitions.warnings(_definition()) == ()
    assert definitions.warnings(body) == (
        "version v1: a rule of .properties[spec] is not evaluated by this emulated cluster: "
        "it calls allowed, check, path",
    )
