"""Encrypted values are PipeCD's: the same bytes in the same order."""

import base64
import functools
import os

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from volary.sources.decryption import ciphertexts


@functools.cache
def made_key(number: int = 0) -> rsa.RSAPrivateKey:
    """Made by who needs it: all who collect tests would wait for it otherwise."""
    return rsa.generate_private_key(65537, 2048)


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, form: str = "PKCS8") -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        getattr(serialization.PrivateFormat, form),
        serialization.NoEncryption(),
    ).decode()


def as_pipecd_writes(text: bytes, key: rsa.RSAPrivateKey | None = None) -> bytes:
    """Written anew from PipeCD's description, with other functions than ours."""
    once = os.urandom(32)
    wrapped = (
        (key or made_key())
        .public_key()
        .encrypt(once, padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), b""))
    )
    made = Cipher(algorithms.AES(once), modes.GCM(b"\0" * 12)).encryptor()
    sealed = made.update(text) + made.finalize() + made.tag
    return len(wrapped).to_bytes(2, "big") + wrapped + sealed


def numbers(text: str) -> rsa.RSAPublicNumbers:
    return ciphertexts.read_public_key(text).public_numbers()


@settings(max_examples=20)
@given(text=st.text())
def test_what_is_encrypted_is_decrypted(text: str) -> None:
    made = ciphertexts.encrypt(text, made_key().public_key())

    assert ciphertexts.decrypt(made, made_key()) == text
    assert made != ciphertexts.encrypt(text, made_key().public_key())


def test_values_of_pipecd_are_read_also_broken_into_lines() -> None:
    written = base64.encodebytes(as_pipecd_writes("pässword".encode())).decode()

    assert "\n" in written.strip()
    assert ciphertexts.decrypt(written, made_key()) == "pässword"


def test_other_keys_and_changed_values_are_refused() -> None:
    data = as_pipecd_writes(b"password")
    for text, said in (
        ("{{ no base64 }}", "it is not base64"),
        ("", "it is cut off"),
        (base64.b64encode(data[:100]).decode(), "it is cut off"),
        (base64.b64encode(data[:258]).decode(), "it is cut off"),
        (base64.b64encode(data[:-1] + bytes([data[-1] ^ 1])).decode(), "or was changed"),
        (
            base64.b64encode(as_pipecd_writes(b"p", made_key(1))).decode(),
            "encrypted for another key",
        ),
        (base64.b64encode(as_pipecd_writes(b"\xff\xfe")).decode(), "not UTF-8"),
    ):
        with pytest.raises(ciphertexts.CiphertextError, match=said) as raised:
            ciphertexts.decrypt(text, made_key())
        assert "password" not in str(raised.value)


@pytest.mark.parametrize("form", ["PKCS8", "TraditionalOpenSSL"])
def test_keys_in_the_forms_of_openssl(form: str) -> None:
    read = ciphertexts.read_private_key(pem(made_key(), form))

    assert read.private_numbers() == made_key().private_numbers()
    assert numbers(pem(made_key(), form)) == made_key().public_key().public_numbers()
    for public in ("SubjectPublicKeyInfo", "PKCS1"):
        text = (
            made_key()
            .public_key()
            .public_bytes(serialization.Encoding.PEM, getattr(serialization.PublicFormat, public))
        )
        assert numbers(text.decode()) == made_key().public_key().public_numbers()


def test_what_is_no_key_is_said_and_not_repeated() -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    sealed = (
        made_key()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
        .decode()
    )
    public = curve.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ciphertexts.CiphertextError, match="not a key of RSA"):
        ciphertexts.read_private_key(pem(curve))
    with pytest.raises(ciphertexts.CiphertextError, match="not a key of RSA"):
        ciphertexts.read_public_key(public.decode())
    for text in (sealed, "hunter2", "-----BEGIN PRIVATE KEY-----\nhunter2\n"):
        with pytest.raises(ciphertexts.CiphertextError, match="not a private key") as raised:
            ciphertexts.read_private_key(text)
        assert "hunter2" not in str(raised.value)
    for text in ("hunter2", "-----BEGIN CERTIFICATE-----\nhunter2\n"):
        with pytest.raises(ciphertexts.CiphertextError, match="not a public key"):
            ciphertexts.read_public_key(text)
