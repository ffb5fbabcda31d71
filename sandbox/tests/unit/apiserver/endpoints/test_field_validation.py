"""Fields that are unknown or there twice, in every way to write and with every validation."""

import json
from typing import Any

import pytest

WIDGETS = "/apis/example.com/v1/namespaces/a/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/a/configmaps"
HEAD = 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
UNKNOWN = 'unknown field "spec.colour"'
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
OPERATIONS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"


def definition() -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def widget(name: str = "w", **spec: Any) -> dict[str, Any]:
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


@pytest.fixture
async def send(api: Any) -> Any:
    """Send a body; return status, message and warnings of the answer."""

    async def sent(
        method: str, path: str, body: object, validation: str = "", media: str = JSON
    ) -> tuple[int, str, list[str]]:
        data = body if isinstance(body, str) else json.dumps(body)
        query = {"fieldValidation": validation} if validation else {}
        if media == APPLY:
            query["fieldManager"] = "m"
        options = {"data": data, "params": query, "headers": {"Content-Type": media}}
        async with api.request(method, path, **options) as response:
            told = await response.json()
            warnings = response.headers.getall("Warning", [])
            texts = [json.loads(each.removeprefix("299 - ")) for each in warnings]
            return response.status, told.get("message", ""), texts

    assert (await sent("POST", DEFINITIONS, definition()))[0] == 201
    assert (await sent("POST", WIDGETS, widget("live", size=1)))[0] == 201
    return sent


async def test_a_create_is_refused_warned_about_or_silently_pruned(send: Any) -> None:
    strict = await send("POST", WIDGETS, widget(colour="red"), "Strict")
    warned = await send("POST", WIDGETS, widget("w1", colour="red"), "Warn")
    usual = await send("POST", WIDGETS, widget("w2", colour="red"))
    silent = await send("POST", WIDGETS, widget("w3", colour="red"), "Ignore")

    assert strict == (400, HEAD + UNKNOWN, [])
    assert warned == usual == (201, "", [UNKNOWN])
    assert silent == (201, "", [])


async def test_a_replacement_is_refused_as_a_create_is(send: Any) -> None:
    body = widget("live", colour="red")

    assert await send("PUT", f"{WIDGETS}/live", body, "Strict") == (400, HEAD + UNKNOWN, [])


async def test_definitions_are_checked_too(send: Any) -> None:
    body = definition()
    body["spec"]["colour"] = "red"

    status, message, _ = await send("POST", DEFINITIONS, body, "Strict")

    assert status == 400
    assert message.endswith(f"strict decoding error: {UNKNOWN}")


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        (MERGE, {"spec": {"colour": "red"}}),
        (OPERATIONS, [{"op": "add", "path": "/spec/colour", "value": "red"}]),
    ],
)
async def test_a_patch_of_a_custom_resource_shows_what_it_would_make(
    send: Any, media: str, patch: object
) -> None:
    status, message, _ = await send("PATCH", f"{WIDGETS}/live", patch, "Strict", media)
    warned = await send("PATCH", f"{WIDGETS}/live", patch, "Warn", media)

    assert status == 422
    assert message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":')
    assert '\\"spec\\":{\\"colour\\":\\"red\\",\\"size\\":1}' in message
    assert message.endswith(f"strict decoding error: {UNKNOWN}")
    assert warned == (200, "", [UNKNOWN])


async def test_a_strategic_patch_is_shown_as_go_prints_it(send: Any) -> None:
    await send("POST", MAPS, {"metadata": {"name": "c"}})
    patch = {"data": {"k": "v"}, "dta": [1, True, None]}

    assert await send("PATCH", f"{MAPS}/c", patch, "Strict", STRATEGIC) == (
        422,
        ' "" is invalid: patch: Invalid value: "map[data:map[k:v] dta:[1 true <nil>]]": strict '
        'decoding error: unknown field "dta"',
        [],
    )


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore", ""])
async def test_an_unknown_field_is_always_an_error_of_apply(send: Any, validation: str) -> None:
    body = widget("live", colour="red")

    status, message, _ = await send("PATCH", f"{WIDGETS}/live", body, validation, APPLY)

    assert status == 500
    assert message.endswith(".spec.colour: field not declared in schema")


async def test_what_is_there_twice_is_named_by_its_path(send: Any) -> None:
    text = json.dumps(widget("twice", size=1)).replace('"size": 1', '"size": 1, "size": 2')

    assert await send("POST", WIDGETS, text, "Strict") == (
        400,
        f'{HEAD}duplicate field "spec.size"',
        [],
    )
    assert await send("POST", WIDGETS, text) == (201, "", ['duplicate field "spec.size"'])
    assert await send("PATCH", f"{WIDGETS}/live", '{"spec":{"size":1,"size":2}}', "", MERGE) == (
        200,
        "",
        ['duplicate field "spec.size"'],
    )


TWICE = """apiVersion: example.com/v1
kind: Widget
metadata:
  name: NAME
spec:
  size: 1
  size: 2
"""
LINE = 'line 7: key "size" already set in map'


async def test_what_is_there_twice_in_yaml_is_named_by_its_line(send: Any) -> None:
    strict = await send("POST", WIDGETS, TWICE.replace("NAME", "y1"), "Strict", YAML)
    warned = await send("POST", WIDGETS, TWICE.replace("NAME", "y2"), "Warn", YAML)
    silent = await send("POST", WIDGETS, TWICE.replace("NAME", "y3"), "Ignore", YAML)

    assert strict == (400, f"{HEAD}yaml: unmarshal errors:\n  {LINE}", [])
    assert warned == (201, "", [LINE])
    assert silent == (201, "", [])


async def test_apply_reads_yaml(send: Any) -> None:
    text = TWICE.replace("NAME", "applied")
    as_json = json.dumps(widget("applied")).replace('"spec": {}', '"spec": {"size": 2, "size": 3}')

    assert await send("PATCH", f"{WIDGETS}/applied", text, "Strict", APPLY) == (
        400,
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
        + LINE,
        [],
    )
    assert await send("PATCH", f"{WIDGETS}/applied", text, "", APPLY) == (201, "", [LINE])
    assert await send("PATCH", f"{WIDGETS}/applied", as_json, "", APPLY) == (
        200,
        "",
        ['line 1: key "size" already set in map'],
    )


async def test_operations_of_a_json_patch_have_fields_too(send: Any) -> None:
    patch = (
        '[{"op": "replace", "path": "/spec/size", "value": 4, "note": "x"},'
        ' {"op": "test", "path": "/spec", "path": "/spec/size", "value": 4}]'
    )
    faults = [
        'json patch unknown field "[0].note"',
        'json patch duplicate field "[1].path"',
    ]

    status, message, _ = await send("PATCH", f"{WIDGETS}/live", patch, "Strict", OPERATIONS)
    warned = await send("PATCH", f"{WIDGETS}/live", patch, "Warn", OPERATIONS)

    assert status == 422
    assert message.endswith(f"strict decoding error: {', '.join(faults)}")
    assert warned == (200, "", faults)
