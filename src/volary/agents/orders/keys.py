"""The keys of orders (Ed25519, the controller's) and of artifacts (X25519, each agent's). Pure.

Private keys are PEM files of PKCS #8 without a passphrase; public ones go through files and the
API as the 32 bytes of their raw form in base64.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from cryptography import exceptions
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from volary.model import errors

_SIZE = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What the controller signs its orders with."""

    private: ed25519.Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> str:
        """What agents know it by."""
        return _encoded(self.private.public_key().public_bytes_raw())

    @property
    def pem(self) -> bytes:
        """The file of the key: a secret."""
        return _pem(self.private)


@dataclass(frozen=True, slots=True)
class SealingKey:
    """What an agent opens its artifacts with."""

    private: x25519.X25519PrivateKey = field(repr=False)

    @property
    def public(self) -> str:
        """What the controller seals artifacts for."""
        return _encoded(self.private.public_key().public_bytes_raw())

    @property
    def pem(self) -> bytes:
        """The file of the key: a secret."""
        return _pem(self.private)


def generate_signing_key() -> SigningKey:
    """Make a key to sign orders with."""
    return SigningKey(ed25519.Ed25519PrivateKey.generate())


def generate_sealing_key() -> SealingKey:
    """Make a key to open artifacts with."""
    return SealingKey(x25519.X25519PrivateKey.generate())


def read_signing_key(pem: bytes) -> SigningKey:
    """Read the file of a signing key.

    Raises:
        errors.UserError: It is none.
    """
    private = _read(pem)
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise _no_key("an Ed25519 key", "openssl genpkey -algorithm ed25519")
    return SigningKey(private)


def read_sealing_key(pem: bytes) -> SealingKey:
    """Read the file of a sealing key.

    Raises:
        errors.UserError: It is none.
    """
    private = _read(pem)
    if not isinstance(private, x25519.X25519PrivateKey):
        raise _no_key("an X25519 key", "openssl genpkey -algorithm x25519")
    return SealingKey(private)


def read_public(text: str) -> bytes:
    """Return the raw form of a public key.

    Raises:
        errors.UserError: It is none.
    """
    try:
        raw = base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _SIZE:
        raise errors.user_error(
            "a public key is not 32 bytes in base64", hint="volary cluster join prints it"
        )
    return raw


def key_id(public: bytes) -> bytes:
    """Return the short name of a public key, eight bytes."""
    return hashlib.sha256(public).digest()[:8]


def is_signed(public: str, signature: bytes, text: bytes) -> bool:
    """Say whether a text was signed with the private half of a key.

    Raises:
        errors.UserError: The public key is none.
    """
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(read_public(public)).verify(signature, text)
    except exceptions.InvalidSignature:
        return False
    return True


def _read(pem: bytes) -> object:
    try:
        return serialization.load_pem_private_key(pem, password=None)
    # What its parsers raise depends on how the file is broken.
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        return None


def _no_key(what: str, command: str) -> errors.UserError:
    return errors.user_error(f"the file does not hold {what}, PEM without passphrase", hint=command)


def _pem(private: ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
