"""What an agent and a server say to each other before anything else, and whether they get along.

Both name the protocols that they speak, from the oldest to the newest, and the newest that both
speak is used. So an agent may be older or newer than the server, as long as they have one in
common.
"""

from typing import TypeVar

import msgspec

from volary.model import json

#: The protocols that this version speaks.
OLDEST, NEWEST = 1, 1
#: Where hello is said and where tunnels begin, under the address of a server.
HELLO_PATH = "/api/v1/agent/hello"
TUNNEL_PATH = "/api/v1/agent/tunnel"
#: What names of the task queues of clusters begin with, and the one of all tasks that the leading
#: server carries out.
QUEUE_PREFIX, CENTRAL_QUEUE = "volary-cluster-", "volary-central"
#: Bytes of either message.
LARGEST = 64 * 1024
_LONGEST_WORD = 253
_Message = TypeVar("_Message", "Hello", "Welcome")
_MOST = 1000


class Hello(msgspec.Struct, frozen=True, rename="camel"):
    """What an agent says of itself."""

    #: Of its program.
    version: str
    #: The oldest and the newest protocol that it speaks.
    protocols: tuple[int, int]
    #: The cluster that it is to work for.
    cluster: str
    #: Of the namespace kube-system there.
    cluster_uid: str
    #: What its policy permits, in sentences for people.
    policy: tuple[str, ...] = ()


class Temporal(msgspec.Struct, frozen=True, rename="camel"):
    """Where tasks come from."""

    address: str
    namespace: str
    #: What names of task queues begin with; the cluster's name follows.
    queue_prefix: str
    #: Seconds after which a task without a word is begun again elsewhere.
    heartbeat: float


class Welcome(msgspec.Struct, frozen=True, rename="camel"):
    """What a server answers."""

    version: str
    #: The protocol to speak.
    protocol: int
    #: The name under which the agent is registered.
    agent: str
    #: Every server, as people reach it; empty: only the one that was asked is known.
    addresses: tuple[str, ...] = ()
    #: None: tasks are carried out by servers only.
    temporal: Temporal | None = None


class MalformedError(ValueError):
    """A message is not of its shape."""


def read_hello(body: bytes) -> Hello:
    """Return what an agent says.

    Raises:
        MalformedError: It is no hello.
    """
    said = _decode(body, Hello)
    words = (said.version, said.cluster, said.cluster_uid)
    if not all(word.isprintable() and 0 < len(word) <= _LONGEST_WORD for word in words):
        raise MalformedError("the hello has an empty or unprintable word, or one that is too long")
    oldest, newest = said.protocols
    if not 0 < oldest <= newest < _MOST:
        raise MalformedError("the hello names no range of protocols")
    if len(said.policy) > _MOST or not all(line.isprintable() for line in said.policy):
        raise MalformedError("what the hello says of its policy cannot be shown")
    return said


def read_welcome(body: bytes) -> Welcome:
    """Return what a server answers.

    Raises:
        MalformedError: It is no welcome.
    """
    return _decode(body, Welcome)


def _decode(body: bytes, kind: type[_Message]) -> _Message:
    if len(body) > LARGEST:
        raise MalformedError("the message is too large")
    try:
        return json.decode(body, kind)
    except json.UNREADABLE as error:
        raise MalformedError(f"the message is not as expected: {type(error).__name__}") from None


def common_protocol(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return the newest protocol that both speak; 0: there is none."""
    newest = min(one[1], other[1])
    return newest if newest >= max(one[0], other[0]) else 0


def incompatible(agent: Hello, server_version: str, server: tuple[int, int]) -> str:
    """Return what both sides say when they have no protocol in common."""
    return (
        f"the agent ({agent.version}) speaks protocol {_range(agent.protocols)}, and the server"
        f" ({server_version}) {_range(server)}: update the older one"
    )


def _range(protocols: tuple[int, int]) -> str:
    oldest, newest = protocols
    return str(oldest) if oldest == newest else f"{oldest} to {newest}"


def queue(prefix: str, cluster: str) -> str:
    """Return the name of a cluster's task queue."""
    return f"{prefix}{cluster}"


def worker_role(name: str) -> str:
    """Return what processes of a worker call themselves, before their number."""
    return f"worker {name}"
