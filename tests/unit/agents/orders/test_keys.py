"""Keys are read as what they are, and what is none is not repeated."""

import pytest

from volary.agents.orders import keys


def test_a_pair_belongs_together() -> None:
    signing = keys.read(keys.generate())
    public = keys.read_verifying(keys.public(signing))

    public.verify(signing.sign(b"order"), b"order")

    opening = keys.read_opening(keys.generate_opening())
    other = keys.read_opening(keys.generate_opening())
    assert opening.exchange(keys.read_sealing(keys.public(other))) == other.exchange(
        keys.read_sealing(keys.public(opening))
    )


@pytest.mark.parametrize("pem", [b"", b"secret words", keys.generate_opening()])
def test_what_is_no_key_to_sign_with_is_refused(pem: bytes) -> None:
    with pytest.raises(keys.NoKeyError) as refused:
        keys.read(pem)

    assert "secret" not in str(refused.value)


def test_a_key_to_sign_with_opens_nothing() -> None:
    with pytest.raises(keys.NoKeyError):
        keys.read_opening(keys.generate())


@pytest.mark.parametrize("text", ["", "AAAA", "é" * 44, "A" * 44, "*" * 44])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(keys.NoKeyError):
        keys.read_sealing(text)
    with pytest.raises(keys.NoKeyError):
        keys.read_verifying(text)
