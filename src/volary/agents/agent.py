"""The process beside a cluster (`volary agent`): hello, a tunnel to each server, and what else.

It connects outward only. To each server it keeps one tunnel, and comes back to it with growing
pauses. The token is read anew for each connection, the policy whenever its file changed.
"""

import asyncio
import logging
import random
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar
from urllib import parse

import aiohttp
import msgspec

import volary
from volary import secret_files
from volary.agents import hellos, policy_file
from volary.agents.policy import decisions
from volary.agents.tunnel import frames, guard_proxy, tunnels
from volary.clusters.client import clients
from volary.clusters.kubeconfig import connections
from volary.http_client import answers
from volary.model import addresses, backoffs, clocks, errors, json

_LOG = logging.getLogger(__name__)
BACKOFF = backoffs.Backoff(timedelta(seconds=1), timedelta(seconds=30))
#: Seconds for hello, and to open or close a tunnel.
_PATIENCE = aiohttp.ClientTimeout(total=20, connect=10)
_CLOSING = 2.0
#: Seconds between two looks which servers there are.
_LOOK = 15.0
_CONFLICT, _UNAUTHORIZED = 409, 401


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What an agent is told when it starts."""

    cluster: str
    #: URL of a server.
    server: str
    token_file: str
    policy_file: str
    #: How it reaches its own cluster.
    connection: connections.Connection = field(repr=False)
    #: Certificates by which servers are verified, PEM; empty: the system's.
    ca_file: str = ""


Result = TypeVar("Result")


class IncompatibleError(errors.UserError):
    """A server does not let this agent in, and will not unless somebody changes something."""


#: Something that goes on for as long as the agent does, once a server has welcomed it.
Part = Callable[["Agent"], Awaitable[None]]


class Agent:
    """An agent; `run` makes it live.

    Args:
        settings: From the command line.
        clock: The one clock.
        policy: What the owner of the cluster permits.
        parts: What else goes on beside the tunnels.
    """

    def __init__(
        self,
        settings: AgentSettings,
        *,
        clock: clocks.Clock,
        policy: policy_file.PolicyFile,
        parts: tuple[Part, ...] = (),
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.policy = policy
        self._parts = parts
        #: Of the namespace kube-system.
        self.cluster_uid = ""
        #: What a server said last.
        self.welcome: hellos.Welcome | None = None
        #: How servers are verified.
        self.ssl = _tls(settings.ca_file)
        #: Those that it keeps a tunnel to, or tries to.
        self._servers: set[str] = set()

    async def run(self) -> None:
        """Connect and stay connected, until cancelled.

        Raises:
            errors.UserError: The server that is named does not let this agent in, or something here
                has to be mended first.
        """
        self.cluster_uid = await self._retry(self._own_uid, "its own cluster")
        self.welcome = await self._retry(
            lambda: self.say_hello(self.settings.server), self.settings.server
        )
        _LOG.info(
            "agent %s of cluster %s is known to %s (version %s)",
            self.welcome.agent,
            self.settings.cluster,
            self.settings.server,
            self.welcome.version,
        )
        async with (
            guard_proxy.open_proxy(
                self.settings.connection, self.policy.current, clock=self.clock
            ) as proxy,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(self.policy.keep_reading(), name="policy file")
            self._connect_to_all(group, proxy)
            group.create_task(self._keep_looking(group, proxy), name="servers")
            for part in self._parts:
                group.create_task(_run(part, self))

    def token(self) -> str:
        """Return the token to show, as its file has it now.

        Raises:
            errors.UserError: The file cannot be read.
        """
        return secret_files.read(self.settings.token_file)

    async def _own_uid(self) -> str:
        async with clients.open_client(self.settings.connection, clock=self.clock) as client:
            uid = await client.identity()
        if not uid:
            raise errors.TemporaryError("its own cluster does not say which one it is")
        return uid

    async def _retry(self, work: Callable[[], Awaitable[Result]], what: str) -> Result:
        """Do something until it works; what only people can mend ends it."""
        failures, said = 0, ""
        while True:
            try:
                return await work()
            except IncompatibleError:
                raise
            except errors.VolaryError as error:
                failures += 1
                if said != str(error):
                    said = str(error)
                    _LOG.warning("%s cannot be used yet: %s", what, said)
            await _pause(failures)

    async def say_hello(self, server: str) -> hellos.Welcome:
        """Say who this is, and return what the server answers.

        Raises:
            IncompatibleError: It does not let this agent in.
            errors.UserError: The token is not good, or would be sent in clear.
            errors.TemporaryError: It cannot be reached now.
        """
        check_address(server)
        hello = hellos.Hello(
            volary.__version__,
            (hellos.OLDEST, hellos.NEWEST),
            self.settings.cluster,
            self.cluster_uid,
            decisions.summary(self.policy.current()),
        )
        try:
            async with (
                self._session() as session,
                session.post(
                    server + hellos.HELLO_PATH,
                    data=msgspec.json.encode(hello),
                    headers={"content-type": "application/json"},
                    timeout=_PATIENCE,
                    allow_redirects=False,
                ) as answer,
            ):
                body = await answers.read_beginning(answer, hellos.LARGEST)
                return _welcome(answer.status, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.TemporaryError(_cause(error)) from error

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            headers={"authorization": f"Bearer {self.token()}"},
            connector=aiohttp.TCPConnector(ssl=self.ssl),
            trust_env=True,
        )

    def _connect_to_all(self, group: asyncio.TaskGroup, proxy: guard_proxy.GuardProxy) -> None:
        """Begin to connect to servers that were not known before."""
        for server in self.servers:
            if server not in self._servers:
                self._servers.add(server)
                connecting = self._keep_connected(server, group, proxy)
                group.create_task(connecting, name=f"tunnel to {server}")

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers that there are, as one of them said last, and the one that it was told.

        Where they reach each other need not be where this agent reaches them.
        """
        assert self.welcome is not None
        return tuple(dict.fromkeys((*self.welcome.addresses, self.settings.server)))

    async def _keep_looking(self, group: asyncio.TaskGroup, proxy: guard_proxy.GuardProxy) -> None:
        """Find servers that have come since, whichever of those that are known says so."""
        while True:
            await _pause_of(_LOOK)
            for server in self.servers:
                try:
                    self.welcome = await self.say_hello(server)
                except errors.VolaryError as error:
                    _LOG.debug("%s does not say which servers there are: %s", server, error)
                else:
                    self._connect_to_all(group, proxy)
                    break

    async def _keep_connected(
        self, server: str, group: asyncio.TaskGroup, proxy: guard_proxy.GuardProxy
    ) -> None:
        """Keep a tunnel to a server, until cancelled, or it is gone and none knows it any more."""
        failures, said = 0, ""
        while True:
            began = asyncio.get_running_loop().time()
            try:
                self.welcome = await self.say_hello(server)
                self._connect_to_all(group, proxy)
                reason = await self._carry(server, proxy)
            except errors.VolaryError as error:
                reason = str(error)
            lasted = asyncio.get_running_loop().time() - began
            went_well = lasted > BACKOFF.longest.total_seconds()
            failures = 1 if went_well else failures + 1
            if went_well or said != reason:
                said = reason
                _LOG.warning("not connected to %s: %s", server, reason)
            if server not in self.servers:
                self._servers.discard(server)
                return
            await _pause(failures)

    async def _carry(self, server: str, proxy: guard_proxy.GuardProxy) -> str:
        """Open a tunnel and carry it until it ends; returns why.

        Raises:
            errors.TemporaryError: It cannot be opened now.
        """
        query = parse.urlencode({"cluster": self.settings.cluster, "uid": self.cluster_uid})
        try:
            async with (
                self._session() as session,
                session.ws_connect(
                    f"{server}{hellos.TUNNEL_PATH}?{query}",
                    max_msg_size=frames.LARGEST,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING),
                ) as websocket,
            ):
                _LOG.info("connected to %s", server)
                tunnel = tunnels.Tunnel(_Channel(websocket), on_stream=proxy.take)
                return await tunnel.run()
        except aiohttp.WSServerHandshakeError as error:
            raise errors.TemporaryError(f"the server answers {error.status}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise errors.TemporaryError(_cause(error)) from error


async def _run(part: Part, agent: Agent) -> None:
    await part(agent)


async def _pause(failures: int) -> None:
    await _pause_of(BACKOFF.after(failures).total_seconds())


async def _pause_of(seconds: float) -> None:
    """Wait a while, not all agents the same."""
    await asyncio.sleep(seconds * (0.5 + random.random() / 2))


def check_address(server: str) -> None:
    """Refuse an address to which the token would be sent in clear.

    Raises:
        errors.UserError: It is one, or no address.
    """
    try:
        address = parse.urlsplit(server)
        host = address.hostname or ""
    except ValueError:
        address, host = parse.urlsplit(""), ""
    if address.scheme not in ("http", "https") or not host or "@" in address.netloc:
        raise errors.user_error(
            "the server's address is not a URL", hint="such as https://volary.example.org"
        )
    if address.scheme == "http" and not addresses.is_loopback(host):
        raise errors.user_error(
            f"the token would be sent to {host} without encryption", hint="use https"
        )


def _welcome(status: int, body: bytes) -> hellos.Welcome:
    if status == 200:
        try:
            return hellos.read_welcome(body)
        except hellos.MalformedError as error:
            raise errors.TemporaryError(f"this is no Volary server: {error}") from None
    detail = _detail(body) or f"the server answers {status}"
    if status == _CONFLICT:
        raise IncompatibleError(errors.Problem(detail))
    raise errors.TemporaryError(detail)


def _detail(body: bytes) -> str:
    try:
        said = json.decode(body)
    except json.UNREADABLE:
        return ""
    detail = said.get("detail") if isinstance(said, dict) else ""
    return detail[:500] if isinstance(detail, str) and detail.isprintable() else ""


def _tls(ca_file: str) -> ssl.SSLContext | bool:
    """Return how servers are verified.

    Raises:
        errors.UserError: The certificates cannot be read.
    """
    if not ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise errors.user_error(
            f"the certificates in {ca_file} cannot be used", hint="it is a PEM file"
        ) from error


def _cause(error: Exception) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else str(error)


class _Channel:
    """A WebSocket as tunnels have it."""

    def __init__(self, websocket: aiohttp.ClientWebSocketResponse) -> None:
        self._websocket = websocket

    async def send(self, message: bytes) -> None:
        await self._websocket.send_bytes(message)

    async def receive(self) -> bytes | None:
        message = await self._websocket.receive()
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                return bytes(message.data)
            case aiohttp.WSMsgType.TEXT:
                return b""  # no frame
            case _:
                return None
