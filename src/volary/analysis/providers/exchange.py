"""Sending a request and receiving its answer: bounded in time, size, number and repetition."""

import asyncio
import base64
import contextlib
import ssl
import stat
import urllib.request
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import aiohttp
import yarl

from volary.analysis.providers import query, secrets
from volary.analysis.providers.dialects import dialect
from volary.http_client import answers
from volary.model import clocks, errors, metric_providers


def tls_context(settings: metric_providers.ProviderTls) -> ssl.SSLContext:
    """Return the TLS context for a provider; made anew only when one of its files changed.

    Raises:
        errors.UserError: A file cannot be read, or is no certificate or key.
    """
    files = (settings.ca_file, settings.cert_file, settings.key_file)
    try:
        found = [Path(file).stat() for file in files if file]
        if not all(stat.S_ISREG(status.st_mode) for status in found):
            raise OSError("a pipe would be waited for")
        times = tuple(status.st_mtime_ns for status in found)
        return _tls_context(settings, times)
    except (OSError, ssl.SSLError, ValueError) as error:
        names = ", ".join(file for file in files if file)
        reason = "is not valid PEM" if isinstance(error, ssl.SSLError) else "cannot be read"
        raise errors.user_error(f"cannot be asked: one of {names} {reason}") from None


@lru_cache(maxsize=64)
def _tls_context(settings: metric_providers.ProviderTls, times: tuple[int, ...]) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=settings.ca_file or None)
    if settings.insecure_skip_verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if settings.cert_file:
        # Without a password OpenSSL would ask for one on the terminal.
        made.load_cert_chain(settings.cert_file, settings.key_file or None, password="")
    return made


LARGEST_ANSWER = 4 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_TRIES = 3
_FIRST_PAUSE = 0.5
#: A provider that asks for more is asked again after this all the same.
_LONGEST_PAUSE = timedelta(minutes=5)
#: Answers that may be better a moment later.
_PASSING = frozenset({408, 429, 502, 503, 504})
_REFUSED = frozenset({401, 403})
_NOT_FOUND = 404
_EVERYONE = {"Accept": "application/json", "User-Agent": "volary"}
#: Of a token's lifetime, left for the way and for clocks that differ.
_GRANT_MARGIN = timedelta(minutes=1)
_NO_ADDRESS = "has no address that can be asked"


