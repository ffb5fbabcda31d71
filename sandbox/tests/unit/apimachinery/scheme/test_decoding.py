"""Reading objects: unknown fields, wrong types, what vanishes, what is always there."""

from typing import Any

import pytest

import schema_samples as samples
from kube_sandbox.apimachinery.scheme import decoding, field_validation


def decode(body: dict[str, Any]) -> decoding.Decoded:
    return decoding.decode(samples.of(body), body)


def test_unknown_fields_are_dropped_and_named_by_path() -> None:
    body = samples.deployment(replcas=3)
    body["spec"]["template"]["spec"]["containers"][0]["imag"] = "x"

    read = decode(body)

    assert set(read.unknown) == {"spec.replcas", "spec.template.spec.containers[0].imag"}
    assert "replcas" not in read.body["spec"]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("spec", "replicas"),
            "two",
            "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas "
            "of type int32",
        ),
        (
            ("spec", "replicas"),
            1.5,
            "cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas "
            "of type int32",
        ),
        (
            ("spec",),
            [],
            "cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec",
        ),
        (
            ("metadata", "labels"),
            {"a": 1},
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.labels.a "
            "of type string",
        ),
        (
            ("spec", "template", "spec", "containers"),
            "x",
            "cannot unmarshal string into Go struct field "
            "PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
    ],
)
def test_wrong_types_are_worded_as_by_the_server(
    path: tuple[str, ...], value: object, message: str
) -> None:
    body = samples.deployment()
    target = body
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value

    with pytest.raises(decoding.DecodeError) as caught:
        decode(body)

    assert str(caught.value) == f"json: {message}"


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(decoding.DecodeError, match="number 2147483648"):
        decode(samples.deployment(replicas=2**31))


def test_empty_optional_fields_vanish_and_meaningful_zeroes_stay() -> None:
    body = samples.deployment(replicas=0, paused=False, minReadySeconds=0)
    body["metadata"]["annotations"] = {}
    container = body["spec"]["template"]["spec"]["containers"][0]
    container |= {"command": [], "tty": False, "securityContext": {"privileged": False}}

    read = decode(body).body

    assert read["spec"]["replicas"] == 0
    assert "paused" not in read["spec"]
    assert "minReadySeconds" not in read["spec"]
    assert "annotations" not in read["metadata"]
    kept = read["spec"]["template"]["spec"]["containers"][0]
    assert kept["securityContext"] == {"privileged": False}
    assert "command" not in kept
    assert "tty" not in kept


def test_structs_held_by_value_are_always_there() -> None:
    read = decode(samples.deployment()).body

    assert read["status"] == {}
    assert read["spec"]["strategy"] == {}
    assert read["spec"]["template"]["spec"]["containers"][0]["resources"] == {}


def test_filled_in_structs_are_not_shared_between_objects() -> None:
    first, second = decode(samples.deployment()).body, decode(samples.deployment()).body
    first["spec"]["strategy"]["type"] = "Recreate"

    assert second["spec"]["strategy"] == {}


def test_quantities_become_canonical_also_when_written_as_numbers() -> None:
    body = samples.containers(
        {"name": "main", "image": "i", "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}}
    )

    read = decode(body).body["spec"]["template"]["spec"]["containers"][0]["resources"]

    assert read == {"limits": {"cpu": "500m", "memory": "1Gi"}}


def test_malformed_quantities_base64_and_times_are_refused() -> None:
    bad_cpu = {"name": "m", "image": "i", "resources": {"limits": {"cpu": "many"}}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "%"}}
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"renewTime": "yesterday"},
    }

    with pytest.raises(decoding.DecodeError, match="quantities must match"):
        decode(samples.containers(bad_cpu))
    with pytest.raises(decoding.DecodeError, match="illegal base64 data at input byte 0"):
        decode(secret)
    with pytest.raises(decoding.DecodeError, match='parsing time "yesterday"'):
        decode(lease)


def test_null_means_missing() -> None:
    body = samples.deployment(replicas=None)

    assert "replicas" not in decode(body).body["spec"]


def test_the_argument_is_left_as_it_is() -> None:
    body = samples.deployment(paused=False)
    before = repr(body)

    decode(body)

    assert repr(body) == before


def test_repeated_fields_are_found_at_every_depth() -> None:
    text = '{"a": 1, "spec": {"b": [{"c": 1, "c": 2}], "d": 1, "d": 1, "d": 2}, "a": 2}'

    assert sorted(field_validation.duplicates(text)) == ["a", "spec.b[0].c", "spec.d"]
    assert field_validation.duplicates("{not json") == []
    assert field_validation.duplicates('{"a": 1}') == []


def test_strict_field_validation_names_everything_at_once() -> None:
    read = decode(samples.deployment(x=1, y=2))
    found = field_validation.complaints(read, ('duplicate field "spec.replicas"',))

    assert field_validation.strict_message("Deployment", "v1", found) == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        'duplicate field "spec.replicas", unknown field "spec.x", unknown field "spec.y"'
    )
