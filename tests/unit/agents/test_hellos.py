"""What both sides say first, and whether they get along."""

import json

import msgspec
import pytest

from volary.agents import hellos

HELLO = hellos.Hello("0.2.0", (1, 3), "us", "uid-1", ("reads nothing",))


def test_what_is_said_is_what_is_read() -> None:
    welcome = hellos.Welcome(
        "0.1.0", 2, "us", ("https://one",), hellos.Temporal("t:7233", "default", "q-", 30.0)
    )

    assert hellos.read_hello(msgspec.json.encode(HELLO)) == HELLO
    assert hellos.read_welcome(msgspec.json.encode(welcome)) == welcome


def test_what_is_not_known_is_passed_over() -> None:
    """Of a newer agent: it may say more than is read here."""
    said = {**msgspec.to_builtins(HELLO), "capacity": {"pods": 3}}

    assert hellos.read_hello(json.dumps(said).encode()) == HELLO


@pytest.mark.parametrize(
    "change",
    [
        {"version": ""},
        {"cluster": "a\nb"},
        {"clusterUid": "x" * 300},
        {"clusterUid": 7},
        {"protocols": [1]},
        {"protocols": [3, 1]},
        {"protocols": [0, 1]},
        {"protocols": [1, 10**9]},
        {"policy": ["a\x1b[2J"]},
        {"policy": ["a"] * 1001},
        {"policy": "reads"},
    ],
)
def test_what_is_no_hello_is_refused(change: dict[str, object]) -> None:
    said = {**msgspec.to_builtins(HELLO), **change}

    with pytest.raises(hellos.MalformedError):
        hellos.read_hello(json.dumps(said).encode())


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b" " * (hellos.LARGEST + 1)])
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(hellos.MalformedError):
        hellos.read_hello(body)
    with pytest.raises(hellos.MalformedError):
        hellos.read_welcome(body)


@pytest.mark.parametrize(
    ("agent", "server", "common"),
    [
        ((1, 1), (1, 1), 1),
        ((1, 3), (2, 5), 3),
        ((2, 5), (1, 3), 3),
        ((1, 1), (2, 3), 0),
        ((4, 6), (2, 3), 0),
    ],
)
def test_the_newest_protocol_that_both_speak_is_used(
    agent: tuple[int, int], server: tuple[int, int], common: int
) -> None:
    assert hellos.common_protocol(agent, server) == common


def test_without_a_common_protocol_both_say_so() -> None:
    assert hellos.incompatible(HELLO, "0.9.0", (7, 7)) == (
        "the agent (0.2.0) speaks protocol 1 to 3, and the server (0.9.0) 7: update the older one"
    )
