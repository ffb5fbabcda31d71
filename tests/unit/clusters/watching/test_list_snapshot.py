"""One list answers all who ask at the same moment."""

from datetime import timedelta

import pytest

from fixed_clock import FixedClock
from scripted_server import answer, serve, status
from volary.clusters.api import discovery
from volary.clusters.client import clients
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import retries, transports
from volary.clusters.watching import list_snapshot
from volary.model import errors

PODS = discovery.Resource("", "v1", "Pod", "pods", namespaced=True)
LIMITS = transports.Limits(retry=retries.Policy(tries=1, base=timedelta(milliseconds=1)))


def page(*names: str) -> object:
    items = [{"metadata": {"name": name}} for name in names]
    return answer({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})


async def test_what_was_listed_is_not_asked_for_again_until_the_moment_has_passed() -> None:
    async with serve() as server:
        server.say(page("a"), page("b"), page("c"))
        connection = connections.Connection("us", server.url)
        async with clients.open_client(connection, clock=FixedClock(), limits=LIMITS) as client:
            snapshot = list_snapshot.ListSnapshot(client)
            first = [await snapshot.list(PODS, "shop", "app=x") for _ in range(2)]
            other = await snapshot.list(PODS, "shop", "app=y")
            snapshot.forget()
            later = await snapshot.list(PODS, "shop", "app=x")

    assert [each["metadata"]["name"] for found in first for each in found] == ["a", "a"]
    assert [each["metadata"]["name"] for each in (*other, *later)] == ["b", "c"]
    assert len(server.seen) == 3


async def test_a_list_that_failed_is_asked_for_again() -> None:
    async with serve() as server:
        server.say(status(403, "Forbidden", "no"), page("a"))
        connection = connections.Connection("us", server.url)
        async with clients.open_client(connection, clock=FixedClock(), limits=LIMITS) as client:
            snapshot = list_snapshot.ListSnapshot(client)
            with pytest.raises(errors.VolaryError):
                await snapshot.list(PODS, "shop", "app=x")
            found = await snapshot.list(PODS, "shop", "app=x")

    assert len(found) == 1
