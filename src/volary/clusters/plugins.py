"""Exec plugins: programs that print credentials (client.authentication.k8s.io v1, v1beta1).

Asked once, then again when the answer expires or was refused. `exec_info` and
`parse_answer` are pure; `Plugin` runs the program.
"""

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from volary.clusters import settings
from volary.clusters.credentials import Proof
from volary.model import clock as clocks
from volary.model import errors

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


class Plugin:
    """An exec plugin and its last answer."""

    def __init__(
        self, source: settings.Exec, cluster: str, clock: clocks.Clock, *, timeout: float
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
                self._proof, self._expires = parse_answer(
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
        told = {"KUBERNETES_EXEC_INFO": exec_info(self._source)}
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *self._source.arguments,
                env={**os.environ, **self._source.environment, **told},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # it cannot ask on our terminal, and ends as a whole
            )
        except OSError as error:
            raise self._failed(f"cannot be started: {(error.strerror or '').lower()}") from error
        return await self._answer(process)

    async def _answer(self, process: asyncio.subprocess.Process) -> bytes:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(self._timeout):
                output, complaint = await asyncio.gather(
                    _read(process.stdout), _read(process.stderr)
                )
                await process.wait()
        except TimeoutError:
            raise self._failed(f"gave no answer within {self._timeout:.0f} s") from None
        finally:
            await _kill(process)
        if process.returncode:
            said = complaint.decode(errors="replace").strip()[-_LONGEST_COMPLAINT:]
            raise self._failed(f"ended with code {process.returncode}{said and f': {said}'}")
        return output

    def _failed(self, how: str) -> errors.UserError:
        return errors.user_error(
            f"cluster {self._cluster}: the credential program {self._source.command} {how}",
            hint="run it by hand; perhaps you have to log in again",
        )


async def _read(stream: asyncio.StreamReader) -> bytes:
    """Read to the end, keeping no more than a credential can need."""
    kept = b""
    while chunk := await stream.read(1 << 16):
        kept += chunk[: _LARGEST_OUTPUT - len(kept)]
    return kept


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def exec_info(source: settings.Exec) -> str:
    """Return what the program is told in ``KUBERNETES_EXEC_INFO``."""
    spec: dict[str, object] = {"interactive": False}
    if source.cluster_info is not None:
        spec["cluster"] = source.cluster_info
    info = {"kind": "ExecCredential", "apiVersion": source.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()


def parse_answer(output: bytes, api_version: str, *, cluster: str) -> tuple[Proof, datetime | None]:
    """Read what a plugin printed, of the version that was asked for, and when it expires.

    Raises:
        errors.UserError: It is not an answer that can be used.
    """
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
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
    return _proof(status), _aware(status.expiration_timestamp)


def _proof(status: _Status) -> Proof:
    return Proof(
        f"Bearer {status.token}" if status.token else "",
        status.client_certificate_data.encode(),
        status.client_key_data.encode(),
    )


def _aware(moment: datetime | None) -> datetime | None:
    """Take a timestamp without zone as UTC."""
    return moment.replace(tzinfo=UTC) if moment and moment.tzinfo is None else moment
