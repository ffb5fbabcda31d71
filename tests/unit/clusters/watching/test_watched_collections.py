"""Several collections are kept as they are; a cluster that falls silent is asked."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from memory_client import CONFIG_MAPS, PODS, SERVICES, MemoryCluster
from volary.clusters.api import api_errors, discovery
from volary.clusters.client.watches import WatchEvent, WatchKind
from volary.clusters.watching import collection_watch, waits
from volary.model import errors, json

pytestmark = pytest.mark.looptime

End = collection_watch.End
LOST = api_errors.Unreachable("no answer")


def source(
    resource: discovery.Resource, kept: dict[str, json.JsonObject], **more: object
) -> collection_watch.Source:
    keep = collection_watch.store_by_name(kept)
    return collection_watch.Source(resource, "default", keep, **more)  # type: ignore[arg-type]


def later(seconds: float, act: Callable[[], object]) -> None:
    asyncio.get_running_loop().call_later(seconds, act)


async def watch(
    cluster: MemoryCluster,
    sources: list[collection_watch.Source],
    decide: Callable[[], bool],
    *,
    seconds: float = 60,
    by_time: bool = True,
) -> tuple[End, float]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    ended = await collection_watch.watch_until(
        cluster.client,
        sources,
        decide,
        timeout=timedelta(seconds=seconds),
        stop=waits.never,
        by_time=by_time,
    )
    return ended, loop.time() - began


async def test_changes_of_all_collections_are_kept() -> None:
    cluster = MemoryCluster()
    pods: dict[str, json.JsonObject] = {}
    services: dict[str, json.JsonObject] = {}
    cluster.put(PODS, {"metadata": {"name": "a"}})
    later(1, lambda: cluster.put(PODS, {"metadata": {"name": "b"}, "spec": 1}))
    later(2, lambda: cluster.put(PODS, {"metadata": {"name": "b"}, "spec": 2}))
    later(3, lambda: cluster.remove(PODS, "a"))
    later(4, lambda: cluster.put(SERVICES, {"metadata": {"name": "s"}}))

    ended, took = await watch(
        cluster, [source(PODS, pods), source(SERVICES, services)], lambda: "s" in services
    )

    assert (ended, took) == (End.DECIDED, pytest.approx(4))
    assert list(pods) == ["b"]
    assert pods["b"]["spec"] == 2


@pytest.mark.parametrize(("by_time", "asked"), [(True, 6), (False, 1)])
async def test_answers_that_depend_on_time_are_asked_for_every_second(
    by_time: bool, asked: int
) -> None:
    count = 0

    def decide() -> bool:
        nonlocal count
        count += 1
        return False

    ended, took = await watch(
        MemoryCluster(), [source(PODS, {})], decide, seconds=5, by_time=by_time
    )

    assert (ended, took) == (End.TIMED_OUT, pytest.approx(5))
    assert asked <= count <= asked + 1


async def test_without_sources_the_question_alone_decides() -> None:
    assert (await watch(MemoryCluster(), [], lambda: True)) == (End.DECIDED, 0)


@pytest.mark.parametrize("optional", [True, False])
async def test_an_optional_source_that_breaks_later_is_done_without(optional: bool) -> None:
    class Breaking(MemoryCluster):
        async def watch(self, *words: object, **more: str):  # type: ignore[no-untyped-def, override]
            yield WatchEvent(WatchKind.RELISTED, {}, ())
            await asyncio.sleep(2)
            raise errors.PermanentError("not any more")

    sources = [source(PODS, {}, optional=optional)]

    if optional:
        assert (await watch(Breaking(), sources, lambda: False, seconds=5))[0] is End.TIMED_OUT
    else:
        with pytest.raises(errors.PermanentError, match="not any more"):
            await watch(Breaking(), sources, lambda: False, seconds=5)


class Silent(MemoryCluster):
    """Answers the question for its version as it is told."""

    trouble: errors.VolaryError | None = None

    async def version(self) -> str:
        self.asked.append("version")
        if self.trouble is not None:
            raise self.trouble
        return "v1"


@pytest.mark.parametrize(
    ("trouble", "ends"),
    [(LOST, 60.0), (api_errors.Forbidden("no", status=403), None), (None, None)],
)
async def test_silence_is_asked_about_and_ends_after_a_minute(
    trouble: errors.VolaryError | None, ends: float | None
) -> None:
    cluster = Silent()
    cluster.trouble = trouble
    loop = asyncio.get_running_loop()
    began = loop.time()

    if ends is None:
        ended, _ = await watch(cluster, [source(PODS, {})], lambda: False, seconds=110)
        assert ended is End.TIMED_OUT
        assert cluster.asked.count("version") == 6, "the last one when the time was over"
    else:
        with pytest.raises(api_errors.Unreachable) as caught:
            await watch(cluster, [source(PODS, {})], lambda: False, seconds=1000)
        assert str(caught.value) == "cluster us stopped answering: no answer"
        assert ends <= loop.time() - began <= ends + 2


async def test_a_cluster_that_talks_is_not_asked() -> None:
    cluster = Silent()
    for number in range(10):
        later(number * 10, lambda: cluster.put(PODS, {"metadata": {"name": "a"}}))

    await watch(cluster, [source(PODS, {})], lambda: False, seconds=90.25)

    assert "version" not in cluster.asked


async def test_what_is_stored_goes_by_the_key_of_its_name() -> None:
    kept: dict[tuple[str, int], json.JsonObject] = {}
    keep = collection_watch.store(kept, lambda name: (name, len(name)))

    keep("abc", {"x": 1})
    assert kept == {("abc", 3): {"x": 1}}
    keep("abc", None)
    keep("abc", None)
    assert kept == {}


async def test_selectors_narrow_what_is_watched() -> None:
    cluster = MemoryCluster()
    for name in ("a", "b"):
        cluster.put(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"app": name}}})
    by_label: dict[str, json.JsonObject] = {}
    by_name: dict[str, json.JsonObject] = {}

    await watch(
        cluster,
        [
            source(CONFIG_MAPS, by_label, label_selector="app=a"),
            source(CONFIG_MAPS, by_name, field_selector="metadata.name=b"),
        ],
        lambda: True,
    )

    assert (set(by_label), set(by_name)) == ({"a"}, {"b"})
