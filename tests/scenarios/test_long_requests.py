"""Who has asked for long is answered too: streams, slow answers and WebSockets in a release.

Through real proxies as they are by default (Traefik looks at changes every two seconds), and pods
as `volary lint` wants them: with a ``preStop`` hook as long as the router is late.
"""

import contextlib
from collections.abc import AsyncIterator

import pytest

import long_requests
import process_time
from long_requests import CALLS, LONG, MESH, WEB


@contextlib.asynccontextmanager
async def released(
    routing: long_requests.Routing, pods: long_requests.Pods
) -> AsyncIterator[long_requests.Users]:
    """Given: version 2 was released to the end while users came all the time."""
    async with long_requests.deployed(routing, pods) as (given, url):
        async with long_requests.coming(routing, url) as users, given.one_run():
            await long_requests.carry_out(given, long_requests.HALF_TO_CANARY)
            await long_requests.carry_out(given, long_requests.PROMOTION)
        yield users


@pytest.mark.parametrize("routing", [WEB, MESH, CALLS], ids=["traefik", "envoy", "traefik-grpc"])
async def test_nobody_who_asks_for_long_is_cut_off(routing: long_requests.Routing) -> None:
    # Twice what lint asks for: proxies on a busy machine are later than that.
    sleep = 2 * routing.application.traffic_routing.patience.total_seconds()
    async with released(routing, long_requests.Pods(sleep, sleep + process_time.HANG)) as users:
        assert users.lost == []
        assert min(users.served[each] for each in users.wants) >= 10
        assert users.versions.keys() == {"v1", "v2"}


@pytest.mark.parametrize("routing", [WEB, CALLS], ids=["http", "grpc"])
async def test_pods_that_end_at_once_cut_them_off(routing: long_requests.Routing) -> None:
    """What the counting is for: it sees them. There is always somebody on each pod that ends."""
    async with released(routing, long_requests.Pods(0, LONG / 10)) as users:
        assert users.lost
