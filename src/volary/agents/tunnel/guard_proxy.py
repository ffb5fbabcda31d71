"""The HTTP server in which streams end: what is permitted goes on to the API server, anew.

Nothing of a server's request is passed on as it came: it is read, decided about, and a request of
our own is made of it, with the agent's credentials. Of its headers four are looked at, and of those
of the answer a few are returned.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import multidict
import yarl
from aiohttp import web

import volary
from volary.agents.policy import api_requests, decisions
from volary.agents.tunnel import pipes, tunnels
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import authenticators, sessions
from volary.model import agent_policies, clocks, errors

_LOG = logging.getLogger(__name__)
#: Bytes of a body: as API servers take them.
_LARGEST_BODY = 3 * 1024 * 1024
#: Seconds that a body may take to come.
_SLOWEST_BODY = 30.0
#: Seconds to connect, and between two pieces of an answer that is not followed.
_CONNECT, _SILENCE = 5.0, 60.0
_LONGEST_HEADER = 1000
_UNAUTHORIZED, _REDIRECTS = 401, range(300, 400)
_PASSED_ON = ("Accept", "Accept-Encoding", "Content-Type")
_RETURNED = ("Content-Type", "Content-Encoding", "Retry-After", "Warning")
_IMPERSONATE = "impersonate-"
#: Followed for as long as the server wants to.
_FOLLOWED = frozenset({"watch", "follow"})
_NO = frozenset({"", "0", "false"})

#: Says what is permitted at this moment.
CurrentPolicy = Callable[[], agent_policies.AgentPolicy]


class _RefusedError(Exception):
    """It is not passed on; the message says why."""


class GuardProxy:
    """See the module; `open_proxy` makes one."""

    def __init__(
        self,
        connection: connections.Connection,
        policy: CurrentPolicy,
        *,
        clock: clocks.Clock,
        group: asyncio.TaskGroup,
    ) -> None:
        self._connection = connection
        self._policy = policy
        self._authenticator = authenticators.authenticator_for(
            connection.credentials, cluster=connection.name, clock=clock, exec_timeout=60.0
        )
        agent = ("User-Agent", f"volary-agent/{volary.__version__}")
        self._sessions = sessions.Sessions(connection, [agent])
        self._server = web.Server(
            self._handle, handler_cancellation=True, access_log=None, keepalive_timeout=60.0
        )
        self._group = group

    def take(self, stream: tunnels.Stream) -> None:
        """Serve what comes on a stream; returns at once."""
        self._group.create_task(self._serve(stream), name="stream of a server")

    async def close(self) -> None:
        """End what is served."""
        await self._server.shutdown(1.0)
        await self._sessions.close()

    async def _serve(self, stream: tunnels.Stream) -> None:
        ours, theirs = socket.socketpair()
        try:
            loop = asyncio.get_running_loop()
            theirs.setblocking(False)
            await loop.connect_accepted_socket(self._server, theirs)
            reader, writer = await asyncio.open_connection(sock=ours)
        except OSError as error:
            _LOG.warning("a stream cannot be served: %s", error)
            ours.close()
            theirs.close()
            stream.reset("the agent cannot serve it")
            return
        await pipes.join(stream, reader, writer)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            wanted = api_requests.read(request.method, request.raw_path)
            headers = self._headers(request, wanted)
            body = await _body(request, wanted)
        except (api_requests.RefusedError, _RefusedError) as error:
            _LOG.info("a server's request is refused: %s", error)
            return _status(403, "Forbidden", str(error))
        try:
            return await self._pass_on(request, wanted, headers, body)
        except errors.VolaryError as error:
            return _status(500, "InternalError", f"the agent cannot ask its cluster: {error}")
        except (aiohttp.ClientError, OSError) as failure:
            if request.transport is not None and request.writer.output_size:
                # Half an answer must not look like a whole one.
                request.transport.abort()
                raise
            return web.Response(status=502, text=sessions.failure_cause(failure))

    def _headers(
        self, request: web.BaseRequest, wanted: api_requests.ApiRequest
    ) -> multidict.CIMultiDict[str]:
        """Return the headers of our own request.

        Raises:
            _RefusedError: The policy does not permit it, or a header is not as it has to be.
        """
        policy = self._policy()
        if why := decisions.refusal_of_request(policy, wanted):
            raise _RefusedError(why)
        if "Upgrade" in request.headers or request.version != aiohttp.HttpVersion11:
            raise _RefusedError("this is no request of HTTP/1.1, or one for another protocol")
        headers = multidict.CIMultiDict[str]()
        for name in _PASSED_ON:
            given = request.headers.getall(name, [])
            if given:
                headers[name] = _checked(name, given)
        users, groups = _impersonated(request)
        user = _checked("Impersonate-User", users) if users else ""
        if user or groups:
            if why := decisions.refusal_of_impersonation(policy, user=user, groups=groups):
                raise _RefusedError(why)
            headers["Impersonate-User"] = user
            for group in groups:
                headers.add("Impersonate-Group", group)
        return headers

    async def _pass_on(
        self,
        request: web.BaseRequest,
        wanted: api_requests.ApiRequest,
        headers: multidict.CIMultiDict[str],
        body: bytes | None,
    ) -> web.StreamResponse:
        """Send once, twice after a 401 that fresh credentials may mend."""
        for is_last in (False, True):
            proof = await self._authenticator.prove()
            async with self._answer(wanted, headers, body, proof) as answer:
                is_stale = answer.status == _UNAUTHORIZED and not is_last
                if is_stale and self._authenticator.forget(proof):
                    continue
                return await _returned(request, answer)
        raise AssertionError("the last one was returned")

    @asynccontextmanager
    async def _answer(
        self,
        wanted: api_requests.ApiRequest,
        headers: multidict.CIMultiDict[str],
        body: bytes | None,
        proof: authenticators.Proof,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        own = headers.copy()
        if proof.authorization:
            own["Authorization"] = proof.authorization
        is_followed = any(name in _FOLLOWED and value not in _NO for name, value in wanted.query)
        opened = self._sessions.take(proof)
        try:
            async with opened.session.request(
                wanted.method,
                yarl.URL(self._connection.server + wanted.target, encoded=True),
                data=body,
                headers=own,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=_CONNECT, sock_read=None if is_followed else _SILENCE
                ),
                allow_redirects=False,
                auto_decompress=False,
                proxy=self._connection.proxy_url or None,
                server_hostname=self._connection.tls.server_name or None,
            ) as answer:
                yield answer
        finally:
            await self._sessions.give_back(opened)


async def _returned(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """Return an answer piece by piece, as fast as the server takes it."""
    if answer.status in _REDIRECTS:
        return web.Response(status=502, text="the API server sends elsewhere")
    response = web.StreamResponse(status=answer.status)
    for name in _RETURNED:
        for value in answer.headers.getall(name, ()):
            response.headers.add(name, value)
    await response.prepare(request)
    async for piece in answer.content.iter_any():
        await response.write(piece)
    await response.write_eof()
    return response


async def _body(request: web.BaseRequest, wanted: api_requests.ApiRequest) -> bytes | None:
    """Return the body to send; None: there is none.

    Raises:
        _RefusedError: It is too large or too slow, or there must be none.
    """
    if wanted.method == "GET":
        if request.body_exists:
            raise _RefusedError("a question by GET has no body")
        return None
    pieces = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST_BODY):
            async for piece in request.content.iter_any():
                pieces += piece
                if len(pieces) > _LARGEST_BODY:
                    raise _RefusedError("the body is too large")
    except TimeoutError:
        raise _RefusedError("the body took too long") from None
    return bytes(pieces)


def _checked(name: str, given: list[str]) -> str:
    """Return the value of a header.

    Raises:
        _RefusedError: It is given twice, or is not one line of text.
    """
    if len(given) > 1 or not given[0].isprintable() or len(given[0]) > _LONGEST_HEADER:
        raise _RefusedError(f"the header {name} is not as it has to be")
    return given[0]


def _impersonated(request: web.BaseRequest) -> tuple[list[str], list[str]]:
    """Return the users and groups that a request is to be made for.

    Raises:
        _RefusedError: It says more of them, or something that is not text.
    """
    users, groups = list[str](), list[str]()
    for name, value in request.headers.items():
        match name.lower():
            case "impersonate-user":
                users.append(value)
            case "impersonate-group":
                groups.append(_checked(name, [value]))
            case other if other.startswith(_IMPERSONATE):
                raise _RefusedError("only users and groups are impersonated")
    return users, groups


def _status(code: int, reason: str, message: str) -> web.Response:
    """Return a refusal as API servers write it."""
    said = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return web.Response(
        status=code, body=msgspec.json.encode(said), content_type="application/json"
    )


@asynccontextmanager
async def open_proxy(
    connection: connections.Connection, policy: CurrentPolicy, *, clock: clocks.Clock
) -> AsyncIterator[GuardProxy]:
    """Open a proxy to an API server; what it serves ends with it."""
    async with asyncio.TaskGroup() as group:
        proxy = GuardProxy(connection, policy, clock=clock, group=group)
        try:
            yield proxy
        finally:
            await proxy.close()
