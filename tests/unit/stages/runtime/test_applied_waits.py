"""What was applied is still what was applied when a wait for it ends; in memory."""

from typing import Any

import pytest

import memory_client
import stage_contexts
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
