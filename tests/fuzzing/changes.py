"""Small changes of examples, drawn by a seed: of the bytes, of the lines, of the values."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import yaml

#: Values that readers stumble over.
_NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1e308, 0.1, ""),
    *([], {}, [None], [[]], {"": None}, [{}], " ", "\x00", "\ud800", "\u202e", "é", "😀", "-", "/"),
    *("..", "../../etc/passwd", "/etc/passwd", "~", "~nobody-here/x", "null", "true", "0x10"),
    *("1e999", "NaN", ".inf", "99999999999999999999", "9" * 5000, "*", "**/" * 40 + "x", "(a+)+$"),
    *("{{", "}}", "{{ . }}", "${x}", "%s%n", "$(id)", "'", '"', "`", "\\", "a\nb", "a\tb"),
    *("http://[", "https://user:pw@host:99999/", "http://[::1%25eth0]/", "git@host:", "a:b:c"),
    *("P1D", "1h", "-1h", "9999999h", "2026-13-40", "20261399T250000", "Europe/Berlin", "50%"),
    *("-1%", "1e9%", "x" * 300, "ä" * 64),
)
_PIECES = (
    *("\x00", "\n", "\r\n", "\t", " ", "  ", "---\n", "...\n", "- ", ": ", "? ", "| ", "> ", "&a "),
    *(
        "*a",
        "<<: *a\n",
        "!!int ",
        "!!binary ",
        "!x ",
        "'",
        '"',
        "\\",
        "\\u0000",
        "\\ud800",
        "{",
        "}",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        ",",
        "#",
        "%",
        "@",
        "`",
        "\ufeff",
        "\u2028",
        "\ud800",
        "é",
        "𝔘",
        "\x1b[31m",
    ),
    *("-", "--", "/", "//", "..", "0", "9", "99999999999999999999999", "1e400", "null", "~", "="),
)
_LONGEST = 64 * 1024


def change(chance: random.Random, seeds: Sequence[bytes], words: Sequence[str]) -> bytes:
    """Return an example with a few changes, or sometimes something of words alone.

    Args:
        chance: What decides.
        seeds: The examples.
        words: What the language is made of; put in at any place.
    """
    if words and chance.random() < 0.15:
        return _encoded("".join(chance.choice(words) for _ in range(chance.randrange(1, 40))))
    data = chance.choice(seeds)
    if chance.random() < 0.5:
        data = _with_other_values(chance, data)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        step = chance.choice(_STEPS)
        data = step(chance, data, seeds, words)[:_LONGEST]
    return data


def change_around(
    chance: random.Random, seeds: Sequence[bytes], words: Sequence[str], kept: bytes
) -> bytes:
    """Return an example with changes in all lines but those that contain `kept`."""
    lines = chance.choice(seeds).splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if kept not in line]
    for place in chance.sample(places, min(len(places), chance.randrange(1, 4))):
        line = lines[place]
        match chance.randrange(4):
            case 0:
                line = b""
            case 1:
                key, colon, _ = line.partition(b":")
                line = key + colon + b" " + _encoded(json.dumps(chance.choice(_NASTY))) + b"\n"
            case 2:
                line = chance.choice(lines) if places else line
                line = line if kept not in line else b""
            case _:
                step = chance.choice(_STEPS)
                others = [line]
                line = step(chance, line, others, words)[:_LONGEST]
        lines[place] = line
    return b"".join(lines)


def value(chance: random.Random) -> Any:
    """Return some value of JSON."""
    found = chance.choice(_NASTY)
    for _ in range(chance.choice((0, 0, 0, 1, 3))):
        found = [found] if chance.random() < 0.5 else {str(chance.choice(_NASTY))[:40]: found}
    return found


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_Step = Callable[[random.Random, bytes, Sequence[bytes], Sequence[str]], bytes]


def _span(chance: random.Random, data: bytes) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 1, 2, 4, 16, 200)))


def _put_in(chance: random.Random, data: bytes, _: Sequence[bytes], words: Sequence[str]) -> bytes:
    place = chance.randrange(len(data) + 1)
    piece = chance.choice(words) if words and chance.random() < 0.5 else chance.choice(_PIECES)
    return data[:place] + _encoded(piece) + data[place:]


def _take_out(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[end:]


def _repeat(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    start, end = _span(chance, data)
    return data[:end] + data[start:end] * chance.choice((1, 2, 30, 2000)) + data[end:]


def _flip(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    if not data:
        return bytes([chance.randrange(256)])
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def _cut(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _splice(chance: random.Random, data: bytes, seeds: Sequence[bytes], _: Sequence[str]) -> bytes:
    other = chance.choice(seeds)
    start, _end = _span(chance, data)
    return data[:start] + other[chance.randrange(len(other) + 1) :]


def _nest(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    opening = chance.choice((b"[", b"{", b"(", b"{a: ", b'{"a":', b"- ", b"!"))
    place = chance.randrange(len(data) + 1)
    return data[:place] + opening * chance.choice((3, 250, 5000)) + data[place:]


def _swap_lines(chance: random.Random, data: bytes, _: Sequence[bytes], __: Sequence[str]) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


_STEPS: Sequence[_Step] = (
    *(_put_in, _put_in, _take_out, _repeat, _flip, _cut, _splice, _nest, _swap_lines),
)


def _with_other_values(chance: random.Random, data: bytes) -> bytes:
    """Return the documents with some values replaced; the text itself when it has none."""
    try:
        documents = list(yaml.load_all(data.decode(), yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError, RecursionError):
        return data
    if not any(isinstance(document, dict | list) for document in documents):
        return data
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(documents))
        documents[place] = _changed(chance, documents[place])
    try:
        texts = [json.dumps(document, default=str) for document in documents]
    except (ValueError, TypeError, RecursionError):
        return data
    return "\n---\n".join(texts).encode()


def _changed(chance: random.Random, found: Any) -> Any:
    """Return a document with one of its values changed; how deep, chance decides."""
    if isinstance(found, dict) and found and chance.random() < 0.85:
        return _changed_object(chance, found)
    if isinstance(found, list) and found and chance.random() < 0.85:
        return _changed_list(chance, found)
    return value(chance)


def _changed_object(chance: random.Random, found: dict[Any, Any]) -> dict[Any, Any]:
    key = chance.choice(list(found))
    rest = {name: inner for name, inner in found.items() if name != key}
    match chance.randrange(10):
        case 0:
            return rest
        case 1:
            return {**rest, str(chance.choice(_NASTY)): found[key]}
        case 2:
            return {**found, key: chance.choice(list(found.values()))}
        case _:
            return {**found, key: _changed(chance, found[key])}


def _changed_list(chance: random.Random, found: list[Any]) -> list[Any]:
    place = chance.randrange(len(found))
    match chance.randrange(6):
        case 0:
            return found[:place] + found[place + 1 :]
        case 1:
            return found + [found[place]] * chance.choice((1, 2, 50))
        case _:
            return [*found[:place], _changed(chance, found[place]), *found[place + 1 :]]
