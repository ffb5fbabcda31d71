"""Credentials at the moment of a request: tokens re-read, programs asked, results cached.

Exec plugins are programs that print credentials (client.authentication.k8s.io v1, v1beta1).
"""

import asyncio
import base64
import os
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol, assert_never
from urllib.parse import quote

import msgspec

from volary import secret_files, subprocesses
from volary.clusters.api import api_errors
from volary.clusters.kubeconfig import connections
from volary.model import clocks, errors, json

#: kubectl and client-go re-read token files about once a minute.
_TOKEN_FILE_AGE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a request carries to prove who we are."""

    #: Value of the ``Authorization`` header; empty: none.
    authorization: str = field(default="", repr=False)
    #: PEM client certificate and key from an exec plugin; empty: those of the settings.
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class Authenticator(Protocol):
    """Gives the proof for the next request."""

    async def prove(self) -> Proof:
        """Return what to send; raises UserError when the user has to mend something."""
        ...

    def forget(self, proof: Proof) -> bool:
        """Drop `proof`, which a server refused; whether another try may have another result."""
        ...


class FixedCredentials:
    """Credentials that never change."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    async def prove(self) -> Proof:
        """Return what was given."""
        return self._proof

    def forget(self, proof: Proof) -> bool:
        """There is nothing else to try."""
        return False


class TokenFileAuthenticator:
    """A token in a file, read again when it may have been replaced."""

    def __init__(self, source: connections.TokenFile, cluster: str, clock: clocks.Clock) -> None:
        self._source = source
        self._cluster = cluster
        self._clock = clock
        self._proof = Proof()
        self._read: datetime | None = None

    async def prove(self) -> Proof:
        """Return the token that the file holds, or held within the last minute."""
        now = self._clock.now()
        if self._read is None or now - self._read >= _TOKEN_FILE_AGE:
            token = self._token()
            if self._proof.authorization != f"Bearer {token}":
                self._proof = Proof(f"Bearer {token}")
            self._read = now
        return self._proof

    def forget(self, proof: Proof) -> bool:
        """Read the file again, which may hold a newer token by now."""
        self._read = None
        try:
            return proof.authorization != f"Bearer {self._token()}"
        except errors.UserError:
            return False

    def _token(self) -> str:
        try:
            return secret_files.read(self._source.path)
        except errors.UserError as error:
            if self._source.fallback:
                return self._source.fallback
            raise errors.user_error(
                f"cluster {self._cluster}: the token file {error}",
                hint="check tokenFile of the user in the kubeconfig",
            ) from None


def impersonation_headers(who: connections.Impersonation) -> list[tuple[str, str]]:
    """Return the headers that make requests on behalf of somebody else."""
    headers = [("Impersonate-User", who.user)] if who.user else []
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    for key, values in who.extra.items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    return headers


#: Credentials are renewed this long before they expire.
_EARLY = timedelta(seconds=10)
_LARGEST_OUTPUT = 1 << 20
_LONGEST_COMPLAINT = 300


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecPlugin:
    """An exec plugin and its last answer."""

    def __init__(
        self, source: connections.Exec, cluster: str, clock: clocks.Clock, *, timeout: float
    ) -> None:
        self._source = source
        self._cluster = cluster
        self._clock = clock
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._proof: Proof | None = None
        self._expires: datetime | None = None

    async def prove(self) -> Proof:
        """Return the program's answer; the program runs once however many ask."""
        async with self._lock:
            if self._proof is None or self._is_expired():
                output = await self._run()
                self._proof, self._expires = parse_credential(
                    output, self._source.api_version, cluster=self._cluster
                )
            return self._proof

    def forget(self, proof: Proof) -> bool:
        """Have the program asked again, unless somebody else already has."""
        if self._proof is proof:
            self._proof = None
        return True

    def _is_expired(self) -> bool:
        return self._expires is not None and self._clock.now() >= self._expires - _EARLY

    async def _run(self) -> bytes:
        program = shutil.which(self._source.command)
        if program is None:
            raise errors.user_error(
                f"cluster {self._cluster}: the credential program {self._source.command}"
                " was not found",
                hint=self._source.install_hint or "install it, or put it on PATH",
            )
        info = {"KUBERNETES_EXEC_INFO": exec_info(self._source)}
        try:
            finished = await subprocesses.run(
                [program, *self._source.arguments],
                environment={**os.environ, **self._source.environment, **info},
                timeout=timedelta(seconds=self._timeout),
                largest=_LARGEST_OUTPUT,
            )
        except errors.UserError as error:
            raise self._failed(f"failed: {error}") from error
        if finished.code:
            said = finished.complaint[-_LONGEST_COMPLAINT:]
            raise self._failed(f"ended with code {finished.code}{said and f': {said}'}")
        return finished.output

    def _failed(self, how: str) -> api_errors.CredentialsMissing:
        return api_errors.CredentialsMissing(
            errors.Problem(
                f"cluster {self._cluster}: the credential program {self._source.command} {how}",
                hint="run it by hand; perhaps you have to log in again",
            )
        )


def exec_info(source: connections.Exec) -> str:
    """Return what the program gets in ``KUBERNETES_EXEC_INFO``."""
    spec: dict[str, object] = {"interactive": False}
    if source.cluster_info is not None:
        spec["cluster"] = source.cluster_info
    info = {"kind": "ExecCredential", "apiVersion": source.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()


def parse_credential(
    output: bytes, api_version: str, *, cluster: str
) -> tuple[Proof, datetime | None]:
    """Read what a plugin printed, of the version that was asked for, and when it expires.

    Raises:
        errors.UserError: It is not an answer that can be used.
    """
    try:
        answer = json.decode(output, _ExecCredential)
    except json.UNREADABLE as error:
        raise errors.user_error(
            f"cluster {cluster}: the credential program did not print an ExecCredential"
        ) from error
    if answer.kind != "ExecCredential" or answer.api_version != api_version:
        raise errors.user_error(
            f"cluster {cluster}: the credential program answered {answer.kind or 'something'}"
            f" {answer.api_version}, but the kubeconfig asks for {api_version}",
            hint="update the program, or change the apiVersion of exec in the kubeconfig",
        )
    status = answer.status
    if status is None or not (status.token or status.client_certificate_data):
        raise errors.user_error(
            f"cluster {cluster}: the credential program answered without token or certificate"
        )
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise errors.user_error(
            f"cluster {cluster}: the credential program answered with a certificate without"
            " its key, or the other way round"
        )
    proof = Proof(
        f"Bearer {status.token}" if status.token else "",
        status.client_certificate_data.encode(),
        status.client_key_data.encode(),
    )
    expires = status.expiration_timestamp
    if expires is not None and expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return proof, expires


def authenticator_for(
    source: connections.Credentials, *, cluster: str, clock: clocks.Clock, exec_timeout: float
) -> Authenticator:
    """Return the authenticator for `source`; `exec_timeout` is in seconds."""
    match source:
        case connections.TokenFile():
            return TokenFileAuthenticator(source, cluster, clock)
        case connections.Exec():
            return ExecPlugin(source, cluster, clock, timeout=exec_timeout)
        case connections.Anonymous():
            return FixedCredentials(Proof())
        case connections.Token():
            return FixedCredentials(Proof(f"Bearer {source.token}"))
        case connections.Basic():
            pair = base64.b64encode(f"{source.username}:{source.password}".encode())
            return FixedCredentials(Proof(f"Basic {pair.decode()}"))
        case _:
            assert_never(source)
