"""Sealed artifacts: opened by whom they are for, and by nobody else."""

import hypothesis
import pytest
from hypothesis import strategies

from volary.agents.orders import keys, sealing

OLD, NEW, STRANGER = (keys.read_opening(keys.generate_opening()) for _ in range(3))
CONTENT = b"kind: Secret, password: hunter2"
SEALED = sealing.seal(CONTENT, [keys.public(OLD), keys.public(NEW)])


@hypothesis.given(strategies.binary(max_size=5000))
def test_what_is_sealed_is_opened(content: bytes) -> None:
    assert sealing.unseal(sealing.seal(content, [keys.public(OLD)]), [OLD]) == content


@pytest.mark.parametrize("known", [[OLD], [NEW], [STRANGER, NEW]])
def test_each_of_its_keys_opens_it(known: list[keys.OpeningKey]) -> None:
    assert sealing.unseal(SEALED, known) == CONTENT


def test_nothing_of_it_can_be_read() -> None:
    assert b"hunter2" not in SEALED
    assert sealing.seal(CONTENT, [keys.public(OLD)]) != sealing.seal(CONTENT, [keys.public(OLD)])


def test_nobody_else_opens_it() -> None:
    with pytest.raises(sealing.SealedError, match="another key"):
        sealing.unseal(SEALED, [STRANGER])


@hypothesis.given(strategies.integers(0, len(SEALED) - 1), strategies.integers(1, 255))
def test_damaged_it_is_not_opened(at: int, change: int) -> None:
    damaged = bytearray(SEALED)
    damaged[at] ^= change

    with pytest.raises(sealing.SealedError):
        sealing.unseal(bytes(damaged), [OLD])


@hypothesis.given(strategies.integers(0, len(SEALED) - 1))
def test_cut_short_it_is_not_opened(length: int) -> None:
    with pytest.raises(sealing.SealedError):
        sealing.unseal(SEALED[:length], [OLD, NEW])


@pytest.mark.parametrize("text", ["", "AAAA", "no base64 at all", "é"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(keys.NoKeyError, match="32 bytes in base64"):
        sealing.seal(CONTENT, [text])
