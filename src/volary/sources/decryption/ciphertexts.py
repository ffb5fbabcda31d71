"""PipeCD's encrypted values: a one-time AES key, encrypted with RSA, and what it encrypts.

In base64: the length of the RSA part as two bytes, RSA-OAEP with SHA-256 of the AES-256 key,
AES-256-GCM of the text. The nonce of GCM is all zeros, which is safe as no key is used twice.
"""

import base64
import binascii
import os

from cryptography import exceptions, x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import aead

_NONCE = bytes(12)
_KEY_BYTES = 32
_LENGTH_BYTES = 2
_PADDING = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)


class CiphertextError(ValueError):
    """A key or an encrypted value is not what it should be; says nothing of what it holds."""


def read_private_key(text: str) -> rsa.RSAPrivateKey:
    """Return the private key in a PEM text.

    Raises:
        CiphertextError: It is none, is no RSA key, or has a passphrase.
    """
    try:
        key = serialization.load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        raise CiphertextError("is not a private key in PEM without a passphrase") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise CiphertextError("is not a key of RSA")
    return key


def read_public_key(text: str) -> rsa.RSAPublicKey:
    """Return the public key in a PEM text, which may be a certificate or the private key.

    Raises:
        CiphertextError: It is none, or is no RSA key.
    """
    if "PRIVATE KEY" in text:
        return read_private_key(text).public_key()
    key: object
    try:
        if "BEGIN CERTIFICATE" in text:
            key = x509.load_pem_x509_certificate(text.encode()).public_key()
        else:
            key = serialization.load_pem_public_key(text.encode())
    except (ValueError, exceptions.UnsupportedAlgorithm):
        raise CiphertextError("is not a public key in PEM") from None
    if not isinstance(key, rsa.RSAPublicKey):
        raise CiphertextError("is not a key of RSA")
    return key


def encrypt(text: str, key: rsa.RSAPublicKey) -> str:
    """Return the encrypted value, as PipeCD writes and reads it."""
    once = os.urandom(_KEY_BYTES)
    wrapped = key.encrypt(once, _PADDING)
    sealed = aead.AESGCM(once).encrypt(_NONCE, text.encode(), None)
    return base64.b64encode(len(wrapped).to_bytes(_LENGTH_BYTES, "big") + wrapped + sealed).decode()


def decrypt(ciphertext: str, key: rsa.RSAPrivateKey) -> str:
    """Return the text of an encrypted value.

    Raises:
        CiphertextError: It is not one, or was encrypted for another key.
    """
    try:
        data = base64.b64decode("".join(ciphertext.split()), validate=True)
    except (binascii.Error, ValueError):
        raise CiphertextError("is not an encrypted value: it is not base64") from None
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    wrapped, sealed = data[_LENGTH_BYTES : _LENGTH_BYTES + length], data[_LENGTH_BYTES + length :]
    if not length or len(wrapped) != length or not sealed:
        raise CiphertextError("is not an encrypted value: it is cut off")
    try:
        once = key.decrypt(wrapped, _PADDING)
        return aead.AESGCM(once).decrypt(_NONCE, sealed, None).decode()
    except UnicodeDecodeError:
        raise CiphertextError("holds something that is not UTF-8 text") from None
    except (ValueError, exceptions.InvalidTag):
        raise CiphertextError("was encrypted for another key, or was changed") from None