class _PassingError(Exception):
    """It may be better a moment later."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        #: How many seconds the provider asked to be left alone; None: it did not.
        self.pause = pause


@dataclass(slots=True)
class Exchange:
    """The client of one provider."""

    settings: metric_providers.Provider
    secrets: secrets.Secrets
    session: aiohttp.ClientSession
    clock: clocks.Clock
    _turns: asyncio.Semaphore = field(init=False)
    #: In the loop's time: not asked before.
    _rests_until: float = 0.0
    #: One that was granted, and until when it is used, in the loop's time.
    _token: tuple[str, float] | None = None
    _granting: asyncio.Lock = field(default_factory=asyncio.Lock)
    #: By host; there are only those of the settings.
    _proxies: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.settings.concurrency)

    async def ask(self, asked: query.Query) -> list[dialect.Points]:
        """Ask, again where that may help, and return the series of the answer.

        Raises:
            dialect.AnswerError: There is none that could be read; says why, to follow the name.
        """
        seconds = asked.timeout.total_seconds()
        troubles: list[_PassingError] = []
        try:
            async with asyncio.timeout(seconds), self._turns:
                return await self._repeat(asked, troubles)
        except TimeoutError:
            if troubles:
                message = f"{troubles[-1]}, and had no better answer within {seconds:g} seconds"
                raise dialect.AnswerError(message) from None
            raise dialect.AnswerError(f"gave no answer within {seconds:g} seconds") from None
        except errors.UserError as error:
            message = " and ".join(problem.message for problem in error.problems)
            raise dialect.AnswerError(message) from None

    async def _repeat(
        self, asked: query.Query, troubles: list[_PassingError]
    ) -> list[dialect.Points]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + asked.timeout.total_seconds()
        pause = _FIRST_PAUSE
        for left in range(_TRIES - 1, -1, -1):
            await self._rest(deadline)
            try:
                return await self._once(asked)
            except _PassingError as error:
                troubles.append(error)
                asked_for = error.pause
            if asked_for is not None:
                self._rests_until = max(self._rests_until, loop.time() + asked_for)
            elif left:
                await asyncio.sleep(pause)
                pause *= 2
        raise dialect.AnswerError(f"{troubles[-1]}, {_TRIES} times")

    async def _rest(self, deadline: float) -> None:
        """Leave the provider alone for as long as it asked for; all questions do."""
        loop = asyncio.get_running_loop()
        left = self._rests_until - loop.time()
        if left <= 0:
            return
        if self._rests_until >= deadline:
            raise dialect.AnswerError(
                f"has too much to do, and asked to be left alone for {left:.0f} s"
            )
        await asyncio.sleep(left)

    async def _once(self, asked: query.Query) -> list[dialect.Points]:
        from volary.analysis.providers.dialects import registry  # every dialect: once one is asked

        spoken = registry.make(query.points_of(self.settings, asked), asked)
        request = spoken.request(self.secrets.reveal, self.clock.now())
        url = _url(self.settings.access.address_of(asked.target), request)
        tls = self.settings.access.tls
        headers = {**self._headers(), **await self._granted(spoken), **request.headers}
        sent = self._sent(request.method, url, headers, request.body, tls)
        async with sent as answer:
            if answer.status in _REFUSED:
                self._token = None
            return list(spoken.read(await self._receive(answer, spoken)))

    async def _granted(self, spoken: dialect.Dialect[Any]) -> dict[str, str]:
        """Return the header with the token that has to be asked for; nothing where none has."""
        now = asyncio.get_running_loop().time()
        async with self._granting:
            if self._token is None or self._token[1] <= now:
                grant = spoken.grant(self.secrets.reveal_document, self.clock.now())
                if grant is None:
                    return {}
                token = await self._ask_for_token(grant, spoken)
                self.secrets.learn(token.value)
                lasts = token.lifetime - _GRANT_MARGIN
                self._token = token.value, now + lasts.total_seconds()
            return {"Authorization": f"Bearer {self._token[0]}"}

    async def _ask_for_token(
        self, grant: dialect.Grant, spoken: dialect.Dialect[Any]
    ) -> dialect.Token:
        """Ask for a token; the provider's own certificates and headers are not for this."""
        try:
            url = yarl.URL(grant.address)
        except ValueError:
            raise dialect.AnswerError(_NO_ADDRESS) from None
        headers = {**_EVERYONE, **grant.headers}
        tls = metric_providers.ProviderTls()
        try:
            async with self._sent(grant.method, url, headers, grant.body, tls) as answer:
                return spoken.read_token(await self._receive(answer, spoken))
        except dialect.AnswerError as error:
            raise dialect.AnswerError(f"got no token from {url.host}: it {error}") from None
        except _PassingError as error:
            message = f"got no token from {url.host}: it {error}"
            raise _PassingError(message, error.pause) from None

    @contextlib.asynccontextmanager
    async def _sent(
        self,
        method: str,
        url: yarl.URL,
        headers: Mapping[str, str],
        body: bytes | None,
        tls: metric_providers.ProviderTls,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, and give its answer as long as it is read."""
        try:
            async with self.session.request(
                method,
                url,
                proxy=self._proxy(url),
                headers=headers,
                data=body,
                ssl=tls_context(tls),
                server_hostname=tls.server_name or None,
                allow_redirects=False,
            ) as answer:
                yield answer
        except aiohttp.ClientConnectorCertificateError:
            raise dialect.AnswerError(
                "has a certificate that is not trusted, or for another name"
            ) from None
        except aiohttp.InvalidURL:
            raise dialect.AnswerError(_NO_ADDRESS) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _PassingError(f"could not be reached ({_reason(error)})") from None

    async def _receive(self, answer: aiohttp.ClientResponse, spoken: dialect.Dialect[Any]) -> bytes:
        """Return the body of a good answer."""
        if answer.status == 200:
            try:
                return await answers.read_whole(answer, LARGEST_ANSWER)
            except answers.TooLargeError:
                raise dialect.AnswerError(
                    f"answered with more than {LARGEST_ANSWER // 1024**2} MiB: ask for less"
                ) from None
        if 300 <= answer.status < 400:
            raise dialect.AnswerError(
                f"answered {answer.status}: redirects are not followed, write the address they"
                " lead to"
            )
        said = spoken.explain(await answers.read_beginning(answer, _LARGEST_ERROR))
        if answer.status == _NOT_FOUND and not said:
            said = "is the address right?"
        message = f"answered {answer.status}" + (f": {said}" if said else "")
        if answer.status in _REFUSED:
            raise dialect.AnswerError(f"refused the credentials ({message})")
        if answer.status in _PASSING:
            delay = answers.retry_after(answer.headers, self.clock.now())
            pause = None if delay is None else min(delay, _LONGEST_PAUSE).total_seconds()
            raise _PassingError(message, pause)
        raise dialect.AnswerError(message)

    def _proxy(self, url: yarl.URL) -> str | None:
        """Return the proxy that the environment names, as for other programs.

        aiohttp would look it up for every request, and take credentials from ``~/.netrc`` besides.
        """
        host = url.host or ""
        if host not in self._proxies:
            proxy = urllib.request.getproxies_environment().get(url.scheme)
            self._proxies[host] = None if urllib.request.proxy_bypass(host) else proxy
        return self._proxies[host]

    def _headers(self) -> dict[str, str]:
        access, reveal = self.settings.access, self.secrets.reveal
        headers = {**_EVERYONE, **access.headers}
        headers.update({name: reveal(secret) for name, secret in access.secret_headers.items()})
        if access.token:
            headers["Authorization"] = f"Bearer {reveal(access.token)}"
        elif access.password:
            name = access.literal_username or reveal(access.username)
            pair = base64.b64encode(f"{name}:{reveal(access.password)}".encode()).decode()
            self.secrets.learn(pair)
            headers["Authorization"] = f"Basic {pair}"
        return headers


def new_session(settings: metric_providers.Provider) -> aiohttp.ClientSession:
    """Return a client for a provider; each question has a timeout of its own."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=settings.concurrency, keepalive_timeout=30),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _url(address: str, request: dialect.Request) -> yarl.URL:
    try:
        base = yarl.URL(address)
    except ValueError:
        raise dialect.AnswerError(_NO_ADDRESS) from None
    path = f"{base.path.rstrip('/')}{request.path}" or "/"
    return base.with_path(path).with_query([*base.query.items(), *request.parameters])


def _reason(error: Exception) -> str:
    """Say what went wrong without words that repeat the address."""
    inner = error.__cause__ or error
    if isinstance(inner, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    if isinstance(inner, ConnectionRefusedError) or isinstance(
        getattr(error, "os_error", None), ConnectionRefusedError
    ):
        return "connection refused"
    return type(error).__name__
