"""The identity of a worker: a file with all that it needs, which is a secret as a whole."""

from dataclasses import dataclass, field

import msgspec

from volary.agents import hellos
from volary.agents.orders import keys
from volary.model import errors, json

_KIND = "volary.dev/v1 WorkerIdentity"


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """Who a worker is, whom it believes, and where it finds them."""

    name: str
    clusters: tuple[str, ...]
    #: Addresses of the servers.
    servers: tuple[str, ...]
    temporal: hellos.Temporal
    #: The controller's, by which orders are signed; public, in base64.
    signing_key: str
    #: Its token.
    token: str = field(repr=False)
    #: The key that opens what is sealed for it, PEM.
    opening_key: str = field(repr=False)


def write(identity: WorkerIdentity) -> str:
    """Return the text of the file."""
    document = {"kind": _KIND, **msgspec.to_builtins(identity)}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def read(text: str) -> WorkerIdentity:
    """Return the identity that a file holds.

    Raises:
        errors.UserError: It holds none; never repeats what is in it.
    """
    try:
        document = json.decode(text.encode())
        if isinstance(document, dict) and document.pop("kind", "") == _KIND:
            identity = json.convert(document, WorkerIdentity)
            keys.read_opening(identity.opening_key.encode())
            keys.read_verifying(identity.signing_key)
            return identity
    except (*json.UNREADABLE, keys.NoKeyError):
        pass
    raise errors.user_error(
        "the file holds no identity of a worker",
        hint="volary worker join NAME --cluster NAME prints one",
    )
