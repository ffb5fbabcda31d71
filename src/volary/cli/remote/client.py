"""Requests to a server; its refusals become errors that the command line shows."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self
from urllib import parse

import aiohttp

from volary.cli.remote import login
from volary.http_client import answers
from volary.model import errors, json

_PATIENCE = aiohttp.ClientTimeout(total=60, connect=10)
#: Streams last; silence longer than a few heartbeats means that the connection is dead.
_STREAM = aiohttp.ClientTimeout(total=None, connect=10, sock_read=60)
_LARGEST = 64 * 1024 * 1024
_LONGEST_LINE = 4 * 1024 * 1024
#: Tries in a row to come back to a stream, and seconds between them.
_TRIES, _PAUSE = 30, 1.0
#: Seconds after which a command whose connection broke is asked for again.
_ASKED_AGAIN = (0.2, 1.0, 2.0)
#: Statuses that mean "later".
_LATER = (429, 502, 503, 504)

#: Who asks is not known, or their credentials are not valid.
_UNAUTHORIZED = 401

Query = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    id: str
    event: str
    data: json.JsonObject


class Client:
    """The client of one server."""

    def __init__(self, target: login.Target, session: aiohttp.ClientSession) -> None:
        self._base = target.server + "/api/v1/"
        self._server = target.server
        self._session = session

    @classmethod
    @asynccontextmanager
    async def open(cls, target: login.Target) -> AsyncIterator[Self]:
        """Open a connection pool, and close it at the end."""
        headers = {"authorization": f"Bearer {target.token}"} if target.token else {}
        async with aiohttp.ClientSession(
            headers=headers, read_bufsize=_LONGEST_LINE, trust_env=True
        ) as session:
            yield cls(target, session)

    @property
    def address(self) -> str:
        """The server's URL."""
        return self._server

    async def get(self, *path: str, **query: str | int) -> json.JsonObject:
        """Return one answer.

        Raises:
            errors.UserError: It was refused.
            errors.TemporaryError: The server cannot be reached, or not now.
        """
        return await self._ask("GET", path, query)

    async def post(self, *path: str, body: json.JsonObject) -> json.JsonObject:
        """Ask for something once; see `get`.

        When the connection breaks before the answer is there, the same is asked again under the
        same key: the server carries it out once, and answers as it did or would have.
        """
        key = {"idempotency-key": secrets.token_hex(16)}
        may_be_heard = False
        for delay in _ASKED_AGAIN:
            try:
                return await self._ask("POST", path, {}, body, key)
            except _ConnectionBroken as error:
                may_be_heard = may_be_heard or error.was_open
                if not may_be_heard:
                    raise
                await asyncio.sleep(delay)
        return await self._ask("POST", path, {}, body, key)

    async def pages(
        self, *path: str, most: int = 1000, **query: str | int
    ) -> list[json.JsonObject]:
        """Return up to `most` items of a list."""
        entries: list[json.JsonObject] = []
        cursor = ""
        while len(entries) < most:
            page = await self.get(*path, **{**query, "cursor": cursor, "limit": 200})
            entries += page["items"]
            cursor = page["cursor"]
            if not cursor:
                break
        return entries[:most]

    async def stream(self, *path: str, **query: str | int) -> AsyncGenerator[StreamEvent, None]:
        """Yield a stream's events; a connection that breaks is taken up where it was.

        Ends when the server says that there is nothing more to come.
        """
        last, failed = "", 0
        while failed < _TRIES:
            began = last
            try:
                async for piece in self._once(path, query, last):
                    last = piece.id or last
                    failed = 0
                    if piece.event not in ("closing", "dropped"):
                        yield piece
                    if piece.event in ("run-finished", "end"):
                        return
            except (aiohttp.ClientError, TimeoutError, errors.TemporaryError) as error:
                if failed + 1 >= _TRIES or (not began and not last and failed > 2):
                    raise self._unreachable(error) from error
            except EndError:
                return
            failed += 1
            await asyncio.sleep(_PAUSE)

    async def _once(
        self, path: tuple[str, ...], query: Query, last: str
    ) -> AsyncIterator[StreamEvent]:
        headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {})}
        async with self._session.get(
            self._url(path),
            params=_filled(query),
            headers=headers,
            timeout=_STREAM,
            allow_redirects=False,
        ) as answer:
            if answer.status == 204:
                raise EndError
            await _check(answer)
            fields: dict[str, str] = {}
            async for raw in answer.content:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                if not line:
                    if "data" in fields:
                        yield _stream_event(fields)
                    fields = {}
                elif not line.startswith(":"):
                    key, _, value = line.partition(": ")
                    fields[key] = value

    async def _ask(
        self,
        method: str,
        path: tuple[str, ...],
        query: Query,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> json.JsonObject:
        try:
            async with self._session.request(
                method,
                self._url(path),
                params=_filled(query),
                timeout=_PATIENCE,
                allow_redirects=False,
                json=body,
                headers=headers,
            ) as answer:
                await _check(answer)
                return _object(await answers.read_whole(answer, _LARGEST))
        except answers.TooLargeError:
            raise errors.PermanentError("the server's answer is too large") from None
        except (
            aiohttp.ServerDisconnectedError,
            aiohttp.ClientPayloadError,
            aiohttp.ClientOSError,
        ) as error:
            was_open = not isinstance(error, aiohttp.ClientConnectorError)
            raise _ConnectionBroken(str(self._unreachable(error)), was_open=was_open) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._unreachable(error) from error

    def _url(self, path: tuple[str, ...]) -> str:
        return self._base + "/".join(parse.quote(segment, safe="") for segment in path)

    def _unreachable(self, error: Exception) -> errors.TemporaryError:
        why = "it does not answer in time" if isinstance(error, TimeoutError) else str(error)
        return errors.TemporaryError(f"the server {self._server} cannot be used: {why}")


class _ConnectionBroken(errors.TemporaryError):
    """There is no answer; a request that found the connection open may have been heard."""

    def __init__(self, reason: str, *, was_open: bool) -> None:
        super().__init__(reason)
        self.was_open = was_open


class EndError(Exception):
    """A stream has nothing more to come."""


def _filled(query: Query) -> dict[str, str]:
    return {key: str(value) for key, value in query.items() if value != ""}


async def _check(answer: aiohttp.ClientResponse) -> None:
    if answer.status < 300:
        return
    try:
        said = json.decode(await answers.read_beginning(answer, _LARGEST))
    except json.UNREADABLE:
        said = {}
    document = said if isinstance(said, dict) else {}
    detail = str(document.get("detail") or f"the server answered {answer.status}")
    if answer.status in _LATER:
        raise errors.TemporaryError(detail)
    if answer.status == _UNAUTHORIZED:
        # Whatever other programs are told to send: here there is a command for it.
        first = "unset VOLARY_TOKEN, then " if os.environ.get("VOLARY_TOKEN") else ""
        document["hint"] = f"{first}volary login {answer.url.origin()}"
    listed = document.get("problems") or [{"message": detail, "hint": document.get("hint", "")}]
    raise errors.UserError(*(_problem(problem) for problem in listed if isinstance(problem, dict)))


def _problem(document: Mapping[str, object]) -> errors.Problem:
    where = str(document.get("where") or "")
    return errors.Problem(
        str(document.get("message", "")),
        where=errors.Location(path=where),
        hint=str(document.get("hint") or ""),
    )


def _stream_event(fields: Mapping[str, str]) -> StreamEvent:
    return StreamEvent(
        fields.get("id", ""), fields.get("event", ""), _object(fields["data"].encode())
    )


def _object(body: bytes) -> json.JsonObject:
    try:
        return json.decode(body, dict)
    except json.UNREADABLE as error:
        raise errors.PermanentError(
            "this is no Volary server: its answer cannot be read"
        ) from error
