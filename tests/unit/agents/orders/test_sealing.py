"""Sealed artifacts: opened by whom they are for, and by nobody else."""

import hypothesis
import pytest
from hypothesis import strategies

from volary.agents.orders import keys, sealing
from volary.model import errors

OLD, NEW, STRANGER = (keys.generate_sealing_key() for _ in range(3))
CONTENT = b"kind: Secret, password: hunter2"
SEALED = sealing.seal(CONTENT, [OLD.public, NEW.public])


@hypothesis.given(strategies.binary(max_size=5000))
def test_what_is_sealed_is_opened(content: bytes) -> None:
    assert sealing.unseal(sealing.seal(content, [OLD.public]), [OLD]) == content


@pytest.mark.parametrize("known", [[OLD], [NEW], [STRANGER, NEW]])
def test_each_of_its_keys_opens_it(known: list[keys.SealingKey]) -> None:
    assert sealing.unseal(SEALED, known) == CONTENT


def test_nothing_of_it_can_be_read() -> None:
    assert b"hunter2" not in SEALED
    assert sealing.seal(CONTENT, [OLD.public]) != sealing.seal(CONTENT, [OLD.public])


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


def test_a_key_is_read_from_its_file() -> None:
    assert sealing.unseal(SEALED, [keys.read_sealing_key(OLD.pem)]) == CONTENT


@pytest.mark.parametrize("text", ["", "AAAA", "no base64 at all", "é"])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(errors.UserError, match="32 bytes in base64"):
        sealing.seal(CONTENT, [text])


@pytest.mark.parametrize("read", [keys.read_sealing_key, keys.read_signing_key])
def test_a_file_that_holds_no_such_key_is_refused(read: object) -> None:
    assert callable(read)
    for pem in (b"", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        with pytest.raises(errors.UserError, match="does not hold"):
            read(pem)
    other = keys.generate_signing_key() if read is keys.read_sealing_key else OLD
    with pytest.raises(errors.UserError, match="does not hold"):
        read(other.pem)
