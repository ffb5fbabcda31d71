"""Nothing that changes a cluster is sent without a permit; what only reads needs none."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, serve, status
from volary.clusters.api import discovery, requests
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import transports, write_permits
from volary.model import errors

KIND = discovery.Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
BODY = {"metadata": {"name": "a", "namespace": "b"}}


def apply(*, dry_run: bool = False) -> requests.Request:
    return requests.write("PATCH", KIND, BODY, field_manager="volary", dry_run=dry_run, force=False)


class Permit:
    """A permit that can be taken away and given back."""

    def __init__(self) -> None:
        self.given = asyncio.Event()
        self.given.set()
        self.waited = 0

    @property
    def is_valid(self) -> bool:
        return self.given.is_set()

    async def wait(self) -> None:
        self.waited += 1
        await self.given.wait()


class Lapsing(Permit):
    """Lapses once between the wait for it and the moment when the request would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_again = asyncio.Event()

    async def wait(self) -> None:
        if self.waited:
            self.waited_again.set()
        await super().wait()
        if self.waited == 1:
            self.given.clear()


class Lost(Permit):
    """Is never given back."""

    async def wait(self) -> None:
        raise errors.PermanentError("another process leads")


@asynccontextmanager
async def sender_under(
    permit: write_permits.WritePermit, server: ScriptedServer
) -> AsyncIterator[transports.Transport]:
    sender = transports.Transport(
        connections.Connection("us", server.url),
        limits=transports.Limits(),
        clock=FixedClock(),
        chance=lambda: 0.5,
        permit=lambda: permit,
    )
    try:
        yield sender
    finally:
        await sender.close()


@pytest.fixture
async def api_server() -> AsyncIterator[ScriptedServer]:
    async with serve() as server:
        yield server


@pytest.mark.parametrize(
    "request_of",
    [
        apply,
        lambda: requests.write("POST", KIND, BODY, field_manager="volary", dry_run=False),
        lambda: requests.write("PUT", KIND, BODY, field_manager="volary", dry_run=False),
        lambda: requests.merge_patch(KIND, BODY, field_manager="volary", dry_run=False),
        lambda: requests.delete(KIND, "a", namespace="b", propagation="Background"),
    ],
)
async def test_a_write_is_not_sent_by_who_lost_the_right(
    request_of: Callable[[], requests.Request], api_server: ScriptedServer
) -> None:
    async with sender_under(Lost(), api_server) as sender:
        with pytest.raises(errors.PermanentError, match="another process leads"):
            await sender.send(request_of())

    assert api_server.seen == []


@pytest.mark.parametrize(
    "question",
    [
        requests.get(KIND, "a", namespace="b"),
        requests.review("SelfSubjectAccessReview", {}),
        apply(dry_run=True),
    ],
)
async def test_what_changes_nothing_needs_no_permit(
    question: requests.Request, api_server: ScriptedServer
) -> None:
    async with sender_under(Lost(), api_server) as sender:
        await sender.send(question)

    assert len(api_server.seen) == 1


async def test_a_permit_that_lapses_before_the_request_is_on_its_way_is_waited_for(
    api_server: ScriptedServer,
) -> None:
    """Until a connection is there much may happen; the write is sent once, when it may be."""
    permit = Lapsing()
    async with sender_under(permit, api_server) as sender, asyncio.TaskGroup() as group:
        sending = group.create_task(sender.send(apply()))
        await permit.waited_again.wait()
        before = list(api_server.seen)
        permit.given.set()
        await sending

    assert before == []
    assert permit.waited == 2
    assert len(api_server.seen) == 1


async def test_a_write_that_is_tried_again_needs_the_permit_again() -> None:
    permit = Permit()

    async def fail(_asked: Asked) -> web.StreamResponse:
        permit.given.clear()
        return status(500, "InternalError", "try again")

    async with serve() as server:
        server.say(fail)
        async with sender_under(permit, server) as sender:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await sender.send(apply())

        assert len(server.seen) == 1
