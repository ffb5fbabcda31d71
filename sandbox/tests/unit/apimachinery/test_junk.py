"""Nothing a client sends ends in anything but the errors the modules promise."""

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import schema_samples as samples
from kube_sandbox.apimachinery.patching import (
    json_patch,
    managed_fields,
    merge_patch,
    patch_errors,
    strategic_merge,
)
from kube_sandbox.apimachinery.scheme import decoding, defaults, schema
from kube_sandbox.apimachinery.validation import validator

_JUNK = st.sampled_from(
    [None, "", "x", 0, -1, 2**70, 1.5, True, [], [None], [[]], {}, {"a": None}, {"": [{}]}, [{}]]
).map(copy.deepcopy)
_POD_SPEC = {
    "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}]}}],
    "initContainers": [{"name": "i", "image": "i"}],
    "containers": [
        {
            "name": "main",
            "image": "nginx:1",
            "ports": [{"containerPort": 80, "name": "web"}],
            "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}},
            "livenessProbe": {"httpGet": {"port": 80}},
            "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ],
}
_BODIES: list[dict[str, Any]] = [
    {
        **samples.deployment(template={"metadata": {"labels": {"app": "web"}}, "spec": _POD_SPEC}),
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "finalizers": ["a/b"], "ownerReferences": [{"uid": "u"}]},
        "spec": {"ports": [{"port": 80, "nodePort": 30000}], "selector": {"a": "b"}},
    },
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "annotations": {"a": "b"}},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}},
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"rules": [{"host": "h", "http": {"paths": [{"path": "/", "backend": {}}]}}]},
    },
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
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "a": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["x"],
                                        "properties": {
                                            "x": {"type": "string", "enum": ["y"]},
                                            "n": {"type": "integer", "minimum": 1},
                                        },
                                    },
                                },
                                "b": {"type": "object", "additionalProperties": {"type": "string"}},
                            },
                        }
                    },
                }
            ],
        },
    },
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"kind": "a"}, "behavior": {"scaleUp": {}}},
    },
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    if isinstance(value, dict | list):
        for key, each in keys:
            found += (
                _places(each, (*path, key)) if isinstance(each, dict | list) else [(*path, key)]
            )
    return found


def _spoilt(body: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    spoilt: Any = copy.deepcopy(body)
    places = [path for path in _places(body) if path not in (("apiVersion",), ("kind",))]
    *parents, last = data.draw(st.sampled_from(places))
    target = spoilt
    for part in parents:
        target = target[part]
    target[last] = data.draw(_JUNK)
    result: dict[str, Any] = spoilt
    return result


@samples.BOUNDED
@given(st.sampled_from(_BODIES), st.data())
def test_a_spoilt_object_is_read_or_refused(body: dict[str, Any], data: st.DataObject) -> None:
    kind = samples.of(body)
    spoilt = _spoilt(body, data)
    try:
        read = decoding.decode(kind, spoilt).body
    except decoding.DecodeError:
        return
    new = defaults.apply(kind, read)
    validator.check(kind, new)
    validator.check(kind, new, samples.stored(body))
    managed_fields.update(kind, samples.stored(body), new, manager="m", now=samples.NOW)


@samples.BOUNDED
@given(st.sampled_from(_BODIES), st.data())
def test_a_spoilt_object_is_applied_or_refused(body: dict[str, Any], data: st.DataObject) -> None:
    kind = samples.of(body)
    spoilt = _spoilt(body, data)
    live = managed_fields.apply(kind, None, body, manager="m", now=samples.NOW).body
    for before in (None, live):
        try:
            result = managed_fields.apply(kind, before, spoilt, manager="m", now=samples.NOW)
            decoding.decode(kind, result.body)
        except (managed_fields.TypedError, managed_fields.BadApplyError, decoding.DecodeError):
            continue


@samples.BOUNDED
@given(st.sampled_from(_BODIES), st.data())
def test_spoilt_patches_are_carried_out_or_refused(
    body: dict[str, Any], data: st.DataObject
) -> None:
    kind = samples.of(body)
    spoilt = _spoilt(body, data)
    where = data.draw(st.sampled_from(["$patch", "$retainKeys", "$setElementOrder/ports", "x"]))
    spoilt["spec"] = spoilt["spec"] if isinstance(spoilt.get("spec"), dict) else {}
    spoilt["spec"][where] = data.draw(_JUNK)
    with contextlib.suppress(patch_errors.PatchError):
        strategic_merge.merge(kind, body, spoilt)
    merge_patch.apply(body, spoilt)
    operation = {"op": "add", "path": "/spec/ports/0", "value": 1, "from": "/spec"}
    operation[data.draw(st.sampled_from(["op", "path", "from", "x"]))] = data.draw(_JUNK)
    with contextlib.suppress(patch_errors.PatchError):
        json_patch.apply(body, [operation])


@samples.BOUNDED
@given(st.data())
def test_a_definition_that_passes_makes_a_usable_schema(data: st.DataObject) -> None:
    """Whatever the checks let through, objects of it can be handled."""
    body = _spoilt(_BODIES[4], data)
    kind = samples.of(body)
    try:
        read = defaults.apply(kind, decoding.decode(kind, body).body)
    except decoding.DecodeError:
        return
    if validator.check(kind, read):
        return
    declared = read["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    custom = schema.custom("example.com", "v1", "Widget", declared)
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "a": data.draw(_JUNK),
        "b": data.draw(_JUNK),
    }
    new = defaults.apply(custom, decoding.decode(custom, widget).body)
    validator.check(custom, new)
    managed_fields.update(custom, None, new, manager="m", now=samples.NOW)


@pytest.mark.parametrize("fields", [3, {"f:a": 3}, {"f:a": {".": 1}}, {"nonsense": {}}, []])
def test_malformed_managers_in_an_update_are_ignored(fields: Any) -> None:
    kind = samples.kind("v1", "ConfigMap")
    live = managed_fields.apply(
        kind, None, samples.config_map(a="1"), manager="m", now=samples.NOW
    ).body
    entry = {**live["metadata"]["managedFields"][0], "fieldsV1": fields}
    new = samples.config_map(a="2")
    new["metadata"]["managedFields"] = [entry]

    written = managed_fields.update(kind, live, new, manager="u", now=samples.NOW)

    owners = {each["manager"]: each["fieldsV1"] for each in written["metadata"]["managedFields"]}
    assert owners == {"u": {"f:data": {"f:a": {}}}}
