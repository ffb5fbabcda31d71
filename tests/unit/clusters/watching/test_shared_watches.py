"""All who follow a collection with the same client share one watch, and nothing else."""

import asyncio
import contextvars
from datetime import timedelta

import pytest

from memory_client import PODS, MemoryCluster
from volary.clusters.api import api_errors
from volary.clusters.watching import list_snapshot, shared_watches
from volary.model import json

pytestmark = pytest.mark.looptime
WATCH = "watch pods/default"
WHO = contextvars.ContextVar("WHO", default="nobody")


def pod(name: str, app: str = "x") -> json.JsonObject:
    return {"metadata": {"name": name, "labels": {"app": app}}, "status": {"phase": "Running"}}


def names(cluster: MemoryCluster) -> "list[str] | None":
    told = cluster.informers.list(PODS, "default", {"app": "x"})
    return None if told is None else [one["metadata"]["name"] for one in told]


async def test_one_watch_serves_all_and_ends_with_the_last() -> None:
    cluster = MemoryCluster()
    cluster.put(PODS, pod("a"))
    async with shared_watches.follow(cluster.client, PODS, "default"):
        async with shared_watches.follow(cluster.client, PODS, "default"):
            await asyncio.sleep(1)
            cluster.put(PODS, pod("b"))
            await asyncio.sleep(1)
            assert names(cluster) == ["a", "b"]
        assert names(cluster) == ["a", "b"]
        assert cluster.asked.count(WATCH) == 1
    assert names(cluster) is None
    assert not cluster._watches

    async with shared_watches.follow(cluster.client, PODS, "default"):
        await asyncio.sleep(1)
        assert names(cluster) == ["a", "b"]
    assert cluster.asked.count(WATCH) == 2


async def test_it_begins_when_enough_follow() -> None:
    cluster = MemoryCluster()
    async with shared_watches.follow(cluster.client, PODS, "default", least=2):
        await asyncio.sleep(1)
        assert (names(cluster), cluster.asked) == (None, [])
        async with shared_watches.follow(cluster.client, PODS, "default", least=2):
            await asyncio.sleep(1)
            assert (names(cluster), cluster.asked) == ([], [WATCH])


async def test_the_end_of_one_who_follows_is_nothing_to_the_others() -> None:
    cluster = MemoryCluster()
    seen: list[str] = []
    cluster.before = lambda _: seen.append(WHO.get())

    async def follow(how: str) -> None:
        WHO.set(how)
        async with shared_watches.follow(cluster.client, PODS, "default"):
            await asyncio.sleep(5)
            if how == "fails":
                raise ValueError(how)
            await asyncio.sleep(600)

    async with asyncio.TaskGroup() as group:
        # The first of all begins the watch.
        failing = asyncio.gather(follow("fails"), return_exceptions=True)
        cancelled = group.create_task(follow("is cancelled"))
        stays = group.create_task(follow("stays"))
        await asyncio.sleep(10)
        cancelled.cancel()
        await asyncio.sleep(10)
        cluster.put(PODS, pod("a"))
        await asyncio.sleep(1)
        assert names(cluster) == ["a"]
        stays.cancel()
        await failing

    assert (cluster.asked, seen) == ([WATCH], ["nobody"])


async def test_what_cannot_be_watched_is_said_and_begun_anew_by_who_comes_next() -> None:
    cluster = MemoryCluster()
    cluster.refusals["watch pods"] = api_errors.Forbidden("no", status=403)
    async with shared_watches.follow(cluster.client, PODS, "default") as refused:
        changed = asyncio.Event()
        with refused.listening({"app": "x"}, changed):
            async with asyncio.timeout(1):
                await changed.wait()
        assert isinstance(refused.error, api_errors.Forbidden)
        assert names(cluster) is None
        del cluster.refusals["watch pods"]
        async with shared_watches.follow(cluster.client, PODS, "default") as allowed:
            await asyncio.sleep(1)
            assert (allowed.error, names(cluster)) == (None, [])
        assert isinstance(refused.error, api_errors.Forbidden)


async def test_a_bug_is_an_error_of_the_informer() -> None:
    class Broken(MemoryCluster):
        async def watch(self, *words: object, **more: object):  # type: ignore[no-untyped-def, override]
            raise RuntimeError("oh")
            yield

    cluster = Broken()
    async with shared_watches.follow(cluster.client, PODS, "default") as informer:
        await asyncio.sleep(1)
        assert str(informer.error) == "following it failed: ExceptionGroup"


async def test_nobody_learns_what_another_client_is_told() -> None:
    ours, theirs = MemoryCluster(), MemoryCluster()
    ours.put(PODS, pod("a"))
    async with (
        shared_watches.follow(ours.client, PODS, "default"),
        shared_watches.follow(theirs.client, PODS, "default"),
    ):
        await asyncio.sleep(1)
        assert (names(ours), names(theirs)) == (["a"], [])


async def test_a_cluster_that_is_gone_is_noticed() -> None:
    class Silent(MemoryCluster):
        async def version(self) -> str:
            raise api_errors.Unreachable("no answer")

    cluster = Silent()
    async with shared_watches.follow(cluster.client, PODS, "default") as informer:
        await asyncio.sleep(timedelta(minutes=2).total_seconds())
        assert str(informer.error) == "cluster us stopped answering: no answer"


async def test_a_snapshot_asks_for_nothing_that_is_told() -> None:
    cluster = MemoryCluster()
    cluster.put(PODS, pod("a"))
    async with shared_watches.follow(cluster.client, PODS, "default"):
        await asyncio.sleep(1)
        snapshot = list_snapshot.ListSnapshot(cluster.client)
        assert [one["metadata"]["name"] for one in await snapshot.list(PODS, "default", "app=x")]
        assert cluster.asked == [WATCH]
        # That there is none is asked about: it decides more than that there is one.
        assert not await snapshot.list(PODS, "default", "app=y")
    assert cluster.asked == [WATCH, "list pods/default"]
