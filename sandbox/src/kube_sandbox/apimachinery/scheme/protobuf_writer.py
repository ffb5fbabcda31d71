"""Fields of protobuf messages, encoded: texts, flags, messages in messages."""


def text(number: int, value: str) -> bytes:
    """Return a field that holds a text."""
    return message(number, value.encode())


def message(number: int, content: bytes) -> bytes:
    """Return a field that holds an encoded message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def flag(number: int, *, set_: bool) -> bytes:
    """Return a field that holds a boolean."""
    return _varint(number << 3) + _varint(int(set_))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
