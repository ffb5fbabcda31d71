"""Artifacts sealed for agents: nobody between the controller and the agent can read them. Pure.

X25519 with a key that is made for this artifact alone, HKDF-SHA256, AES-256-GCM. The content is
encrypted once, and its key once for each key of the agent, so that an agent whose keys are being
changed opens it with the old one or the new one. Sealing keeps secret; who made the artifact is
known by the signed order that names its hash.
"""

import hashlib
from collections.abc import Sequence

from cryptography import exceptions
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import x25519
from cryptography.hazmat.primitives.ciphers import aead
from cryptography.hazmat.primitives.kdf import hkdf

from volary.agents.orders import keys
from volary.model import errors

#: Bytes of a sealed artifact at most.
MOST_BYTES = 64 * 2**20
_MAGIC = b"volary.artifact.1\n"
_INFO = b"volary artifact key 1"
_PUBLIC, _ID, _KEY, _TAG = 32, 8, 32, 16
_WRAPPED = _ID + _KEY + _TAG
#: Each key is used for one message only, so there is nothing to tell apart.
_NONCE = bytes(12)
#: As many as the header's one byte counts.
_MOST_KEYS = 255


class SealedError(errors.PermanentError):
    """An artifact cannot be opened: it is damaged, or sealed for somebody else."""


class OtherRecipientsError(SealedError):
    """An artifact is sealed for others: whoever wants to open it has joined since."""


def seal(content: bytes, publics: Sequence[str]) -> bytes:
    """Return the content sealed for whoever has the private half of one of the keys.

    Raises:
        keys.NoKeyError: A public key is none.
        errors.UserError: There are too many, or the content is too long.
    """
    if not 0 < len(publics) <= _MOST_KEYS:
        raise errors.user_error(f"an artifact is sealed for 1 to {_MOST_KEYS} keys")
    mine = x25519.X25519PrivateKey.generate()
    content_key = aead.AESGCM.generate_key(8 * _KEY)
    own = mine.public_key().public_bytes_raw()
    header = _MAGIC + own + bytes([len(publics)])
    for public in publics:
        key = keys.read_sealing(public)
        raw = key.public_bytes_raw()
        wrapping = aead.AESGCM(_derived(mine.exchange(key), own, raw))
        header += _id(raw) + wrapping.encrypt(_NONCE, content_key, _MAGIC)
    sealed = header + aead.AESGCM(content_key).encrypt(_NONCE, content, header)
    if len(sealed) > MOST_BYTES:
        raise errors.user_error(f"what an agent needs is more than {MOST_BYTES // 2**20} MiB")
    return sealed


def unseal(sealed: bytes, known: Sequence[keys.OpeningKey]) -> bytes:
    """Return the content of a sealed artifact.

    Raises:
        SealedError: It is damaged.
        OtherRecipientsError: It is sealed for none of the keys.
    """
    start = len(_MAGIC) + _PUBLIC + 1
    if not sealed.startswith(_MAGIC) or not start <= len(sealed) <= MOST_BYTES:
        raise SealedError("the artifact is none that this version can read")
    own, count = sealed[len(_MAGIC) : start - 1], sealed[start - 1]
    end = start + count * _WRAPPED
    header, body = sealed[:end], sealed[end:]
    wrapped = {
        header[at : at + _ID]: header[at + _ID : at + _WRAPPED]
        for at in range(start, end, _WRAPPED)
    }
    for key in known:
        raw = key.public_key().public_bytes_raw()
        found = wrapped.get(_id(raw))
        if found is None:
            continue
        try:
            shared = key.exchange(x25519.X25519PublicKey.from_public_bytes(own))
            content_key = aead.AESGCM(_derived(shared, own, raw)).decrypt(_NONCE, found, _MAGIC)
            return aead.AESGCM(content_key).decrypt(_NONCE, body, header)
        except (exceptions.InvalidTag, ValueError) as error:
            raise SealedError("the artifact is damaged") from error
    raise OtherRecipientsError("the artifact is sealed for another key than this agent's")


def _id(public: bytes) -> bytes:
    """Return the short name of a key, by which an agent finds its own."""
    return hashlib.sha256(public).digest()[:_ID]


def _derived(shared: bytes, own: bytes, public: bytes) -> bytes:
    return hkdf.HKDF(hashes.SHA256(), _KEY, salt=own + public, info=_INFO).derive(shared)
