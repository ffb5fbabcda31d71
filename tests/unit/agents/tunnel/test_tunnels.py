"""Both ends of a tunnel, over a channel in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

import process_time
from volary.agents.tunnel import frames, tunnels


class Channel:
    """One end of a connection: what is sent here is received there."""

    def __init__(
        self, sent: asyncio.Queue[bytes | None], come: asyncio.Queue[bytes | None]
    ) -> None:
        self.sent, self.come = sent, come
        #: Cleared: nothing is taken any more.
        self.takes = asyncio.Event()
        self.takes.set()

    async def send(self, message: bytes) -> None:
        await self.takes.wait()
        await self.sent.put(message)

    async def receive(self) -> bytes | None:
        return await self.come.get()


@dataclass
class Pair:
    """A tunnel whose streams are taken by the other end."""

    centre: tunnels.Tunnel
    agent: tunnels.Tunnel
    #: What the centre receives, to put in something else.
    to_centre: asyncio.Queue[bytes | None]
    to_agent: asyncio.Queue[bytes | None]
    ends: dict[str, asyncio.Task[str]]
    taken: asyncio.Queue[tunnels.Stream] = field(default_factory=asyncio.Queue)

    async def open(self) -> tuple[tunnels.Stream, tunnels.Stream]:
        here = await self.centre.open()
        return here, await self.taken.get()


@contextlib.asynccontextmanager
async def pair(timing: tunnels.Timing | None = None) -> AsyncIterator[Pair]:
    there, back = asyncio.Queue[bytes | None](), asyncio.Queue[bytes | None]()
    taken = asyncio.Queue[tunnels.Stream]()
    centre = tunnels.Tunnel(Channel(there, back), timing=timing)
    agent = tunnels.Tunnel(Channel(back, there), on_stream=taken.put_nowait, timing=timing)
    async with asyncio.TaskGroup() as group:
        ends = {
            "centre": group.create_task(centre.run()),
            "agent": group.create_task(agent.run()),
        }
        try:
            yield Pair(centre, agent, back, there, ends, taken)
        finally:
            for end in ends.values():
                end.cancel()


async def test_bytes_go_both_ways_and_ends_are_heard() -> None:
    async with pair() as given:
        here, there = await given.open()
        await here.write(b"GET / HTTP/1.1")
        asked = await there.read()
        await here.end()
        await there.write(b"200")
        ended = await there.read()
        answer = await here.read()
        await there.end()

        assert (asked, ended, answer, await here.read()) == (b"GET / HTTP/1.1", b"", b"200", b"")
        assert (given.centre.streams, given.agent.streams) == (0, 0)


async def test_a_stream_that_nobody_reads_holds_up_itself_only() -> None:
    async with pair() as given:
        slow, unread = await given.open()
        fast, read = await given.open()
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(slow.write(b"x" * (frames.CREDIT + 1)))
            whole = b"y" * (3 * frames.CREDIT)
            group.create_task(fast.write(whole))
            got = b""
            while len(got) < len(whole):
                got += await read.read()

            assert got == whole
            assert not writing.done(), "it has no credit for the last byte"

            slow_got = b""
            while len(slow_got) < frames.CREDIT + 1:
                slow_got += await unread.read()
            await writing


async def test_what_waits_is_bounded_by_the_credit() -> None:
    async with pair() as given:
        here, there = await given.open()
        writing = asyncio.get_running_loop().create_task(here.write(b"x" * 4 * frames.CREDIT))
        first = b""
        while len(first) < frames.CREDIT:
            await asyncio.sleep(0)
            first = bytes(there._received)
        for _ in range(100):
            await asyncio.sleep(0)

        assert len(there._received) == frames.CREDIT
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing


async def test_a_broken_stream_is_broken_on_both_sides_and_no_other() -> None:
    async with pair() as given:
        here, there = await given.open()
        other, other_there = await given.open()
        there.reset("the cluster is gone")
        with pytest.raises(tunnels.StreamEndedError, match="the cluster is gone"):
            await here.read()
        with pytest.raises(ConnectionError):
            await here.write(b"more")
        await other.write(b"still")

        assert await other_there.read() == b"still"
        assert given.centre.streams == 1


async def test_a_tunnel_says_why_it_ends_and_its_streams_end_with_it() -> None:
    async with pair() as given:
        here, there = await given.open()
        given.centre.close("its token was taken")
        reasons = [await given.ends["centre"], await given.ends["agent"]]

        assert reasons == ["its token was taken"] * 2
        for stream in (here, there):
            with pytest.raises(ConnectionError):
                await stream.read()
        with pytest.raises(ConnectionError):
            await given.centre.open()


@pytest.mark.looptime
async def test_who_takes_nothing_any_more_cannot_keep_a_tunnel_that_is_closed() -> None:
    """It may go on saying that it lives."""
    there, back = asyncio.Queue[bytes | None](), asyncio.Queue[bytes | None]()
    channel = Channel(there, back)
    channel.takes.clear()
    tunnel = tunnels.Tunnel(channel)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(tunnel.run())
        await asyncio.sleep(1)
        tunnel.close("its token was taken")
        with pytest.raises(ConnectionError, match="is closed"):
            await tunnel.open()

        assert await running == "it was closed, and the other side did not take why"


async def test_a_connection_that_ends_is_an_end() -> None:
    async with pair() as given:
        await given.to_centre.put(None)

        assert await given.ends["centre"] == "its connection ended"


async def test_there_are_so_many_streams_and_no_more() -> None:
    async with pair() as given:
        for _ in range(tunnels.MOST_STREAMS):
            await given.centre.open()
        with pytest.raises(ConnectionError, match="1024 streams"):
            await given.centre.open()


async def test_an_agent_refuses_more_streams_than_it_may_have() -> None:
    async with pair() as given:
        for number in range(1, tunnels.MOST_STREAMS + 2):
            await given.to_agent.put(frames.encode(frames.Frame(frames.Kind.OPEN, number)))
        for _ in range(tunnels.MOST_STREAMS):
            await given.taken.get()

        assert given.agent.streams == tunnels.MOST_STREAMS
        # The centre never opened the one that is refused: what it gets for it is malformed.
        assert "never opened" in await given.ends["centre"]


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"", "a frame of 0 bytes"),
        (frames.encode(frames.Frame(frames.Kind.OPEN, 1)), "may not be opened"),
        (frames.encode(frames.Frame(frames.Kind.DATA, 9, b"x")), "stream 9, never opened"),
        (frames.encode(frames.credit(1, 1)), "more credit than a stream may have"),
    ],
)
async def test_what_an_agent_may_not_send_ends_its_tunnel(sent: bytes, why: str) -> None:
    async with pair() as given:
        await given.open()
        await given.to_centre.put(sent)

        assert why in await given.ends["centre"]


async def test_more_than_there_is_credit_for_ends_the_tunnel() -> None:
    async with pair() as given:
        await given.open()
        piece = frames.encode(frames.Frame(frames.Kind.DATA, 1, b"x" * frames.LARGEST_DATA))
        for _ in range(frames.CREDIT // frames.LARGEST_DATA + 1):
            await given.to_centre.put(piece)

        assert "more of a stream than there was credit for" in await given.ends["centre"]


async def test_what_waits_over_all_streams_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "MOST_UNREAD", 4 * frames.LARGEST_DATA)
    async with pair() as given:
        streams = [await given.open() for _ in range(3)]
        for _, there in streams:
            await there.write(b"x" * 2 * frames.LARGEST_DATA)

        assert await given.ends["centre"] == "more is sent than is taken here"


async def test_what_was_read_or_broken_off_waits_no_more() -> None:
    async with pair() as given:
        (here, there), (broken, broken_there) = await given.open(), await given.open()
        await there.write(b"abc")
        await broken_there.write(b"def")
        await here.read()
        await process_time.until(lambda: given.centre.unread == 3)
        broken.reset()

        assert given.centre.unread == 0


async def test_questions_without_end_end_the_tunnel() -> None:
    """Whoever asks faster than it takes answers would fill the memory."""
    there, back = asyncio.Queue[bytes | None](), asyncio.Queue[bytes | None]()
    channel = Channel(there, back)
    channel.takes.clear()
    tunnel = tunnels.Tunnel(channel)
    ping = frames.encode(frames.Frame(frames.Kind.PING, 0, b"12345678"))
    for _ in range(5 * tunnels.MOST_STREAMS):
        await back.put(ping)

    assert "more than it takes" in await tunnel.run()


@pytest.mark.looptime
async def test_the_other_side_is_asked_and_a_silent_one_is_gone() -> None:
    timing = tunnels.Timing(ping_interval=1.0, most_silent=2)
    there, back = asyncio.Queue[bytes | None](), asyncio.Queue[bytes | None]()
    tunnel = tunnels.Tunnel(Channel(there, back), timing=timing)
    reason = await tunnel.run()

    assert reason == "nothing was heard of it for 3 s"
    asked = [frames.decode(there.get_nowait() or b"").kind for _ in range(there.qsize())]
    assert asked == [frames.Kind.PING] * 2


@pytest.mark.looptime
async def test_two_that_live_stay_together() -> None:
    async with pair(tunnels.Timing(ping_interval=1.0, most_silent=2)) as given:
        await asyncio.sleep(60)

        assert not given.centre.is_over
        assert not given.agent.is_over
