"""What was applied is still what was applied when a wait for it ends; in memory."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import memory_client
import stage_contexts
from volary.clusters.api import api_errors
from volary.model import applications, json
from volary.model.objects import manifest, object_health, ownership
from volary.stages.runtime import applied_waits, cluster_changes, execution

pytestmark = pytest.mark.looptime
CONFIG_MAPS = memory_client.CONFIG_MAPS
WRITTEN = {"f:data": {"f:a": {}}}
#: So that it is waited for.
WAITED = object_health.Rule("", "ConfigMap", treat_as="healthy")
SENTENCE = "ConfigMap default/c: somebody ({}) changed .data.a to theirs while the stage waited"


def config(**metadata: Any) -> manifest.Manifest:
    body: json.JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "ours"}}
    return manifest.Manifest({**body, "metadata": {"name": "c", **metadata}})


class World:
    """A ConfigMap that was applied; somebody writes into it as often as they are told to."""

    def __init__(self, policy: str = "takeBack", *exceptions: str) -> None:
        conflicts = ownership.Conflicts(ownership.ConflictPolicy(policy), exceptions)
        application = applications.Application("shop", conflicts=conflicts, health=(WAITED,))
        self.cluster = memory_client.MemoryCluster()
        self.work = stage_contexts.work(client=self.cluster.client, application=application)
        self.beside = config(name="d")

    async def apply(self) -> None:
        await cluster_changes.apply(self.work, [config(), self.beside])

    def write(self, manager: str) -> None:
        live = self.cluster.find(CONFIG_MAPS, "c")
        assert live is not None
        owner = {"manager": manager, "operation": "Update", "apiVersion": "v1"}
        entries = [*live["metadata"]["managedFields"], {**owner, "fieldsV1": WRITTEN}]
        metadata = {**live["metadata"], "managedFields": entries}
        self.cluster.put(CONFIG_MAPS, {**live, "metadata": metadata, "data": {"a": "theirs"}})

    async def wait(self) -> str:
        return await applied_waits.wait(self.work, [config(), self.beside])

    @property
    def value(self) -> str:
        live = self.cluster.find(CONFIG_MAPS, "c")
        assert live is not None
        return str(live["data"]["a"])

    @property
    def warnings(self) -> list[str]:
        return stage_contexts.said(self.work).warnings


async def test_what_nobody_changed_is_only_waited_for() -> None:
    given = World()
    await given.apply()

    assert await given.wait()
    assert (given.value, given.warnings) == ("ours", [])


async def test_what_people_change_is_taken_back() -> None:
    given = World()
    await given.apply()
    given.write("k9s")

    await given.wait()

    assert (given.value, given.warnings) == ("ours", [SENTENCE.format("k9s")])


@pytest.mark.parametrize(
    ("world", "manager"), [(World, "operator"), (lambda: World("refuse"), "k9s")]
)
async def test_what_may_not_be_taken_back_fails_the_stage(world: Any, manager: str) -> None:
    given = world()
    await given.apply()
    given.write(manager)

    with pytest.raises(execution.StageFailedError) as failed:
        await given.wait()

    assert str(failed.value) == SENTENCE.format(manager)
    assert given.value == "theirs"


@pytest.mark.parametrize(
    ("policy", "exception", "manager"),
    [("takeBack", ".data.a", "k9s"), ("takeBack", "k9s", "k9s")],
)
async def test_what_the_application_leaves_to_others_is_theirs(
    policy: str, exception: str, manager: str
) -> None:
    given = World(policy, exception)
    await given.apply()
    given.write(manager)

    await given.wait()

    assert (given.value, given.warnings) == ("theirs", [])


async def test_who_does_not_rest_wins_after_two_times() -> None:
    given = World()
    await given.apply()
    given.write("k9s")
    written: list[str] = []

    def again(asked: str) -> None:
        if asked.startswith("watch configmaps"):
            written.append(given.value)
            given.write("k9s")

    given.cluster.before = again

    with pytest.raises(execution.StageFailedError, match=r"somebody \(k9s\) changed \.data\.a"):
        await given.wait()

    assert len(given.warnings) == 3


def deployment(replicas: int) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"replicas": replicas},
    }


async def test_what_an_autoscaler_decides_stays_and_is_told_once() -> None:
    """Taking it back would change nothing, so it is neither tried for ever nor a failure."""
    given = World()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}
    given.cluster.put(
        memory_client.AUTOSCALERS,
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 9},
        },
    )
    rule = object_health.Rule("apps", "Deployment", treat_as="healthy")
    conflicts = ownership.Conflicts(ownership.ConflictPolicy.TAKE_BACK)
    application = applications.Application("shop", conflicts=conflicts, health=(rule,))
    work = stage_contexts.work(client=given.cluster.client, application=application)
    item = manifest.Manifest(deployment(2))
    await cluster_changes.apply(work, [item])
    live = given.cluster.find(memory_client.DEPLOYMENTS, "shop")
    assert live is not None
    scaled = {
        "manager": "kubectl-scale",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    metadata = {**live["metadata"], "managedFields": [*live["metadata"]["managedFields"], scaled]}
    given.cluster.put(
        memory_client.DEPLOYMENTS, {**live, "metadata": metadata, "spec": {"replicas": 5}}
    )

    assert await applied_waits.wait(work, [item])

    after = given.cluster.find(memory_client.DEPLOYMENTS, "shop")
    assert after is not None
    assert after["spec"]["replicas"] == 5
    told = [line for line in stage_contexts.said(work).warnings if "replicas" in line]
    assert told == [
        "Deployment default/shop: somebody (kubectl-scale) changed .spec.replicas to 5"
        " while the stage waited"
    ]


SHOP = {"app": "shop"}


def web() -> manifest.Manifest:
    template = {"metadata": {"labels": SHOP}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": SHOP}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return manifest.Manifest({**body, "spec": spec})


class SlowWorld:
    """A Deployment that becomes ready after a while, and ConfigMaps that nobody waits for."""

    def __init__(self, policy: str = "takeBack", *, others: int = 1) -> None:
        conflicts = ownership.Conflicts(ownership.ConflictPolicy(policy))
        application = applications.Application("shop", conflicts=conflicts)
        self.cluster = memory_client.MemoryCluster()
        self.work = stage_contexts.work(client=self.cluster.client, application=application)
        self.others = [config(name=f"c{number}", labels=SHOP) for number in range(others)]

    async def run(self, deed: Callable[["SlowWorld"], None], *, seconds: float = 60) -> str:
        """Apply and wait; `deed` is done in the middle of that time."""
        manifests = [*self.others, web()]
        await cluster_changes.apply(self.work, manifests)
        self.cluster.asked.clear()

        loop = asyncio.get_running_loop()
        loop.call_later(seconds / 2, deed, self)
        loop.call_later(seconds, self.become_ready)
        return await applied_waits.wait(self.work, manifests)

    def become_ready(self) -> None:
        live = self.cluster.find(memory_client.DEPLOYMENTS, "web")
        assert live is not None
        counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = {"observedGeneration": 1, **dict.fromkeys(counts, 1)}
        metadata = {**live["metadata"], "generation": 1}
        body = {**live, "metadata": metadata, "status": status}
        self.cluster.put(memory_client.DEPLOYMENTS, body)

    def find(self, name: str = "c0") -> json.JsonObject | None:
        return self.cluster.find(CONFIG_MAPS, name)

    def write(self, manager: str, value: str = "theirs", name: str = "c0") -> None:
        live = self.find(name)
        assert live is not None
        owner = {"manager": manager, "operation": "Update", "apiVersion": "v1"}
        entries = [*live["metadata"]["managedFields"], {**owner, "fieldsV1": WRITTEN}]
        metadata = {**live["metadata"], "managedFields": entries}
        self.cluster.put(CONFIG_MAPS, {**live, "metadata": metadata, "data": {"a": value}})

    @property
    def reads(self) -> list[str]:
        asked = self.cluster.asked
        return [line for line in asked if line.startswith(("get", "list")) and "configmaps" in line]


def change(world: SlowWorld) -> None:
    world.write("kubectl-edit")


def delete(world: SlowWorld) -> None:
    world.cluster.remove(CONFIG_MAPS, "c0")


def do_nothing(_world: SlowWorld) -> None:
    pass


CHANGED = "somebody (kubectl-edit) changed .data.a to theirs"
DEEDS = pytest.mark.parametrize(
    ("deed", "said"), [(change, CHANGED), (delete, "somebody deleted it")]
)


@DEEDS
async def test_what_is_not_waited_for_is_taken_back_too(
    deed: Callable[[SlowWorld], None], said: str
) -> None:
    given = SlowWorld()

    await given.run(deed)

    live = given.find()
    assert live is not None
    assert live["data"] == {"a": "ours"}
    warning = f"ConfigMap default/c0: {said} while the stage waited"
    assert stage_contexts.said(given.work).warnings == [warning]


@DEEDS
async def test_where_nothing_is_taken_back_it_fails_the_stage(
    deed: Callable[[SlowWorld], None], said: str
) -> None:
    given = SlowWorld("refuse")

    with pytest.raises(execution.StageFailedError) as failed:
        await given.run(deed)

    assert str(failed.value) == f"ConfigMap default/c0: {said} while the stage waited"


async def test_who_insists_beside_the_workloads_is_seen_although_nothing_is_waited_for() -> None:
    given = SlowWorld()

    def insist(world: SlowWorld) -> None:
        def again(asked: str) -> None:
            if asked == "get configmaps/c0" and (live := world.find()) and "ours" in str(live):
                world.write("kubectl-edit")

        world.cluster.before = again

    with pytest.raises(execution.StageFailedError, match=r"somebody \(kubectl-edit\) changed"):
        await given.run(insist)

    assert len(stage_contexts.said(given.work).warnings) == 3


async def test_what_controllers_write_beside_the_workloads_is_theirs() -> None:
    given = SlowWorld()

    await given.run(lambda world: world.write("cainjector"))

    live = given.find()
    assert live is not None
    assert live["data"] == {"a": "theirs"}
    assert stage_contexts.said(given.work).warnings == []


@pytest.mark.parametrize("seconds", [60, 2])
async def test_a_workload_that_is_deleted_is_applied_again(seconds: float) -> None:
    """At once, as a wait that ended badly is always looked into."""
    given = SlowWorld()

    def delete_workload(world: SlowWorld) -> None:
        world.cluster.remove(memory_client.DEPLOYMENTS, "web")

    await given.run(delete_workload, seconds=seconds)

    assert stage_contexts.said(given.work).warnings == [
        "Deployment default/web: somebody deleted it while the stage waited"
    ]


async def test_a_workload_that_is_late_says_so_beside_what_was_done() -> None:
    given = SlowWorld("refuse")

    with pytest.raises(execution.StageFailedError) as failed:
        await given.run(change, seconds=150)

    assert str(failed.value).startswith("not ready after 100 s: ")
    assert str(failed.value).endswith(f"; ConfigMap default/c0: {CHANGED} while the stage waited")


@pytest.mark.parametrize(
    ("seconds", "others", "reads"),
    [
        (4, 1, []),
        (6, 1, ["get configmaps/c0"]),
        (6, 2, ["get configmaps/c0", "get configmaps/c1"]),
        (6, 9, ["list configmaps/default"]),
    ],
)
async def test_what_a_comparison_costs(seconds: float, others: int, reads: list[str]) -> None:
    given = SlowWorld(others=others)

    await given.run(do_nothing, seconds=seconds)

    assert given.reads == reads


async def test_what_a_list_does_not_show_is_asked_for_by_name() -> None:
    """Its labels may be gone; it need not be."""
    given = SlowWorld(others=5)

    def take_labels(world: SlowWorld) -> None:
        live = world.find()
        assert live is not None
        metadata = {key: value for key, value in live["metadata"].items() if key != "labels"}
        (entry,) = metadata["managedFields"]
        fields = {**entry["fieldsV1"], "f:metadata": {}}
        metadata["managedFields"] = [{**entry, "fieldsV1": fields}]
        world.cluster.put(CONFIG_MAPS, {**live, "metadata": metadata})

    await given.run(take_labels)

    assert given.reads[:2] == ["list configmaps/default", "get configmaps/c0"]
    (warning,) = stage_contexts.said(given.work).warnings
    assert "somebody removed .metadata.labels while the stage waited" in warning


@pytest.mark.parametrize("others", [1, 3])
async def test_what_may_not_be_read_is_not_compared(others: int) -> None:
    given = SlowWorld(others=others)
    refused = api_errors.Forbidden("no", status=403, reason="Forbidden")

    def forbid(world: SlowWorld) -> None:
        delete(world)
        world.cluster.refusals |= {"get configmaps": refused, "list configmaps": refused}

    await given.run(forbid)

    assert stage_contexts.said(given.work).warnings == []


async def test_a_cluster_that_fails_to_say_it_is_no_success() -> None:
    given = SlowWorld()
    failure = api_errors.ServerError("no", status=500)

    def fail(world: SlowWorld) -> None:
        world.cluster.refusals["get configmaps"] = failure

    with pytest.raises(api_errors.ServerError):
        await given.run(fail)
