"""What Temporal answers while it is away, and what it means for good."""

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from google.protobuf import any_pb2
from google.rpc import status_pb2
from temporalio import service
from temporalio.api.errordetails.v1 import NamespaceNotFoundFailure, NotFoundFailure

from volary.engine.temporal import connections

NOT_FOUND = service.RPCStatusCode.NOT_FOUND


def answer(code: service.RPCStatusCode, details: object = None) -> service.RPCError:
    status = status_pb2.Status(code=int(code), message="as it says")
    if details is not None:
        packed = any_pb2.Any()
        packed.Pack(details)  # type: ignore[arg-type]
        status.details.append(packed)
    return service.RPCError("as it says", code, status.SerializeToString())


@pytest.mark.parametrize(
    ("error", "is_away"),
    [
        (answer(service.RPCStatusCode.UNAVAILABLE), True),
        (answer(service.RPCStatusCode.RESOURCE_EXHAUSTED), True),
        (answer(service.RPCStatusCode.PERMISSION_DENIED), False),
        (answer(NOT_FOUND), False),
        (answer(NOT_FOUND, NotFoundFailure()), False),
        (answer(NOT_FOUND, NamespaceNotFoundFailure(namespace="default")), True),
    ],
)
def test_a_busy_server_is_asked_again(error: service.RPCError, is_away: bool) -> None:
    assert connections.is_away(error) == is_away
