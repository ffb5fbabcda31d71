"""Key pairs: Ed25519, by which the controller signs, and X25519, for which is sealed.

Private keys are PEM (PKCS #8, without a passphrase), public ones their 32 bytes in base64.
"""

import base64
import binascii

from cryptography import exceptions
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

SigningKey = ed25519.Ed25519PrivateKey
VerifyingKey = ed25519.Ed25519PublicKey
OpeningKey = x25519.X25519PrivateKey
SealingKey = x25519.X25519PublicKey

#: Bytes of a public key of either kind.
_SIZE = 32


class NoKeyError(ValueError):
    """What was given is no key of this kind; the message never repeats it."""


def generate() -> bytes:
    """Return a new key to sign with, PEM."""
    return _pem(SigningKey.generate())


def generate_opening() -> bytes:
    """Return a new key to open what is sealed with, PEM."""
    return _pem(OpeningKey.generate())


def _pem(key: SigningKey | OpeningKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def read(pem: bytes) -> SigningKey:
    """Return the key to sign with.

    Raises:
        NoKeyError: It is none.
    """
    key = _private(pem)
    if not isinstance(key, SigningKey):
        raise NoKeyError("it is no private key of Ed25519")
    return key


def read_opening(pem: bytes) -> OpeningKey:
    """Return the key to open with.

    Raises:
        NoKeyError: It is none.
    """
    key = _private(pem)
    if not isinstance(key, OpeningKey):
        raise NoKeyError("it is no private key of X25519")
    return key


def _private(pem: bytes) -> object:
    try:
        return serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        raise NoKeyError("it is no private key in PEM without a passphrase") from None


def public(key: SigningKey | OpeningKey) -> str:
    """Return the public key that belongs to a private one, in base64."""
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return base64.b64encode(raw).decode()


def read_verifying(text: str) -> VerifyingKey:
    """Return the key to check signatures with.

    Raises:
        NoKeyError: It is none.
    """
    return VerifyingKey.from_public_bytes(_raw(text))


def read_sealing(text: str) -> SealingKey:
    """Return the key to seal for.

    Raises:
        NoKeyError: It is none.
    """
    return SealingKey.from_public_bytes(_raw(text))


def _raw(text: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _SIZE:
        raise NoKeyError("it is no public key: 32 bytes in base64")
    return raw
