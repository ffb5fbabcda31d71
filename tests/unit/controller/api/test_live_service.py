"""What people are shown of live objects: where their project may have something, and no secret."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest

from live_fleet import OWNER, MemoryFleet, applied, pod, stored
from memory_cluster import MemoryCluster
from volary.controller import refusals
from volary.controller.api import live_representations, live_service, pod_logs
from volary.controller.persistence import redaction
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses
from volary.livestate import live_state
from volary.model import projects
from volary.model.objects import manifest
from volary.store import factory, records
from volary.tenancy import membership

pytestmark = pytest.mark.looptime
VALUE = "hunter2-canary"


@dataclass
class World:
    """Two clusters, an application on both, and what shows it."""

    fleet: MemoryFleet
    live: live_state.LiveState
    service: live_service.LiveService
    secrets: redaction.SecretValues
    by_name: dict[str, projects.Project]

    async def current(self) -> None:
        async with asyncio.timeout(60):
            while not all(map(self.live.is_current, self.fleet.clusters)):
                await self.live.changed(0.5)


def shop() -> MemoryCluster:
    cluster = MemoryCluster()
    cluster.put(
        stored(
            ("apps", "Deployment", "web"), ("", "Secret", "keys"), ("", "ConfigMap", "settings")
        ),
        applied("ConfigMap", "settings"),
        applied("Deployment", "web"),
        applied("Secret", "keys", data={"password": "aHVudGVyMi1jYW5hcnk="}),
        applied("ConfigMap", "elsewhere", namespace="theirs"),
        pod("web-1", "uid-Deployment-web"),
    )
    return cluster


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    fleet = MemoryFleet({"us": shop(), "eu": shop()})
    clients = cast("Any", fleet)
    by_name: dict[str, projects.Project] = {}
    secrets = redaction.SecretValues()
    dependencies = ready_runs.Dependencies(
        cast("Any", None),
        clients,
        fleet.clock,
        secrets=secrets,
        projects=lambda: membership.Projects(by_name),
    )
    live = live_state.LiveState(clients, fleet.clock, chance=lambda: 0.5)
    status = application_statuses.ApplicationStatus(owners={"us": OWNER, "eu": OWNER})
    record = records.ApplicationRecord(
        "shop",
        "repository",
        "volary.yaml",
        project="team",
        document=application_statuses.to_document(status),
    )
    async with (
        factory.open_store("memory:", clock=fleet.clock) as store,
        asyncio.TaskGroup() as group,
    ):
        await store.applications.keep(record, fence=None)
        service = live_service.LiveService(store, dependencies, live)
        following = group.create_task(live.keep_following())
        yield World(fleet, live, service, secrets, by_name)
        following.cancel()


def names(cluster: live_representations.LiveCluster) -> list[str]:
    return [node.name for node in cluster.nodes]


async def test_clusters_come_in_the_order_of_the_fleet_and_one_can_be_asked_for() -> None:
    async with world() as given:
        await given.current()

        tree = await given.service.tree("shop")
        one = await given.service.tree("shop", "eu")

        assert [cluster.name for cluster in tree.clusters] == ["us", "eu"]
        assert [cluster.name for cluster in one.clusters] == ["eu"]
        assert names(one.clusters[0]) == ["settings", "elsewhere", "keys", "web", "web-1"]
        [web] = [node for node in one.clusters[0].nodes if node.name == "web"]
        assert (web.commit, web.drift, web.restarts) == ("c0ffee", "unknown", 1)


async def test_nothing_of_a_namespace_or_cluster_that_the_project_may_not_have_is_shown() -> None:
    async with world() as given:
        destination = projects.Destination(namespaces=("default",))
        given.by_name["team"] = projects.Project("team", destinations=(destination,))
        await given.current()

        [us, _] = (await given.service.tree("shop")).clusters

        assert "elsewhere" not in names(us)
        assert us.omitted == 1
        key = manifest.ResourceKey("", "ConfigMap", "theirs", "elsewhere")
        with pytest.raises(refusals.NotFound):
            await given.service.object("shop", "us", key)
        given.by_name["team"] = projects.Project("team")
        [us, _] = (await given.service.tree("shop")).clusters
        assert names(us) == []
        with pytest.raises(refusals.NotFound):
            await given.service.log("shop", "us", pod_logs.Wanted("default", "web-1"))


async def test_a_secret_is_shown_without_its_values_wherever_they_stand() -> None:
    async with world() as given:
        given.secrets.learn_of("shop", [VALUE])
        message = f"it logs in with {VALUE}"
        given.fleet.clusters["us"].put(
            applied("Deployment", "web", metadata_note=message, spec={"paused": message})
        )
        await given.current()

        secret = await given.service.object(
            "shop", "us", manifest.ResourceKey("", "Secret", "default", "keys")
        )
        deployment = await given.service.object(
            "shop", "us", manifest.ResourceKey("apps", "Deployment", "default", "web")
        )

        assert secret.live["data"] == {"password": "*****"}
        assert deployment.live["spec"] == {"paused": "it logs in with *****"}


async def test_an_object_of_a_silent_cluster_is_as_it_was_seen_last() -> None:
    async with world() as given:
        await given.current()
        given.fleet.unavailable["us"] = "it does not answer"
        key = manifest.ResourceKey("apps", "Deployment", "default", "web")

        shown = await given.service.object("shop", "us", key)
        secret = await given.service.object(
            "shop", "us", manifest.ResourceKey("", "Secret", "default", "keys")
        )

        assert shown.live["metadata"]["name"] == "web"
        assert secret.live["data"] == {"password": "*****"}


async def test_only_differences_come_after_a_version() -> None:
    async with world() as given:
        await given.current()
        whole = await given.service.changes("shop", 0)
        assert isinstance(whole, live_representations.LiveTree)
        assert await given.service.changes("shop", whole.version) == ()

        given.fleet.clusters["eu"].put(pod("web-2", "uid-Deployment-web"))
        given.fleet.clusters["eu"].remove("Pod", "web-1")
        await given.live.changed(60)

        changed = await given.service.changes("shop", whole.version)
        assert isinstance(changed, tuple)
        [change] = changed
        assert change.cluster.name == "eu"
        assert "web-2" in names(change.cluster)
        assert "keys" not in names(change.cluster)
        assert change.removed == ("uid-Pod-web-1",)
        # Another process, or one that was restarted, is told everything.
        again = await given.service.changes("shop", 17)
        assert isinstance(again, live_representations.LiveTree)


async def test_what_compares_says_the_drift_of_each_object() -> None:
    class Compares(live_service.NoComparison):
        def words(self, known: records.ApplicationRecord, cluster: str) -> live_service.DriftWords:
            web = manifest.ResourceKey("apps", "Deployment", "default", "web")
            return live_service.DriftWords({web: "differs"}, "inSync")

    async with world() as given:
        await given.current()
        given.service.comparison = Compares()

        [us, _] = (await given.service.tree("shop")).clusters

        assert {node.name: node.drift for node in us.nodes} == {
            "elsewhere": "inSync",
            "settings": "inSync",
            "keys": "inSync",
            "web": "differs",
            "web-1": "",
        }


async def test_readers_are_told_when_what_compares_comes_to_another_result() -> None:
    async with world() as given:
        await given.current()
        tree = await given.service.tree("shop")

        async with asyncio.TaskGroup() as group:
            group.create_task(given.live.changed(3600))
            await asyncio.sleep(1)
            given.live.mark("us", OWNER)

        changed = await given.service.changes("shop", tree.version)
        assert isinstance(changed, tuple)
        assert [change.cluster.name for change in changed] == ["us"]
        assert len(changed[0].cluster.nodes) == len(tree.clusters[0].nodes)


class Counts(live_service.NoComparison):
    """Says nothing, and for which clusters it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def words(self, known: records.ApplicationRecord, cluster: str) -> live_service.DriftWords:
        self.asked.append(cluster)
        return live_service.DriftWords()


