"""The identity of a worker: a file with all that it needs, which is a secret as a whole."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from volary import secret_files
from volary.agents import hellos
from volary.agents.orders import keys
from volary.model import errors, json

_LOG = logging.getLogger(__name__)
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


class IdentityFile:
    """The identity that a file holds now: whoever rotates it puts another one in its place.

    It is read again once the file is another one, or was written to. Where it cannot be read, as
    while it is being written, the one before goes on.

    Raises:
        errors.UserError: It cannot be read at first, or holds none.
    """

    def __init__(self, path: str, learn: Callable[[str], None]) -> None:
        self._path, self._place = path, os.path.expanduser(path)
        #: Told of each token, so that no log has it.
        self._learn = learn
        self._known: list[WorkerIdentity] = []
        #: How the file was when it was read last; None: it could not be.
        self._seen = self._stamp()
        self._take(read(secret_files.read_text(path)))

    @property
    def current(self) -> WorkerIdentity:
        """The identity to show from now on."""
        # Before it is read: what is written meanwhile is seen the next time.
        stamp = self._stamp()
        if stamp is None or stamp != self._seen:
            self._read_again(stamp)
        return self._known[-1]

    def opened_with(self) -> list[keys.OpeningKey]:
        """Return the keys that open what is sealed for it: orders may be older than the newest."""
        newest = self.current
        return [
            keys.read_opening(one.opening_key.encode()) for one in (newest, *self._known[-2:-1])
        ]

    def _read_again(self, stamp: tuple[int, ...] | None) -> None:
        self._seen = None
        try:
            found = read(secret_files.read_text(self._path))
        except errors.UserError as error:
            _LOG.debug("the identity before goes on: %s", error)
            return
        self._seen = stamp
        if found != self._known[-1]:
            self._take(found)
            _LOG.info("the identity of worker %s has changed", found.name)

    def _stamp(self) -> tuple[int, ...] | None:
        """Return what is another one with every file that is put there, and with every write."""
        try:
            found = os.stat(self._place)
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _take(self, identity: WorkerIdentity) -> None:
        self._learn(identity.token)
        self._known = [*self._known[-1:], identity]
