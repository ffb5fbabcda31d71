"""How Temporal is reached."""

import asyncio
import ipaddress
import os
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from google.protobuf import timestamp_pb2
from temporalio import client, service
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest

from volary.engine.temporal import payloads
from volary.model import errors, server_settings

#: An open connection, for those who know Temporal by this package alone.
Client = client.Client
#: What a server that is not there, or busy, answers.
_AWAY = frozenset(
    {
        service.RPCStatusCode.UNAVAILABLE,
        service.RPCStatusCode.DEADLINE_EXCEEDED,
        service.RPCStatusCode.RESOURCE_EXHAUSTED,
        service.RPCStatusCode.CANCELLED,
        service.RPCStatusCode.UNKNOWN,
        service.RPCStatusCode.INTERNAL,
        service.RPCStatusCode.ABORTED,
    }
)
_NO_NAMESPACE = "NamespaceNotFoundFailure"


@dataclass(frozen=True, slots=True)
class Connection:
    """How Temporal is reached; certificates and keys as they are, PEM."""

    address: str
    namespace: str = "default"
    #: None: the connection is not secured.
    tls: service.TLSConfig | None = None
    api_key: str = field(default="", repr=False)
    #: What this process is called there; empty: by its machine and number.
    identity: str = ""


def is_away(error: service.RPCError | client.WorkflowUpdateRPCTimeoutOrCancelledError) -> bool:
    """Say whether the same question may be answered later.

    A busy server also says, for a moment, that a namespace is not found that it has served before.
    That there is none, a worker finds out when it begins.
    """
    if not isinstance(error, service.RPCError):
        return True
    details = error.grpc_status.details
    return error.status in _AWAY or any(each.type_url.endswith(_NO_NAMESPACE) for each in details)


def tls_config(
    ca: bytes | None, certificate: bytes | None, key: bytes | None, server_name: str
) -> service.TLSConfig:
    """Return how a connection is secured; what is None is as the machine has it, or not there."""
    return service.TLSConfig(
        server_root_ca_cert=ca,
        domain=server_name or None,
        client_cert=certificate,
        client_private_key=key,
    )


def of_settings(given: server_settings.Temporal, identity: str = "") -> Connection:
    """Return the connection that settings describe.

    Raises:
        errors.UserError: A file that they name cannot be read.
    """
    tls = given.tls
    secured = None
    if tls is not None:
        secured = tls_config(
            _read(tls.ca_file), _read(tls.certificate_file), _read(tls.key_file), tls.server_name
        )
    api_key = (_read(given.api_key_file) or b"").decode().strip()
    return Connection(given.address, given.namespace, secured, api_key, identity)


def is_loopback(address: str) -> bool:
    """Say whether a ``host:port`` is of this machine, so that a connection needs no TLS."""
    host = address.rpartition(":")[0]
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def identity_of(role: str) -> str:
    """Return what a process is called in Temporal: what it is, where, and its number."""
    return f"{role} {os.getpid()}@{socket.gethostname()}"


def _read(path: str) -> bytes | None:
    """Return what a file holds; None: none is named.

    Raises:
        errors.UserError: It cannot be read.
    """
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise errors.user_error(
            f"cannot be read: {error.strerror}",
            where=errors.Location(path),
            hint="name a file that this process may read, for the connection to Temporal",
        ) from error


async def connect(connection: Connection) -> client.Client:
    """Return a client.

    Raises:
        errors.TemporaryError: Nobody answers there, or not as Temporal does.
    """
    try:
        return await client.Client.connect(
            connection.address,
            namespace=connection.namespace,
            data_converter=payloads.CONVERTER,
            tls=connection.tls or False,
            api_key=connection.api_key or None,
            identity=connection.identity or None,
        )
    except RuntimeError as error:  # all that the SDK says about a connection
        raise errors.TemporaryError(
            f"Temporal does not answer at {connection.address}: {error}"
        ) from error


@dataclass(frozen=True, slots=True)
class Poller:
    """Somebody who takes tasks from a queue."""

    identity: str
    seen: datetime


#: How long a queue may take to be described.
_PATIENCE = timedelta(seconds=10)


class QueueReader:
    """Reads who takes tasks from queues; its connection is opened with the first question."""

    def __init__(self, settings: server_settings.Temporal, role: str) -> None:
        self._settings = settings
        self._role = role
        self._client: client.Client | None = None
        self._opening = asyncio.Lock()

    async def pollers(self, queue: str) -> tuple[Poller, ...]:
        """Return who has taken tasks from a queue in the last minutes, or has asked for some.

        Raises:
            errors.UserError: A file that the settings name cannot be read.
            errors.TemporaryError: Temporal does not answer.
        """
        async with self._opening:
            if self._client is None:
                identity = identity_of(self._role)
                self._client = await connect(of_settings(self._settings, identity))
        return await _pollers(self._client, queue)


async def _pollers(connection: client.Client, queue: str) -> tuple[Poller, ...]:
    request = DescribeTaskQueueRequest(
        namespace=connection.namespace,
        task_queue=TaskQueue(name=queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    )
    try:
        answer = await connection.workflow_service.describe_task_queue(request, timeout=_PATIENCE)
    except service.RPCError as error:
        raise errors.TemporaryError(f"Temporal does not answer: {error}") from error
    found = [Poller(one.identity, _time(one.last_access_time)) for one in answer.pollers]
    return tuple(sorted(found, key=lambda one: one.identity))


def _time(stamp: timestamp_pb2.Timestamp) -> datetime:
    return stamp.ToDatetime(tzinfo=UTC)
