"""Reading protobuf; the messages here are written by a few lines of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.endpoints import protobuf

CONFIG_MAP = kinds.built_in("", "v1", "ConfigMap").schema.type
SERVICE = kinds.SERVICE.schema.type
POD = kinds.POD.schema.type


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes((value & 127 | 128,))
        value >>= 7
    return found + bytes((value,))


def _field(number: int, value: int | bytes | str) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _body(api_version: str, kind: str, raw: bytes) -> bytes:
    about = _field(1, api_version) + _field(2, kind)
    return b"k8s\0" + _field(1, about) + _field(2, raw)


def test_a_config_map_with_its_maps_and_times() -> None:
    metadata = _field(1, "c") + _field(3, "a") + _field(8, b"")
    labels = _field(11, _field(1, "x") + _field(2, "y"))
    data = _field(2, _field(1, "k") + _field(2, "v"))
    binary = _field(3, _field(1, "b") + _field(2, b"\x00\xff"))

    found = protobuf.parse(
        _body("v1", "ConfigMap", _field(1, metadata + labels) + data + binary), CONFIG_MAP
    )

    assert found == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "a", "labels": {"x": "y"}},
        "data": {"k": "v"},
        "binaryData": {"b": "AP8="},
    }


def test_integers_or_text_and_repeated_messages() -> None:
    by_number = _field(3, 80) + _field(4, _field(1, 0) + _field(2, 8080))
    by_name = _field(3, 81) + _field(4, _field(1, 1) + _field(3, "http"))
    spec = _field(1, by_number) + _field(1, by_name)

    found = protobuf.parse(_body("v1", "Service", _field(2, spec)), SERVICE)

    assert found["spec"]["ports"] == [
        {"port": 80, "targetPort": 8080},
        {"port": 81, "targetPort": "http"},
    ]


def test_what_is_inline_in_json_becomes_a_part_of_its_parent() -> None:
    volume = _field(1, "v") + _field(2, _field(6, _field(1, "secret")))
    found = protobuf.parse(_body("v1", "Pod", _field(2, _field(1, volume))), POD)

    assert found["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "secret"}}]


def test_what_is_not_known_is_refused_and_not_lost() -> None:
    with pytest.raises(api_errors.StatusError, match="field 99 of ConfigMap") as caught:
        protobuf.parse(_body("v1", "ConfigMap", _field(99, "x")), CONFIG_MAP)
    assert caught.value.code == 415


@given(st.binary(max_size=60))
def test_garbage_is_refused(garbage: bytes) -> None:
    code = None
    try:
        protobuf.parse(b"k8s\0" + garbage, POD)
    except api_errors.StatusError as refused:
        code = refused.code

    assert code in (None, 400, 415)
