"""Sending requests to one API server over one pooled session.

Everything that is the same for every request happens here: credentials, limits on
concurrency, size and time, retries, the breaker, and the translation of failures.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import aiohttp
import yarl

import volary
from volary.clusters.api import api_errors, requests, server_warnings
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import (
    authenticators,
    circuit_breaker,
    impersonation_refusals,
    retries,
    sessions,
    stop_deadline,
    write_permits,
)
from volary.http_client import answers
from volary.model import clocks, errors, json
from volary.telemetry import spans

_UNAUTHORIZED = 401
_NOT_FOUND = 404
_REFUSED = 300
#: A gateway's words that nobody is behind it; an API server sends a Status with them.
_GATEWAY = frozenset({502, 503, 504})
#: Far more than a Status needs.
_LARGEST_REFUSAL = 1 << 18


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may use of a cluster and of this machine."""

    #: Requests under way at once, watches aside.
    concurrency: int = 16
    #: Seconds for one try of a request, its answer included.
    timeout: float = 30.0
    connect_timeout: float = 5.0
    #: Seconds that a read still gets once its task has to stop (`stop_deadline`).
    stop_grace: float = 5.0
    #: Seconds for a program that prints credentials.
    exec_timeout: float = 60.0
    #: Seconds between two refreshes of discovery that unknown kinds may cause.
    discovery_pause: float = 2.0
    #: Bytes of one answer.
    largest_answer: int = 64 << 20
    retry: retries.Policy = field(default_factory=retries.Policy)
    circuit: circuit_breaker.Rules = field(default_factory=circuit_breaker.Rules)


@dataclass(slots=True)
class _LastAnswer:
    """When a cluster last answered, as it should."""

    #: In the loop's time.
    at: float = float("-inf")


@dataclass(frozen=True, slots=True)
class _Exchange:
    answer: aiohttp.ClientResponse
    opened: sessions.Opened


#: Returns why a request may not be sent now, a sentence; empty: it may.
Refusal = Callable[[], str]


def _nothing_refused() -> str:
    return ""


