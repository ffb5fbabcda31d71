"""Credentials at the moment of a request: tokens re-read, programs asked, results cached.

One `Authenticator` per cluster. `headers` is cheap when nothing changed; `forget` is
called after a 401, so that the next request uses fresh credentials.
"""

import asyncio
import base64
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, assert_never
from urllib.parse import quote

import msgspec

from volary.clusters import settings
from volary.model import clock as clocks
from volary.model import errors

#: kubectl and client-go re-read token files about once a minute.
_TOKEN_FILE_AGE = timedelta(minutes=1)
#: Credentials are renewed this long before they expire.
_EARLY = timedelta(seconds=10)
_EXEC_TIMEOUT = 60.0
_LARGEST_OUTPUT = 1 << 20
_EXEC_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a request carries to prove who we are."""

    #: Value of the ``Authorization`` header; empty: none.
    authorization: str = ""
    #: PEM client certificate and key from an exec plugin; empty: those of the settings.
    certificate: bytes = b""
    key: bytes = b""


class Authenticator(Protocol):
    """Gives the proof for the next request."""

    async def prove(self) -> Proof:
        """Return what to send; raises UserError when the user has to mend something."""
        ...

    def forget(self) -> bool:
        """Drop what is cached after a 401; whether another try may have another result."""
        ...


def authenticator(
    credentials: settings.Credentials, *, cluster: str, clock: clocks.Clock
) -> Authenticator:
    """Return the authenticator for a kind of credentials."""
    match credentials:
        case settings.Anonymous():
            return _Fixed(Proof())
        case settings.Token():
            return _Fixed(Proof(f"Bearer {credentials.token}"))
        case settings.Basic():
            pair = f"{credentials.username}:{credentials.password}".encode()
            return _Fixed(Proof(f"Basic {base64.b64encode(pair).decode()}"))
        case settings.TokenFile():
            return _File(credentials, cluster, clock)
        case settings.Exec():
            return _Program(credentials, cluster, clock)
        case _:
            assert_never(credentials)


class _Fixed:
    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    async def prove(self) -> Proof:
        return self._proof

    def forget(self) -> bool:
        return False


class _File:
    def __init__(self, source: settings.TokenFile, cluster: str, clock: clocks.Clock) -> None:
        self._path = Path(source.path)
        self._cluster = cluster
        self._clock = clock
        self._proof = Proof()
        self._read: datetime | None = None

    async def prove(self) -> Proof:
        now = self._clock.now()
        if self._read is None or now - self._read >= _TOKEN_FILE_AGE:
            self._proof = Proof(f"Bearer {self._token()}")
            self._read = now
        return self._proof

    def _token(self) -> str:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise errors.user_error(
                f"cluster {self._cluster}: the token file {self._path} cannot be read:"
                f" {getattr(error, 'strerror', None) or 'not text'}",
                hint="check tokenFile of the user in the kubeconfig",
            ) from error
        if not token:
            raise errors.user_error(f"cluster {self._cluster}: token file {self._path} is empty")
        return token

    def forget(self) -> bool:
        self._read = None
        return True


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _ExecStatus | None = None


class _Program:
    """An exec plugin: asked once, then again when its answer expires or was refused."""

    def __init__(self, source: settings.Exec, cluster: str, clock: clocks.Clock) -> None:
        self._source = source
        self._cluster = cluster
        self._clock = clock
        self._lock = asyncio.Lock()
        self._proof: Proof | None = None
        self._expires: datetime | None = None

    async def prove(self) -> Proof:
        async with self._lock:
            if self._proof is None or self._is_expired():
                answer = parse_answer(
                    await self._ask(), self._source.api_version, cluster=self._cluster
                )
                self._expires = answer.expiration_timestamp
                self._proof = Proof(
                    f"Bearer {answer.token}" if answer.token else "",
                    answer.client_certificate_data.encode(),
                    answer.client_key_data.encode(),
                )
            return self._proof

    def _is_expired(self) -> bool:
        return self._expires is not None and self._clock.now() >= self._expires - _EARLY

    def forget(self) -> bool:
        had = self._proof is not None
        self._proof = None
        return had

    async def _ask(self) -> bytes:
        program = shutil.which(self._source.command)
        if program is None:
            raise errors.user_error(
                f"cluster {self._cluster}: the credential program {self._source.command}"
                " was not found",
                hint=self._source.install_hint or "install it, or put it on PATH",
            )
        environment = {
            **os.environ,
            **self._source.environment,
            "KUBERNETES_EXEC_INFO": exec_info(self._source),
        }
        process = await asyncio.create_subprocess_exec(
            program,
            *self._source.arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(_EXEC_TIMEOUT):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise self._failed(f"gave no answer within {_EXEC_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode or len(output) > _LARGEST_OUTPUT:
            text = complaint.decode(errors="replace").strip()[-300:]
            raise self._failed(f"ended with code {process.returncode}: {text}")
        return output

    def _failed(self, how: str) -> errors.UserError:
        return errors.user_error(
            f"cluster {self._cluster}: the credential program {self._source.command} {how}",
            hint="run it by hand; perhaps you have to log in again",
        )


def exec_info(source: settings.Exec) -> str:
    """Return what the program is told in ``KUBERNETES_EXEC_INFO``."""
    spec: dict[str, object] = {"interactive": False}
    if source.cluster_info is not None:
        spec["cluster"] = source.cluster_info
    info = {"kind": "ExecCredential", "apiVersion": source.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()


def parse_answer(output: bytes, api_version: str, *, cluster: str) -> _ExecStatus:
    """Read what an exec plugin printed, of the version that was asked for."""
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
    except msgspec.DecodeError as error:
        raise errors.user_error(
            f"cluster {cluster}: the credential program did not print an ExecCredential"
        ) from error
    if answer.kind != "ExecCredential" or answer.api_version != api_version:
        raise errors.user_error(
            f"cluster {cluster}: the credential program answered {answer.kind or 'something'}"
            f" {answer.api_version}, but the kubeconfig asks for {api_version}"
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
    return status


def is_known_version(api_version: str) -> bool:
    """Whether an exec plugin of this version can be run."""
    return api_version in _EXEC_VERSIONS


def impersonation_headers(who: settings.Impersonation) -> list[tuple[str, str]]:
    """Return the headers that make requests on behalf of somebody else."""
    headers = [("Impersonate-User", who.user)] if who.user else []
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += _extra_headers(who.extra)
    return headers


def _extra_headers(extra: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [
        (f"Impersonate-Extra-{quote(key, safe='')}", value)
        for key, values in extra.items()
        for value in values
    ]