async def test_two_hundred_readers_of_one_tree_cost_one_look() -> None:
    async with world() as given:
        await given.current()
        tree = await given.service.tree("shop")
        given.service.comparison = compares = Counts()
        given.fleet.clusters["eu"].put(pod("web-2", "uid-Deployment-web"))
        await given.live.changed(60)

        told = await asyncio.gather(
            *(given.service.changes("shop", tree.version) for _ in range(200))
        )

        assert len({id(each) for each in told}) == 1
        assert compares.asked == ["eu"]


class Log:
    """A client that has a log, and says what was asked for."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines
        self.asked: list[Any] = []
        self.read = 0

    async def follow_log(self, pod: str, **options: Any) -> AsyncIterator[bytes]:
        self.asked.append(options["wanted"])
        for line in self.lines:
            self.read += 1
            yield line.encode()


async def read(log: pod_logs.PodLog) -> list[Any]:
    taken: list[Any] = []
    async with asyncio.timeout(60):
        while not (taken and isinstance(taken[-1], pod_logs.PodLogEnd)):
            taken += log.take(100)
            await log.changed(0.1)
    await log.close()
    return taken


def pod_log(
    client: Log, among: pod_logs.PodLogs | None = None, key: str = "web", **wanted: Any
) -> pod_logs.PodLog:
    masker = redaction.SecretValues([VALUE]).masker()
    asked = pod_logs.Wanted("default", "web-1", **wanted)
    return (among or pod_logs.PodLogs()).open(key, cast("Any", client), asked, masker)


async def test_lines_have_their_times_and_no_secret() -> None:
    client = Log(
        "2026-06-01T12:00:00.123456789Z started",
        "2026-06-01T12:00:00.123456999Z \x1b[31mwith hunter2-canary",
        "2026-06-01T12:00:01Z " + "x" * 9000,
        "no time at all",
    )

    *lines, end = await read(pod_log(client, container="web", tail=10))

    assert [line.text for line in lines[:2]] == ["started", "\ufffd[31mwith *****"]
    assert len(lines[2].text) == 8000
    assert (lines[3].text, lines[3].at) == ("no time at all", None)
    positions = [line.position for line in lines]
    assert positions == sorted(set(positions))
    assert "has ended" in end.reason
    assert client.asked[0].tail == 10


async def test_a_reader_goes_on_behind_the_last_line_that_it_has() -> None:
    lines = [f"2026-06-01T12:00:0{number}Z line {number}" for number in range(5)]
    first = (await read(pod_log(Log(*lines))))[2]
    client = Log(*lines[2:])

    *again, _ = await read(pod_log(client, after=first.position))

    assert [line.text for line in again] == ["line 3", "line 4"]
    assert (client.asked[0].since, client.asked[0].tail) == ("2026-06-01T12:00:02Z", None)


async def test_no_more_is_read_than_a_reader_takes() -> None:
    client = Log(*(f"2026-06-01T12:00:00.{number:06}Z {number}" for number in range(5000)))
    log = pod_log(client)

    assert log.take(100) == ()
    await asyncio.sleep(10)

    assert client.read <= 501
    await log.close()


def texts(taken: Sequence[pod_logs.PodLogLine | pod_logs.PodLogEnd]) -> list[str]:
    return [each.text for each in taken if isinstance(each, pod_logs.PodLogLine)]


def numbered(count: int, text: str = "") -> list[str]:
    return [f"2026-06-01T12:00:00.{each:06}Z {each}{text}" for each in range(1, count + 1)]


async def test_a_log_is_read_once_for_two_hundred_readers() -> None:
    client, logs = Log(*numbered(300)), pod_logs.PodLogs()
    readers = [pod_log(client, logs, tail=10) for _ in range(200)]

    taken = await asyncio.gather(*map(read, readers))

    assert len(client.asked) == 1
    assert {tuple(texts(each)) for each in taken} == {tuple(str(each) for each in range(1, 301))}
    await read(pod_log(client, logs, tail=10))
    assert len(client.asked) == 2


async def test_who_comes_later_begins_with_as_many_lines_as_asked_for() -> None:
    client, logs = Endless(*numbered(400)), pod_logs.PodLogs()
    first = pod_log(client, logs, tail=200)
    known = await following(first, 400)

    few, none, after = (
        pod_log(client, logs, tail=3),
        pod_log(client, logs, tail=0),
        pod_log(client, logs, after=known[397].position),
    )
    others = [
        pod_log(client, logs, tail=500),
        pod_log(client, logs, tail=3, container="other"),
        pod_log(client, logs, tail=3, key="other"),
        pod_log(client, logs, after=1),
    ]

    assert texts(few.take(100)) == ["398", "399", "400"]
    assert texts(none.take(100)) == []
    assert texts(after.take(100)) == ["399", "400"]
    assert len(client.asked) == 1
    for each in others:
        await following(each, 1)
    assert len(client.asked) == 1 + len(others)
    for each in (first, few, none, after, *others):
        await each.close()
    assert client.open == 0


async def test_a_slow_reader_holds_up_nobody_and_hears_what_it_missed() -> None:
    client, logs = Endless(*numbered(9000, "x" * 500)), pod_logs.PodLogs()
    fast, slow = pod_log(client, logs), pod_log(client, logs)
    await following(slow, 1)

    await following(fast, 9000)
    missed, *rest = slow.take(10_000)

    assert isinstance(missed, pod_logs.PodLogLine)
    assert 0 < len(rest) < 3000
    assert missed.text.startswith(f"({9000 - len(rest) - 1} lines were left out")
    assert texts(rest)[-1].startswith("9000x")
    await fast.close()
    await slow.close()


class Endless(Log):
    """A log that goes on for ever."""

    open = 0

    async def follow_log(self, pod: str, **options: Any) -> AsyncIterator[bytes]:
        self.open += 1
        try:
            async for line in super().follow_log(pod, **options):
                yield line
            await asyncio.Event().wait()
        finally:
            self.open -= 1


async def following(log: pod_logs.PodLog, count: int) -> list[pod_logs.PodLogLine]:
    """Return the next lines; `count` at least."""
    taken: list[pod_logs.PodLogLine] = []
    async with asyncio.timeout(60):
        while len(taken) < count:
            some = log.take(1 if count == 1 else 100)
            taken += [each for each in some if isinstance(each, pod_logs.PodLogLine)]
            await log.changed(0.1)
    return taken
