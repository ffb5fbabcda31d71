"""API tokens: random, shown once, kept as a hash.

They lie in a file of mode 0600 in the data directory, so that the command that makes tokens needs
no running server, and from there go to every server of the database (`sharing.token_exchange`).

A token has 256 random bits, so a plain SHA-256 cannot be searched; nothing slower is needed,
and a slow hash would let anybody keep the server busy.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from volary import secret_files
from volary.model import errors, json, server_settings

FILE_NAME = "tokens.json"
#: Tokens that are kept, revoked and expired ones included: of those the oldest go first.
MOST = 1000
#: Of those, valid ones of one project: whoever makes them keeps nobody else from it.
MOST_OF_PROJECT = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
#: Makes a leaked token recognisable for scanners.
PREFIX = "volary_"


#: A time without a zone is none: it could not be compared with now.
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class Token(msgspec.Struct, frozen=True, rename="camel"):
    """What is kept of a token."""

    id: str
    #: As whoever made it called it; see `full_name`.
    name: str
    #: SHA-256 of the whole token, hexadecimal.
    hash: str
    role: server_settings.Role
    created: _Time
    match_labels: dict[str, str] = {}
    #: The project whose applications its role holds for; empty: every one, and what is in none.
    project: str = ""
    expires: _Time | None = None
    revoked: _Time | None = None

    @property
    def full_name(self) -> str:
        """Its name as audit and roles have it, after ``token:``.

        That of a project's token begins with the project, so that nobody who makes tokens of one
        project gives them a name that means somebody else elsewhere.
        """
        return f"{self.project}/{self.name}" if self.project else self.name

    def is_valid(self, now: datetime) -> bool:
        """Say whether it is accepted at `now`."""
        return self.state(now) == "valid"

    def state(self, now: datetime) -> Literal["valid", "expired", "revoked"]:
        """Return how it stands at `now`."""
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires is None or now < self.expires else "expired"


class _File(msgspec.Struct, frozen=True):
    version: int = 1
    tokens: tuple[Token, ...] = ()


#: What shows that the file is another one, or allows others more or less.
_Stamp = tuple[int, int, int, int]


class TokenFile:
    """The tokens of a data directory; read again whenever the file changed."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._seen: _Stamp | None = None
        self._by_hash: dict[str, Token] = {}

    def find(self, presented: str, now: datetime) -> Token | None:
        """Return the valid token that was presented; None when there is none.

        Raises:
            errors.UserError: The file cannot be read, or others can; nobody gets in then.
        """
        self._refresh()
        digest = _digest(presented)
        token = self._by_hash.get(digest)
        # Looked up by the hash of a random value, so the time it takes tells nothing.
        if token is None or not hmac.compare_digest(token.hash, digest):
            return None
        return token if token.is_valid(now) else None

    def all(self) -> tuple[Token, ...]:
        """Return every token, also those that are revoked, in the order they were made.

        Raises:
            errors.UserError: The file cannot be read, or others can.
        """
        self._refresh()
        return tuple(self._by_hash.values())

    def create(
        self,
        name: str,
        role: server_settings.Role,
        *,
        now: datetime,
        match_labels: dict[str, str],
        project: str = "",
        expires: datetime | None = None,
    ) -> tuple[Token, str]:
        """Make a token; returns what is kept of it and, this once, the token itself.

        Raises:
            errors.UserError: It is no name, a valid token has it already, there are too many
                tokens, or the file cannot be written.
        """
        for what, given in (("a token", name), ("a project", project or name)):
            if not _NAME.fullmatch(given):
                raise errors.user_error(
                    f"{given[:80]!r} is no name for {what}",
                    hint="letters, digits, dots, dashes and underscores, 63 at most",
                )
        written = PREFIX + secrets.token_urlsafe(32)
        made = Token(
            secrets.token_hex(4),
            name,
            _digest(written),
            role,
            now,
            match_labels,
            project,
            expires,
        )

        def add(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
            valid = [token for token in tokens if token.is_valid(now)]
            if any(token.full_name == made.full_name for token in valid):
                raise errors.user_error(
                    f"there is a token {made.full_name} already",
                    hint=f"volary token revoke {made.full_name}",
                )
            if project and sum(token.project == project for token in valid) >= MOST_OF_PROJECT:
                raise errors.user_error(
                    f"project {project} has {MOST_OF_PROJECT} valid tokens already",
                    hint="revoke those nobody needs",
                )
            return (*_with_room(tokens, now), made)

        self._change(add)
        return made, written

    def revoke(self, name: str, *, now: datetime) -> int:
        """Revoke every token with this full name or id; returns how many.

        A revoked token stays in the file, so that lists show who could get in, and until when.

        Raises:
            errors.UserError: The file cannot be read or written.
        """
        count = 0

        def close(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
            nonlocal count
            changed = []
            for token in tokens:
                meant = name in (token.full_name, token.id) and token.revoked is None
                count += meant
                changed.append(msgspec.structs.replace(token, revoked=now) if meant else token)
            return tuple(changed)

        self._change(close)
        return count

    def take_in(self, others: Iterable[Token]) -> tuple[Token, ...]:
        """Take in what other servers know of tokens; return all that there are then, by age.

        A token that is revoked anywhere is revoked, from the first time on.

        Raises:
            errors.UserError: The file cannot be read or written.
        """
        others = tuple(others)
        merged = _merged(self.all(), others)
        if merged != self.all():
            self._change(lambda tokens: _merged(tokens, others))
            self._refresh()
        return merged

    def stamp(self) -> object:
        """Return what differs when the file is another one.

        Raises:
            errors.UserError: The file cannot be looked at, or others can read it.
        """
        return self._stamp()

    def _refresh(self) -> None:
        seen = self._stamp()
        if seen == self._seen:
            return
        self._by_hash = {token.hash: token for token in self._read()}
        self._seen = seen

    def _stamp(self) -> _Stamp | None:
        try:
            status = secret_files.check_private(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error.strerror or "") from error
        # The time of the last change of anything: permissions that were open for a while count.
        return (status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size)

    def _read(self) -> tuple[Token, ...]:
        try:
            return json.decode(secret_files.read_private(self._path), _File).tokens
        except FileNotFoundError:
            return ()
        except (OSError, *json.UNREADABLE) as error:
            raise self._unreadable(type(error).__name__) from error

    def _unreadable(self, why: str) -> errors.UserError:
        return errors.user_error(f"the tokens in {self._path} cannot be read: {why}")

    def _change(self, edit: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
        try:
            secret_files.make_private_directory(self._path.parent)
            with _locked(self._path.with_suffix(".lock")):
                changed = msgspec.json.encode(_File(1, edit(self._read())))
                secret_files.write_private(self._path, msgspec.json.format(changed))
        except OSError as error:
            raise errors.user_error(
                f"the tokens in {self._path} cannot be written: {error.strerror}"
            ) from error


def _merged(own: tuple[Token, ...], others: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the tokens of both, by age; of too many the oldest that were revoked are dropped."""
    merged: dict[str, Token] = {}
    for token in (*own, *others):
        known = merged.get(token.id, token)
        moments = [each.revoked for each in (known, token) if each.revoked is not None]
        merged[token.id] = msgspec.structs.replace(known, revoked=min(moments, default=None))
    by_age = sorted(merged.values(), key=lambda token: (token.created, token.id))
    revoked = [token for token in by_age if token.revoked is not None]
    dropped = {token.id for token in revoked[: max(0, len(by_age) - MOST)]}
    return tuple(token for token in by_age if token.id not in dropped)


def _with_room(tokens: tuple[Token, ...], now: datetime) -> tuple[Token, ...]:
    """Return the tokens with room for one more, without the oldest that open nothing.

    Raises:
        errors.UserError: All of them are valid.
    """
    while len(tokens) >= MOST:
        ended = next((token for token in tokens if not token.is_valid(now)), None)
        if ended is None:
            raise errors.user_error(
                f"there are {MOST} valid tokens already", hint="revoke those nobody needs"
            )
        tokens = tuple(token for token in tokens if token is not ended)
    return tokens


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _digest(presented: str) -> str:
    return hashlib.sha256(presented.encode("utf-8", "replace")).hexdigest()
