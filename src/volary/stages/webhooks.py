"""Calling a webhook: one question to somebody else's HTTP server, bounded in every way.

The body is Flagger's (name, namespace, phase, checksum, metadata) with a few words more, and
so is the answer: a status of at most 202 is agreement, whatever else is a refusal. No answer
is a refusal too.

Addresses come out of Git, so what they may reach is limited: never link-local addresses,
behind which clouds keep credentials, and loopback only where whoever runs Volary allows it.
It is checked after the name was resolved, and again for the very address that a connection is
opened to, however it was written. An address in IPv6 counts as the one in IPv4 that it stands for.
Redirects are not followed, so nobody else can choose the address.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib import parse

import aiohttp
import msgspec
from aiohttp import abc, resolver

from volary.http_client import embedded_addresses
from volary.model import json, safe_text
from volary.model.pipeline import webhook

#: The highest status that is agreement (Flagger).
AGREEMENT = 202
#: The header that names the attempt at the stage that asks.
ATTEMPT = "Volary-Attempt"
_LARGEST_ANSWER = 4096
_SHOWN = 200
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 10.0
#: Metadata services that do not live on a link-local address.
_METADATA = frozenset(
    ipaddress.ip_address(address)
    for address in (
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
#: This network, of which no machine is part.
_NOWHERE = ipaddress.IPv4Network("0.0.0.0/8")


#: Only a server says so: `volary run` may reach the machine it runs on.
_OURSELVES = "it leads to this machine itself, which needs the setting `localWebhooks: allow`"


@dataclass(frozen=True, slots=True)
class Reach:
    """What webhooks may connect to."""

    #: This machine itself; right for a person's own, wrong for a server of many teams.
    loopback: bool = True

    def problem(self, address: str) -> str:
        """Return why `address`, a number, must not be connected to; empty when it may."""
        number = ipaddress.ip_address(address.partition("%")[0])
        problem = self._problem(number)
        if problem or isinstance(number, ipaddress.IPv4Address):
            return problem
        problems = map(self._problem, embedded_addresses.inside(number))
        return next(filter(None, problems), "")

    def _problem(self, number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
        if number.is_loopback:
            return "" if self.loopback else _OURSELVES
        if number.is_link_local or number in _METADATA:
            return "it leads to a metadata service or another link-local address"
        if number.is_unspecified or number.is_multicast or number in _NOWHERE:
            return "it leads to no single machine"
        if number.version == 4 and number.is_reserved:
            return "it leads to no single machine"
        return ""


class _ReachError(OSError):
    """An address that must not be connected to."""


class _Resolver(abc.AbstractResolver):
    """Resolves names, and refuses those that lead where they must not."""

    def __init__(self, reach: Reach) -> None:
        self._inner = resolver.ThreadedResolver()
        self._reach = reach

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[abc.ResolveResult]:
        """Return the addresses of a host."""
        addresses = await self._inner.resolve(host, port, family)
        for resolved in addresses:
            problem = self._reach.problem(resolved["host"])
            if problem:
                raise _ReachError(problem)
        return addresses

    async def close(self) -> None:
        """Nothing to close."""
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class Subject:
    """What a webhook is asked about."""

    #: The application and the namespace of its workloads.
    name: str
    namespace: str
    cluster: str
    #: Differs between revisions of what is rolled out.
    checksum: str
    #: Flagger's word for where the rollout is.
    phase: str = "Progressing"
    #: More words, besides Flagger's.
    details: Mapping[str, object] = field(default_factory=dict)
    #: Names the attempt at the stage that asks; the same after a restart.
    attempt: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    agreed: bool
    #: Why not, in one sentence; empty when it agreed.
    reason: str = ""


def payload(
    hook: webhook.Webhook, subject: Subject, extra: Mapping[str, str] | None = None
) -> json.JsonObject:
    """Return the body of a call; `extra` is added to the webhook's metadata."""
    metadata = {
        key: value.replace("${CLUSTER}", subject.cluster) for key, value in hook.metadata.items()
    }
    return {
        "name": subject.name,
        "namespace": subject.namespace,
        "phase": subject.phase,
        "checksum": subject.checksum,
        "metadata": {**metadata, **(extra or {})},
        "type": hook.type.value,
        "cluster": subject.cluster,
        **subject.details,
    }


async def call(
    hook: webhook.Webhook,
    subject: Subject,
    reach: Reach,
    *,
    extra: Mapping[str, str] | None = None,
) -> Answer:
    """Call a webhook and return its answer; never raises for what the other side does.

    A call takes at most the webhook's timeout; one without an answer, or with an error of
    the server's own, is repeated as often as the webhook says, with a pause in between.
    """
    problem = refusal(hook.url, reach)
    if problem:
        return Answer(False, f"is not called: {problem}")
    body = msgspec.json.encode(payload(hook, subject, extra))
    pause = _FIRST_PAUSE
    for left in range(hook.retries, -1, -1):
        answer, is_final = await _ask(hook, body, reach, subject.attempt)
        if is_final or not left:
            return answer
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    raise AssertionError("a call is made at least once")


def refusal(url: str, reach: Reach) -> str:
    """Return why an address given as a number is not called; names are checked later."""
    try:
        host = parse.urlsplit(url).hostname or ""
    except ValueError:
        return "it is no address"
    try:
        return reach.problem(host)
    except ValueError:
        return ""


def connector(reach: Reach) -> aiohttp.TCPConnector:
    """Return what opens connections for one request, and only within `reach`."""

    def open_socket(info: aiohttp.AddrInfoType) -> socket.socket:
        """Open what connects to an address: the last that is known of it."""
        family, kind, protocol, _, address = info
        problem = reach.problem(str(address[0]))
        if problem:
            raise _ReachError(problem)
        return socket.socket(family, kind, protocol)

    return aiohttp.TCPConnector(
        resolver=_Resolver(reach), socket_factory=open_socket, force_close=True
    )


async def _ask(
    hook: webhook.Webhook, body: bytes, reach: Reach, attempt: str
) -> tuple[Answer, bool]:
    """Ask once; say whether asking again is of no use."""
    seconds = hook.timeout.total_seconds()
    headers = {"Content-Type": "application/json", "User-Agent": "volary"}
    if attempt:
        headers[ATTEMPT] = attempt
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(connector=connector(reach)) as session,
            session.post(
                hook.url,
                data=body,
                headers=headers,
                ssl=not hook.disable_tls,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as response,
        ):
            said = await response.content.read(_LARGEST_ANSWER)
            return _judge(response.status, said), response.status < 500
    except TimeoutError:
        return Answer(False, f"gave no answer within {seconds:g} seconds"), False
    except aiohttp.InvalidURL:
        return Answer(False, "has no address that can be called"), True
    except (aiohttp.ClientError, OSError) as error:
        return _unanswered(error)


def _unanswered(error: Exception) -> tuple[Answer, bool]:
    outside = unreached(error)
    if outside:
        return Answer(False, f"is not called: {outside}"), True
    return Answer(False, f"could not be asked ({type(error).__name__})"), False


def unreached(error: BaseException) -> str:
    """Return why a request was kept from leaving the reach; empty: it failed otherwise."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _ReachError):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return ""


def _judge(status: int, said: bytes) -> Answer:
    if status <= AGREEMENT:
        return Answer(True)
    if 300 <= status < 400:
        return Answer(False, f"answered {status}; redirects are not followed")
    text = safe_text.printable(" ".join(said.decode("utf-8", "replace").split()))
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    return Answer(False, f"answered {status}: {shown}" if shown else f"answered {status}")