class Transport:
    """One API server: `send` for answers, `stream` for watches."""

    def __init__(
        self,
        connection: connections.Connection,
        *,
        limits: Limits,
        clock: clocks.Clock,
        chance: Callable[[], float],
        on_change: circuit_breaker.OnChange = lambda _trouble: None,
        permit: write_permits.Current = lambda: write_permits.UNCONDITIONAL,
    ) -> None:
        self._permit = permit
        self.connection = connection
        self.limits = limits
        self._clock = clock
        self._chance = chance
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._timeout = aiohttp.ClientTimeout(
            total=limits.timeout, sock_connect=limits.connect_timeout
        )
        self._breaker = circuit_breaker.CircuitBreaker(limits.circuit, on_change)
        self._last_answer = _LastAnswer()
        self._authenticator = authenticators.authenticator_for(
            connection.credentials,
            cluster=connection.name,
            clock=clock,
            exec_timeout=limits.exec_timeout,
        )
        self._impersonation = authenticators.impersonation_headers(connection.impersonation)
        agent = ("User-Agent", f"volary/{volary.__version__}")
        self._sessions = sessions.Sessions(connection, [agent])

    def acting_as(self, who: connections.Impersonation) -> "Transport":
        """Return a transport over the same connections for requests on behalf of somebody else.

        Limits, the breaker and credentials are the same: it is one cluster, and one that asks. It
        is closed with this one. An impersonation of the kubeconfig does not hold for it, since
        nobody is impersonated on behalf of somebody impersonated (`kubectl --as` does the same).
        """
        view = copy.copy(self)
        view.connection = replace(self.connection, impersonation=who)
        view._impersonation = authenticators.impersonation_headers(who)
        return view

    @property
    def answered(self) -> float:
        """When the cluster last answered, as it should, in the loop's time."""
        return self._last_answer.at

    @property
    def trouble(self) -> str:
        """Why the cluster does not answer at present; empty: as far as is known it does."""
        return self._breaker.trouble

    async def close(self) -> None:
        """Close all connections."""
        await self._sessions.close()

    async def send(
        self, request: requests.Request, *, refusal: Refusal = _nothing_refused
    ) -> json.JsonObject:
        """Send a request, again where that is safe, and return its answer.

        `refusal` is asked right before each try is sent, and says why it may not be.

        Raises:
            errors.VolaryError: One of `api_errors`, or UserError about credentials.
        """
        began = _now()
        tried = 0
        while True:
            tried += 1
            try:
                return await self._attempt(request, refusal)
            except errors.VolaryError as error:
                delay = retries.next_delay(
                    self.limits.retry,
                    error,
                    tried=tried,
                    idempotent=request.idempotent,
                    elapsed=timedelta(seconds=_now() - began),
                    chance=self._chance(),
                )
                if delay is None or not await stop_deadline.sleep(delay):
                    raise

    async def _attempt(self, request: requests.Request, refusal: Refusal) -> json.JsonObject:
        if request.changes:
            return await self._write(request, refusal)
        if request.method != "GET":
            return await self._once(request, refusal)
        try:
            async with stop_deadline.limited(self.limits.stop_grace):
                return await self._once(request, refusal)
        except TimeoutError as late:
            raise sessions.translate_failure(late, self.connection, request.what) from late

    async def _write(self, request: requests.Request, refusal: Refusal) -> json.JsonObject:
        """Send once what changes something, when this process may write."""
        while True:
            permit = write_permits.Both(self._permit())
            await permit.wait()
            try:
                with write_permits.required(permit):
                    return await self._once(request, refusal)
            except write_permits.LapsedError:
                continue  # nothing was sent

    async def _once(self, request: requests.Request, refusal: Refusal) -> json.JsonObject:
        async with self._slots:
            if why := refusal():
                raise api_errors.Refused(f"{request.what}: {why}")
            async with self._answer(request, self._timeout) as answer:
                try:
                    body = await answers.read_whole(answer, self.limits.largest_answer)
                except answers.TooLargeError:
                    raise _too_large(request.what) from None
                return _decode(body, request.what)

    async def check(self, request: requests.Request, *, timeout: float) -> None:
        """Send a request once and return when it is answered with success, whatever it says.

        It goes past the queue and the circuit: it is what finds out whether a cluster that is
        left alone is back, and its answer counts for the circuit too.

        Raises:
            errors.VolaryError: One of `api_errors`, or UserError about credentials.
        """
        limits = aiohttp.ClientTimeout(
            total=timeout, sock_connect=min(timeout, self.limits.connect_timeout)
        )
        async with self._answer(request, limits, circuit_breaker.Admission()) as answer:
            await answers.read_beginning(answer, _LARGEST_REFUSAL)

    @asynccontextmanager
    async def stream(
        self, request: requests.Request, *, silence: float, longest_line: int = 0
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """Open an endless answer and yield its lines; `silence` seconds without a byte end it.

        A line of more than `longest_line` bytes is an error; 0: of more than an answer may have.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.limits.connect_timeout, sock_read=silence
        )
        async with self._answer(request, timeout) as answer:
            yield self._lines(answer, request.what, longest_line or self.limits.largest_answer)

    async def _lines(
        self, answer: aiohttp.ClientResponse, what: str, longest_line: int
    ) -> AsyncGenerator[bytes, None]:
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
            if len(rest) > longest_line:
                raise _too_large(what)

    @asynccontextmanager
    async def _answer(
        self,
        request: requests.Request,
        timeout: aiohttp.ClientTimeout,
        admission: circuit_breaker.Admission | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a successful answer; every other end is an error of `api_errors`."""
        admission = admission or self._admit()
        try:
            exchange = await self._accepted(request, timeout, admission)
            try:
                yield exchange.answer
            finally:
                await self._end(exchange)
        except (aiohttp.ClientError, OSError) as failure:
            self._breaker.failed(admission, _now(), sessions.failure_cause(failure))
            raise sessions.translate_failure(failure, self.connection, request.what) from failure
        finally:
            self._breaker.abandoned(admission)

    def _admit(self) -> circuit_breaker.Admission:
        admission = self._breaker.admit(_now())
        if admission.refusal:
            raise api_errors.CircuitOpen(
                f"cluster {self.connection.name} {self.connection.place} {admission.refusal}",
                reason=api_errors.UnreachableReason.CIRCUIT_OPEN,
                sent=False,
                delay=timedelta(seconds=admission.wait),
            )
        return admission

    async def _accepted(
        self,
        request: requests.Request,
        timeout: aiohttp.ClientTimeout,
        admission: circuit_breaker.Admission,
    ) -> _Exchange:
        """Send once, twice after a 401 that fresh credentials may mend; return a success."""
        proof = await self._authenticator.prove()
        exchange = await self._exchange(request, timeout, proof)
        if exchange.answer.status == _UNAUTHORIZED and self._authenticator.forget(proof):
            await self._end(exchange)
            proof = await self._authenticator.prove()
            exchange = await self._exchange(request, timeout, proof)
        if exchange.answer.status < _REFUSED:
            self._breaker.succeeded()
            self._last_answer.at = _now()
            if request.method != "GET":
                server_warnings.hear(exchange.answer.headers.getall("Warning", ()))
            return exchange
        try:
            raise await self._refused(exchange.answer, request.what, admission)
        finally:
            await self._end(exchange)

    async def _exchange(
        self,
        request: requests.Request,
        timeout: aiohttp.ClientTimeout,
        proof: authenticators.Proof,
    ) -> _Exchange:
        headers = [("Accept", request.accept), *self._impersonation]
        if proof.authorization:
            headers.append(("Authorization", proof.authorization))
        if request.content_type:
            headers.append(("Content-Type", request.content_type))
        about = {"volary.cluster": self.connection.name, "url.path": request.path}
        with spans.span(request.method, about, kind=spans.Kind.CLIENT) as span:
            exchange = await self._sent(request, headers, timeout, proof)
            status = exchange.answer.status
            span.describe({"http.response.status_code": status})
            # That something is not there is what many look for.
            if status >= _REFUSED and (request.method, status) != ("GET", _NOT_FOUND):
                span.fail(str(status))
        return exchange

    async def _sent(
        self,
        request: requests.Request,
        headers: list[tuple[str, str]],
        timeout: aiohttp.ClientTimeout,
        proof: authenticators.Proof,
    ) -> _Exchange:
        opened = self._sessions.take(proof)
        try:
            answer = await opened.session.request(
                request.method,
                yarl.URL(self.connection.server + request.target, encoded=True),
                data=request.body,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                proxy=self.connection.proxy_url or None,
                server_hostname=self.connection.tls.server_name or None,
            )
        except BaseException:
            await self._sessions.give_back(opened)
            raise
        return _Exchange(answer, opened)

    async def _end(self, exchange: _Exchange) -> None:
        exchange.answer.release()  # keeps the connection only when all was read
        await self._sessions.give_back(exchange.opened)

    async def _refused(
        self, answer: aiohttp.ClientResponse, what: str, admission: circuit_breaker.Admission
    ) -> errors.VolaryError:
        body = _status(await answers.read_beginning(answer, _LARGEST_REFUSAL))
        if answer.status in _GATEWAY and not body:
            self._breaker.failed(admission, _now(), f"a gateway answers {answer.status}")
        else:
            self._breaker.succeeded()
        delay = answers.retry_after(answer.headers, self._clock.now())
        error = api_errors.translate(answer.status, body, what=what, delay=delay)
        if self._impersonation and isinstance(error, api_errors.Forbidden):
            return impersonation_refusals.explain(error, self.connection)
        return error


def _now() -> float:
    return asyncio.get_running_loop().time()


def _too_large(what: str) -> api_errors.TooLarge:
    return api_errors.TooLarge(f"{what}: the answer is larger than is read")


def _status(raw: bytes) -> json.JsonObject:
    """Return the Kubernetes Status in `raw`; empty when it is something else."""
    try:
        body: json.JsonObject = json.decode(raw, dict)
    except json.UNREADABLE:
        return {}
    return body if body.get("kind") == "Status" else {}


def _decode(body: bytes, what: str) -> json.JsonObject:
    try:
        return json.decode(body, dict)
    except json.UNREADABLE as error:
        raise api_errors.RequestError(
            f"{what}: the answer is not JSON; is this a Kubernetes API server?"
        ) from error
