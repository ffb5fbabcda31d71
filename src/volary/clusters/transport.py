"""Sending requests to one API server over one pooled session.

Everything that is the same for every request happens here: credentials, TLS, limits on
concurrency and size, retries, the breaker, and the translation of failures.
"""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import aiohttp
import msgspec

import volary
from volary.clusters import breaker, credentials, requests, retries, settings
from volary.clusters import errors as cluster_errors
from volary.model import clock as clocks
from volary.model import errors, json

_UNAUTHORIZED = 401
_FAILURE = 400
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may use of a cluster and of this machine."""

    #: Requests under way at once, watches aside.
    concurrency: int = 16
    #: Seconds for one request, its answer included.
    timeout: float = 30.0
    connect_timeout: float = 5.0
    #: Bytes of one answer.
    largest_answer: int = 64 << 20
    retry: retries.Policy = field(default_factory=retries.Policy)
    circuit: breaker.Rules = field(default_factory=breaker.Rules)


class Transport:
    """One API server: `send` for answers, `stream` for watches."""

    def __init__(
        self,
        connection: settings.Connection,
        *,
        limits: Limits,
        clock: clocks.Clock,
        chance: Callable[[], float],
    ) -> None:
        self.connection = connection
        self.limits = limits
        self._clock = clock
        self._chance = chance
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._breaker = breaker.Breaker(limits.circuit)
        self._authenticator = credentials.authenticator(
            connection.credentials, cluster=connection.name, clock=clock
        )
        self._headers = [
            ("User-Agent", f"volary/{volary.__version__}"),
            *credentials.impersonation_headers(connection.impersonation),
        ]
        self._session: aiohttp.ClientSession | None = None
        self._session_proof = credentials.Proof()
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, request: requests.Request) -> json.JsonObject:
        """Send a request, again where that is safe, and return its answer.

        Raises:
            errors.VolaryError: One of `clusters.errors`, or UserError about credentials.
        """
        tried = 0
        while True:
            tried += 1
            try:
                return await self._attempt(request)
            except errors.VolaryError as error:
                decision = retries.decide(
                    self.limits.retry,
                    error,
                    tried=tried,
                    idempotent=request.idempotent,
                    chance=self._chance(),
                )
                if not decision.again:
                    raise
            await asyncio.sleep(decision.delay.total_seconds())

    async def _attempt(self, request: requests.Request) -> json.JsonObject:
        async with self._slots, self._answer(request, self._timeout(self.limits.timeout)) as answer:
            body = await self._read(answer, request.what)
            return _decode(body, request.what)

    @asynccontextmanager
    async def stream(
        self, request: requests.Request, *, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an endless answer and yield its lines; `silence` seconds without a byte end it."""
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.limits.connect_timeout, sock_read=silence
        )
        async with self._answer(request, timeout) as answer:
            yield self._lines(answer, request.what)

    async def _lines(self, answer: aiohttp.ClientResponse, what: str) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
            if len(rest) > self.limits.largest_answer:
                raise cluster_errors.TooLarge(f"{what}: an event is larger than we read")

    @asynccontextmanager
    async def _answer(
        self, request: requests.Request, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send once (twice after a 401 that fresh credentials may mend); yield a success."""
        refusal = self._breaker.refusal(self._now())
        if refusal:
            raise cluster_errors.Unreachable(
                f"cluster {self.connection.name} {refusal}", sent=False
            )
        try:
            async with self._exchange(request, timeout) as answer:
                self._breaker.succeeded()
                if answer.status < _FAILURE:
                    yield answer
                    return
                error = await self._refused(answer, request.what)
                retry = answer.status == _UNAUTHORIZED and self._authenticator.forget()
            if not retry:
                raise error
            async with self._exchange(request, timeout) as answer:
                if answer.status >= _FAILURE:
                    raise await self._refused(answer, request.what)
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            error = unreachable(failure, self.connection, request.what)
            self._breaker.failed(self._now(), short_cause(failure))
            raise error from failure
        except asyncio.CancelledError:
            self._breaker.abandoned()
            raise

    @asynccontextmanager
    async def _exchange(
        self, request: requests.Request, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        proof = await self._authenticator.prove()
        session = await self._open(proof)
        headers = [*self._headers, ("Accept", request.accept)]
        if proof.authorization:
            headers.append(("Authorization", proof.authorization))
        if request.content_type:
            headers.append(("Content-Type", request.content_type))
        async with session.request(
            request.method,
            self.connection.server + request.path,
            params=request.query or None,
            data=request.body,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            proxy=self.connection.proxy_url or None,
            server_hostname=self.connection.tls.server_name or None,
        ) as answer:
            yield answer

    async def _open(self, proof: credentials.Proof) -> aiohttp.ClientSession:
        """Return the session; a new one when an exec plugin gave another certificate."""
        async with self._opening:
            same = proof.certificate == self._session_proof.certificate
            if self._session is not None and same:
                return self._session
            await self.close()
            self._session_proof = proof
            connector = aiohttp.TCPConnector(
                limit=0,  # `_slots` limits requests; watches come on top
                ssl=tls_context(self.connection, proof) if self._is_tls else False,
                ttl_dns_cache=60,
                keepalive_timeout=60,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Content-Type", "User-Agent"),
                auto_decompress=True,
            )
            return self._session

    @property
    def _is_tls(self) -> bool:
        return self.connection.server.startswith("https://")

    def _timeout(self, seconds: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(total=seconds, sock_connect=self.limits.connect_timeout)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _read(self, answer: aiohttp.ClientResponse, what: str) -> bytes:
        announced = answer.content_length or 0
        if announced > self.limits.largest_answer:
            raise cluster_errors.TooLarge(f"{what}: the answer is larger than we read")
        if announced:
            return await answer.read()
        chunks: list[bytes] = []
        size = 0
        async for chunk in answer.content.iter_chunked(_CHUNK):
            size += len(chunk)
            if size > self.limits.largest_answer:
                raise cluster_errors.TooLarge(f"{what}: the answer is larger than we read")
            chunks.append(chunk)
        return b"".join(chunks)

    async def _refused(self, answer: aiohttp.ClientResponse, what: str) -> errors.VolaryError:
        body: json.JsonObject = {}
        raw = await answer.content.read(_CHUNK * 4)
        if raw.startswith(b"{"):
            try:
                body = msgspec.json.decode(raw, type=dict)
            except msgspec.DecodeError:
                body = {}
        delay = retry_after(answer.headers.get("Retry-After", ""), self._clock.now())
        return cluster_errors.translate(answer.status, body, what=what, delay=delay)


def _decode(body: bytes, what: str) -> json.JsonObject:
    try:
        return msgspec.json.decode(body, type=dict)
    except msgspec.DecodeError as error:
        raise cluster_errors.ServerError(f"{what}: the answer is not JSON", status=0) from error


def retry_after(header: str, now: datetime) -> timedelta | None:
    """Read a Retry-After header, seconds or a date; None when there is none."""
    if header.isdigit():
        return timedelta(seconds=int(header))
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(when - now, timedelta(0))


def unreachable(
    failure: BaseException, connection: settings.Connection, what: str
) -> cluster_errors.Unreachable:
    """Say why no answer came, in words for people."""
    cause = short_cause(failure)
    sent = not isinstance(failure, aiohttp.ClientConnectorError)
    return cluster_errors.Unreachable(
        f"cluster {connection.name} at {connection.server}: {cause} ({what})", sent=sent
    )


_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, "its certificate is not trusted"),
    (aiohttp.ClientConnectorDNSError, "its host name cannot be resolved"),
    (aiohttp.ClientSSLError, "the TLS connection failed"),
    (aiohttp.ClientHttpProxyError, "the proxy refused"),
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "connection refused"),
)


def short_cause(failure: BaseException) -> str:
    """Name the cause of a failed exchange."""
    for kind, cause in _CAUSES:
        if isinstance(failure, kind):
            return cause
    if isinstance(failure, aiohttp.ClientConnectorError):
        return short_cause(failure.os_error) if failure.os_error.errno else "cannot connect"
    return "the connection broke"


def tls_context(connection: settings.Connection, proof: credentials.Proof) -> ssl.SSLContext:
    """Return the TLS context for a connection.

    Raises:
        errors.UserError: A certificate or key cannot be read.
    """
    tls = connection.tls
    context = ssl.create_default_context()
    try:
        if tls.authorities:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cadata=tls.authorities.decode())
        if tls.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = proof.certificate or tls.certificate
        if certificate:
            _load_pair(context, certificate, proof.key or tls.key)
    except (ssl.SSLError, ValueError) as error:
        raise errors.user_error(
            f"cluster {connection.name}: a certificate or key is not valid PEM, or they do not"
            " belong together",
            hint="check certificate-authority, client-certificate and client-key in the kubeconfig",
        ) from error
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate: the ssl module reads it from files only."""
    with tempfile.TemporaryDirectory(prefix="volary-") as directory:  # mode 0700
        pair = Path(directory) / "pair.pem"
        pair.touch(mode=0o600)
        pair.write_bytes(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(pair)
