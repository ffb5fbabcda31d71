"""Listening ends when it is decided, stopped, late, or when the cluster is gone."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import cast

import pytest

from volary.clusters.api import api_errors, discovery
from volary.clusters.client import clients
from volary.clusters.client.watches import WatchEvent, WatchKind
from volary.clusters.watching import collection_watch, waits
from volary.model import errors, json

PODS = discovery.Resource("", "v1", "Pod", "pods", namespaced=True)


class Cluster:
    """Tells what it was given, then falls silent; answers for its version or not."""

    name = "us"
    #: When it last answered somebody else.
    answered = float("-inf")

    def __init__(
        self,
        *events: tuple[float, WatchEvent],
        refusal: errors.VolaryError | None = None,
        answers: bool = True,
    ) -> None:
        self.events = events
        self.refusal = refusal
        self.answers = answers
        self.asked = 0

    async def watch(self, _resource: object, **_selection: str) -> AsyncGenerator[WatchEvent, None]:
        if self.refusal is not None:
            raise self.refusal
        for delay, event in self.events:
            await asyncio.sleep(delay)
            yield event
        await asyncio.Event().wait()

    async def version(self) -> str:
        self.asked += 1
        if not self.answers:
            raise api_errors.Unreachable("refused")
        return "v1.36.0"


def pod(name: str) -> json.JsonObject:
    return {"metadata": {"name": name}}


def listed(*names: str) -> WatchEvent:
    return WatchEvent(WatchKind.RELISTED, {}, tuple(pod(name) for name in names))


async def listen(
    cluster: Cluster,
    *,
    until: Sequence[str],
    seconds: float = 30,
    optional: bool = False,
    stop_after: float | None = None,
) -> tuple[collection_watch.End, set[str]]:
    kept: set[str] = set()

    def keep(name: str, body: json.JsonObject | None) -> None:
        if body is None:
            kept.discard(name)
        else:
            kept.add(name)

    async def stop() -> None:
        if stop_after is None:
            await waits.never()
        else:
            await asyncio.sleep(stop_after)

    source = collection_watch.Source(PODS, "default", keep, optional=optional)
    ended = await collection_watch.watch_until(
        cast("clients.Client", cluster),
        [source],
        lambda: kept == set(until),
        timeout=timedelta(seconds=seconds),
        stop=stop,
    )
    return ended, kept


@pytest.mark.looptime
async def test_it_is_decided_by_what_was_heard(looptime: float) -> None:
    cluster = Cluster(
        (1, listed("a")),
        (2, WatchEvent(WatchKind.ADDED, pod("b"))),
        (3, WatchEvent(WatchKind.DELETED, pod("a"))),
    )

    ended, kept = await listen(cluster, until=["b"])

    assert (ended, kept) == (collection_watch.End.DECIDED, {"b"})
    assert looptime == 6


@pytest.mark.looptime
async def test_a_stop_is_heeded_at_once_also_where_time_decides_nothing(looptime: float) -> None:
    ended = await collection_watch.watch_until(
        cast("clients.Client", Cluster((1, listed("a")))),
        [collection_watch.Source(PODS, "default", lambda _name, _body: None)],
        lambda: False,
        timeout=timedelta(seconds=30),
        stop=lambda: asyncio.sleep(4),
        by_time=False,
    )

    assert ended is collection_watch.End.STOPPED
    assert looptime == 4


@pytest.mark.looptime
async def test_a_new_list_takes_away_what_is_not_in_it() -> None:
    """Otherwise a deletion during a gap would never be seen."""
    cluster = Cluster((1, listed("a", "b")), (1, listed("b", "c")))

    ended, _ = await listen(cluster, until=["b", "c"])

    assert ended is collection_watch.End.DECIDED


@pytest.mark.looptime
async def test_nothing_is_decided_before_the_first_list() -> None:
    """An empty set may look decided, but nobody has looked yet."""
    ended, _ = await listen(Cluster(), until=[], seconds=5)

    assert ended is collection_watch.End.TIMED_OUT


@pytest.mark.looptime
async def test_time_is_up(looptime: float) -> None:
    ended, _ = await listen(Cluster((1, listed("a"))), until=["never"], seconds=5)

    assert ended is collection_watch.End.TIMED_OUT
    assert looptime == 5


@pytest.mark.looptime
async def test_it_is_stopped_at_once(looptime: float) -> None:
    ended, _ = await listen(Cluster((1, listed("a"))), until=["never"], stop_after=2)

    assert ended is collection_watch.End.STOPPED
    assert looptime == 2


async def test_a_source_that_may_not_be_watched_is_an_error() -> None:
    refusal = api_errors.Forbidden("watch pods default: no", status=403)

    with pytest.raises(api_errors.Forbidden, match="watch pods"):
        await listen(Cluster(refusal=refusal), until=["a"])


async def test_an_optional_source_is_done_without() -> None:
    refusal = api_errors.Forbidden("watch pods default: no", status=403)

    ended, _ = await listen(Cluster(refusal=refusal), until=[], optional=True)

    assert ended is collection_watch.End.DECIDED


@pytest.mark.looptime
async def test_a_cluster_that_falls_silent_is_asked_and_believed() -> None:
    cluster = Cluster((1, listed("a")))

    ended, _ = await listen(cluster, until=["never"], seconds=200)

    assert ended is collection_watch.End.TIMED_OUT
    assert 5 <= cluster.asked <= 10


@pytest.mark.looptime
async def test_a_cluster_that_answers_others_is_not_asked() -> None:
    class Busy(Cluster):
        @property
        def answered(self) -> float:  # type: ignore[override]
            return asyncio.get_running_loop().time() - 0.25

    cluster = Busy((1, listed("a")))

    ended, _ = await listen(cluster, until=["never"], seconds=200)

    assert ended is collection_watch.End.TIMED_OUT
    assert cluster.asked == 0


@pytest.mark.looptime
@pytest.mark.parametrize("how", ["its time is over", "it is stopped"])
@pytest.mark.parametrize(
    ("seconds", "is_silent", "expected"),
    [(1.25, True, None), (15, True, api_errors.Unreachable), (15, False, None)],
)
async def test_a_silence_is_no_failure_also_where_a_limit_is_shorter_than_it_takes_to_notice(
    how: str, seconds: float, is_silent: bool, expected: type[errors.VolaryError] | None
) -> None:
    """One that has just said something is not asked."""
    cluster = Cluster((1, listed("a")), answers=not is_silent)
    is_stopped = how == "it is stopped"
    limits = {"stop_after" if is_stopped else "seconds": seconds}

    if expected is not None:
        with pytest.raises(expected, match="us stopped answering"):
            await listen(cluster, until=["never"], **limits)
        return
    ended, _ = await listen(cluster, until=["never"], **limits)

    assert ended is (collection_watch.End.STOPPED if is_stopped else collection_watch.End.TIMED_OUT)


@pytest.mark.looptime
async def test_a_cluster_that_is_gone_ends_the_wait_long_before_its_deadline(
    looptime: float,
) -> None:
    cluster = Cluster((1, listed("a")), answers=False)

    with pytest.raises(api_errors.Unreachable, match="us stopped answering"):
        await listen(cluster, until=["never"], seconds=20_000)

    assert looptime < 90


@pytest.mark.parametrize("turns", range(8))
async def test_breaking_it_off_just_as_something_happens_is_not_overlooked(turns: int) -> None:
    """On Python 3.11 `asyncio.wait_for` forgets that it was cancelled at some of these moments."""
    happens = asyncio.Event()

    class Busy(Cluster):
        async def watch(
            self, _resource: object, **_selection: str
        ) -> AsyncGenerator[WatchEvent, None]:
            yield listed("one")
            await happens.wait()
            yield listed("two")
            await asyncio.Event().wait()

    async def never() -> None:
        await asyncio.Event().wait()

    source = collection_watch.Source(PODS, "default", lambda _name, _body: None)
    client = cast("clients.Client", Busy())
    task = asyncio.create_task(  # noqa: TID251 (awaited below)
        collection_watch.watch_until(
            client, [source], lambda: False, timeout=timedelta(seconds=3), stop=never
        )
    )
    await asyncio.sleep(0.01)

    happens.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()

    await asyncio.wait({task}, timeout=1)
    is_cancelled = task.cancelled()
    task.cancel()
    assert is_cancelled


async def test_what_the_lists_decide_is_not_watched() -> None:
    watched: list[str] = []

    class Careful(Cluster):
        async def watch(
            self, _resource: object, **_selection: str
        ) -> AsyncGenerator[WatchEvent, None]:
            yield listed("a")
            watched.append("a")
            yield WatchEvent(WatchKind.ADDED, pod("b"))
            await asyncio.Event().wait()

    ended, kept = await listen(Careful(), until=["a"])
    assert (ended, kept, watched) == (collection_watch.End.DECIDED, {"a"}, [])

    ended, kept = await listen(Careful(), until=["a", "b"])
    assert (ended, kept, watched) == (collection_watch.End.DECIDED, {"a", "b"}, ["a"])
