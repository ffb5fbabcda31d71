"""A watch misses nothing and never becomes a busy loop: streams are scripted, time is virtual."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.client import watches
from volary.model import errors

PODS = discovery.Resource("", "v1", "Pod", "pods", namespaced=True)


def line(kind: str, name: str, version: str) -> bytes:
    metadata = {"name": name, "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": metadata}}).encode()


def gone() -> bytes:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    return json.dumps({"type": "ERROR", "object": status}).encode()


@dataclass
class Streams:
    """Stands for the transport: each stream gives its lines, then ends, fails or stays open."""

    script: list[list[bytes | Exception | float]]
    places: list[str] = field(default_factory=list)
    open: int = 0

    @asynccontextmanager
    async def stream(
        self, request: requests.Request, *, silence: float
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        self.places.append(request.query["resourceVersion"])
        self.open += 1
        try:
            yield self._lines()
        finally:
            self.open -= 1

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        if not self.script:
            await asyncio.sleep(10_000)
        for step in self.script.pop(0):
            if isinstance(step, Exception):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step


class Lists:
    """Answers the n-th list with one pod ``list-n``."""

    def __init__(self, *failures: errors.VolaryError) -> None:
        self.failures = list(failures)
        self.count = 0

    async def __call__(self) -> watches.ObjectList:
        if self.failures:
            raise self.failures.pop(0)
        self.count += 1
        name = f"list-{self.count}"
        return watches.ObjectList(({"metadata": {"name": name}},), f"{self.count}00")


async def heard(
    streams: Streams, lists: Lists, count: int, *, place: str = "", chance: float = 1.0
) -> list[str]:
    """Return the first `count` events, as ``KIND name``."""
    following = watches.follow(
        streams,  # type: ignore[arg-type]
        PODS,
        requests.Selection(),
        lister=lists,
        resource_version=place,
        chance=lambda: chance,
    )
    found: list[str] = []
    async with aclosing(following):
        async for event in following:
            body = event.items[0] if event.kind is watches.WatchKind.RELISTED else event.body
            found.append(f"{event.kind} {body['metadata']['name']}")
            if len(found) == count:
                break
    assert streams.open == 0
    return found


@pytest.mark.looptime
async def test_it_lists_and_then_follows() -> None:
    streams = Streams([[line("ADDED", "a", "101"), line("DELETED", "a", "102")]])

    assert await heard(streams, Lists(), 3) == ["RELISTED list-1", "ADDED a", "DELETED a"]
    assert streams.places == ["100"]


@pytest.mark.looptime
async def test_it_goes_on_where_a_stream_ended() -> None:
    streams = Streams([[line("ADDED", "a", "101")], [line("ADDED", "b", "105")]])

    assert await heard(streams, Lists(), 3) == ["RELISTED list-1", "ADDED a", "ADDED b"]
    assert streams.places == ["100", "101"]


@pytest.mark.looptime
async def test_bookmarks_keep_the_place_and_are_not_told() -> None:
    streams = Streams([[line("BOOKMARK", "", "150")], [line("ADDED", "b", "151")]])

    assert await heard(streams, Lists(), 2) == ["RELISTED list-1", "ADDED b"]
    assert streams.places == ["100", "150"]


@pytest.mark.looptime
@pytest.mark.parametrize("refusal", [gone(), api_errors.Expired("too old", status=410)])
async def test_a_place_that_is_too_old_is_listed_again(refusal: bytes | Exception) -> None:
    streams = Streams([[line("ADDED", "a", "101"), refusal], [line("ADDED", "b", "201")]])

    assert await heard(streams, Lists(), 4) == [
        "RELISTED list-1",
        "ADDED a",
        "RELISTED list-2",
        "ADDED b",
    ]
    assert streams.places == ["100", "200"]


@pytest.mark.looptime
async def test_it_can_begin_at_a_place() -> None:
    streams = Streams([[line("ADDED", "a", "8")]])

    assert await heard(streams, Lists(), 1, place="7") == ["ADDED a"]
    assert streams.places == ["7"]


def outage(count: int, error: Callable[[], Exception]) -> list[list[bytes | Exception | float]]:
    return [[error()] for _ in range(count)]


@pytest.mark.looptime
async def test_an_outage_is_waited_out_with_growing_delays() -> None:
    streams = Streams(
        [
            *outage(4, lambda: api_errors.Unreachable("refused")),
            [line("ADDED", "a", "101")],
        ]
    )
    began = asyncio.get_running_loop().time()

    assert await heard(streams, Lists(), 2) == ["RELISTED list-1", "ADDED a"]
    waited = asyncio.get_running_loop().time() - began
    assert waited == pytest.approx(0.25 + 0.5 + 1 + 2)


@pytest.mark.looptime
async def test_a_list_that_fails_for_a_while_is_waited_out_too() -> None:
    lists = Lists(api_errors.ServerError("no", status=500), api_errors.Unreachable("no"))

    assert await heard(Streams([]), lists, 1) == ["RELISTED list-1"]


@pytest.mark.looptime
async def test_the_delay_that_is_asked_for_is_kept() -> None:
    busy = api_errors.TooManyRequests("busy", delay=timedelta(seconds=7))
    streams = Streams([[busy], [line("ADDED", "a", "101")]])
    began = asyncio.get_running_loop().time()

    await heard(streams, Lists(), 2, chance=0.0)

    assert asyncio.get_running_loop().time() - began == pytest.approx(7)


@pytest.mark.looptime
async def test_even_a_delay_of_hours_is_bounded() -> None:
    busy = api_errors.TooManyRequests("busy", delay=timedelta(hours=5))
    streams = Streams([[busy], [line("ADDED", "a", "101")]])
    began = asyncio.get_running_loop().time()

    await heard(streams, Lists(), 2, chance=0.0)

    assert asyncio.get_running_loop().time() - began == pytest.approx(60)


@pytest.mark.looptime
async def test_streams_that_end_at_once_are_no_busy_loop() -> None:
    """Each ends at once; the place is doubted after some, so that it is listed again."""
    streams = Streams([[] for _ in range(30)])
    began = asyncio.get_running_loop().time()
    lists = Lists()

    assert await heard(streams, lists, 3) == [f"RELISTED list-{each}" for each in (1, 2, 3)]
    assert asyncio.get_running_loop().time() - began > 30


@pytest.mark.looptime
async def test_endless_410_is_no_busy_loop() -> None:
    streams = Streams([[gone()] for _ in range(10)])
    began = asyncio.get_running_loop().time()

    await heard(streams, Lists(), 8)

    waited = asyncio.get_running_loop().time() - began
    assert waited == pytest.approx(0.25 + 0.5 + 1 + 2 + 4 + 8 + 15)


@pytest.mark.looptime
async def test_a_quiet_stream_may_end_without_delay() -> None:
    """A server ends streams after minutes: that is no failure."""
    streams = Streams([[290.0], [290.0], [line("ADDED", "a", "101")]])
    began = asyncio.get_running_loop().time()

    await heard(streams, Lists(), 2)

    assert asyncio.get_running_loop().time() - began == pytest.approx(580)


@pytest.mark.looptime
@pytest.mark.parametrize(
    "error",
    [
        api_errors.Forbidden("no", status=403),
        api_errors.Unauthorized("no", status=401),
        api_errors.NotFound("no", status=404),
    ],
)
async def test_what_cannot_pass_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        await heard(Streams([[error]]), Lists(), 2)


@pytest.mark.looptime
@pytest.mark.parametrize("torn", [b'{"type": "ADD', b"garbage", b'{"type": 1, "object": {}}'])
async def test_a_torn_line_is_a_broken_stream(torn: bytes) -> None:
    streams = Streams([[line("ADDED", "a", "101"), torn], [line("ADDED", "b", "102")]])

    assert await heard(streams, Lists(), 3) == ["RELISTED list-1", "ADDED a", "ADDED b"]
    assert streams.places == ["100", "101"]


@pytest.mark.looptime
async def test_cancelling_closes_the_stream() -> None:
    streams = Streams([])

    async with asyncio.TaskGroup() as group:
        task = group.create_task(heard(streams, Lists(), 2))
        await asyncio.sleep(1)
        assert streams.open == 1
        task.cancel()

    assert streams.open == 0
