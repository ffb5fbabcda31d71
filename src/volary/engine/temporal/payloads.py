"""How values become payloads of Temporal: JSON that people can read, packed where it is long."""

import zlib
from collections.abc import Sequence
from typing import Any

import msgspec
from google.protobuf import message
from temporalio import converter
from temporalio.api.common.v1 import Payload

from volary.model import json

#: Bytes from which on a payload is packed: documents of runs shrink to a tenth.
_LONG = 2048
_ENCODING = "encoding"
_PACKED = b"binary/zlib"
_BROKEN = b"binary/broken"
#: A payload says itself how long it is; nobody unpacks more than that.
_MOST_BYTES = 256 * 1024 * 1024


class ValueConverter(converter.EncodingPayloadConverter):
    """Dataclasses, times and enums as `msgspec` writes them."""

    @property
    def encoding(self) -> str:
        """The mark of such payloads, which Temporal's own programs show as JSON."""
        return "json/plain"

    def to_payload(self, value: Any) -> Payload | None:
        """Return the payload of a value."""
        return Payload(
            metadata={_ENCODING: self.encoding.encode()}, data=msgspec.json.encode(value)
        )

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Return the value of a payload.

        Raises:
            msgspec.ValidationError: It is no value of that type.
        """
        return json.decode(payload.data, type_hint or Any)


class BrokenConverter(converter.EncodingPayloadConverter):
    """What was packed by somebody else: it is found where it is read, and harms only that."""

    @property
    def encoding(self) -> str:
        """The mark of such payloads."""
        return _BROKEN.decode()

    def to_payload(self, value: Any) -> Payload | None:
        """Return None: no value is written so."""
        return None

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Say why it cannot be unpacked.

        Raises:
            ValueError: Always.
        """
        raise ValueError(payload.data.decode())


class Values(converter.CompositePayloadConverter):
    """Nothing at all, or a value."""

    def __init__(self) -> None:
        super().__init__(
            converter.BinaryNullPayloadConverter(), ValueConverter(), BrokenConverter()
        )


class Packing(converter.PayloadCodec):
    """Packs long payloads; a server takes none above 2 MiB."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Pack those that are long."""
        return [_pack(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Unpack those that are packed; what cannot be says so where it is read.

        An error here would keep a workflow from its history, which is asked for again and again.
        """
        return [_unpack(payload) for payload in payloads]


def _pack(payload: Payload) -> Payload:
    if payload.ByteSize() < _LONG:
        return payload
    packed = zlib.compress(payload.SerializeToString(), level=6)
    return Payload(metadata={_ENCODING: _PACKED}, data=packed)


def _unpack(payload: Payload) -> Payload:
    if payload.metadata.get(_ENCODING) != _PACKED:
        return payload
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(payload.data, _MOST_BYTES)
        if not reader.eof:
            return _broken(f"a packed payload is longer than {_MOST_BYTES} bytes, or cut off")
        return Payload.FromString(data)
    except (zlib.error, message.DecodeError) as error:
        return _broken(f"a packed payload cannot be unpacked: {error}")


def _broken(why: str) -> Payload:
    return Payload(metadata={_ENCODING: _BROKEN}, data=why.encode())


CONVERTER = converter.DataConverter(payload_converter_class=Values, payload_codec=Packing())
