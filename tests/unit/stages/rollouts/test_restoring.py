"""Adopted objects go back to what they were, in an order that users do not notice; in memory."""

from typing import Any

import pytest

import memory_client
import stage_contexts
from volary.clusters.inventory import inventory, inventory_store, snapshot_store
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.stages.rollouts import restoring
from volary.stages.runtime import execution

SHOP = applications.Application("shop").owner
INGRESSES = memory_client.kind("networking.k8s.io", "Ingress", "ingresses")
KINDS = {
    "ConfigMap": memory_client.CONFIG_MAPS,
    "Service": memory_client.SERVICES,
    "Deployment": memory_client.DEPLOYMENTS,
    "Ingress": INGRESSES,
}
PEOPLE = {"manager": "kubectl", "operation": "Update"}
OURS = {"manager": "volary", "operation": "Apply"}


def made(kind: str, name: str, manager: json.JsonObject, **spec: Any) -> json.JsonObject:
    metadata = {"name": name, "namespace": "default", "managedFields": [manager]}
    version = KINDS[kind].api_version
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


BEFORE = [
    made("ConfigMap", "settings", PEOPLE),
    made("Service", "web", PEOPLE, selector={"app": "web"}),
    made("Service", "elsewhere", PEOPLE, externalName="example.com"),
    made("Deployment", "web", PEOPLE, replicas=2),
    made("Ingress", "web", PEOPLE),
]


class World:
    """Objects that people made, which the application has adopted and changed since."""

    def __init__(self) -> None:
        self.cluster = memory_client.MemoryCluster()
        self.cluster.resources.append(INGRESSES)
        self.work = stage_contexts.work(client=self.cluster.client)
        self.known = inventory.Inventory(SHOP, "default")

    async def adopt(self) -> None:
        bodies = [self.cluster.put(KINDS[body["kind"]], body) for body in BEFORE]
        await self.work.context.adoption.keep(self.cluster.client, self.known, bodies, "run-1")
        for body in BEFORE:
            self.change(body["kind"], body["metadata"]["name"], OURS)

    def change(self, kind: str, name: str, manager: json.JsonObject) -> None:
        self.cluster.put(KINDS[kind], made(kind, name, manager, changed=True))

    async def begin(self, *running: json.JsonObject) -> restoring.Restoring:
        return await restoring.begin(self.work, [manifest.Manifest(body) for body in running])

    def written(self) -> list[str]:
        """What was replaced, in the order of the first time."""
        every = dict.fromkeys(line for line in self.cluster.asked if line.startswith("update"))
        return [line.removeprefix("update ") for line in every]

    async def stored(self) -> inventory.Inventory:
        client = self.cluster.client
        return await inventory_store.load(client, SHOP, namespaces=["default"], home="default")


async def adopted() -> World:
    given = World()
    await given.adopt()
    given.cluster.asked.clear()
    return given


@pytest.mark.looptime
async def test_everything_is_as_it_was_and_then_nothing_is_kept() -> None:
    """Services without pods wait for their workloads, and what leads to Services comes last."""
    given = await adopted()

    back = await given.begin()
    said = await back.restore()

    assert said.startswith("5 objects restored as before; ")
    assert given.written() == [
        "services/elsewhere",
        "configmaps/settings",
        "deployments/web",
        "services/web",
        "ingresses/web",
    ]
    for body in BEFORE:
        live = given.cluster.find(KINDS[body["kind"]], body["metadata"]["name"])
        assert live is not None
        assert live["spec"] == body["spec"]
        assert live["metadata"]["managedFields"] == [PEOPLE]
    assert given.work.touched
    assert await back.verify() == []
    assert back.adopted == {manifest.Manifest(body).key for body in BEFORE}

    await back.finish()

    client = given.cluster.client
    assert await snapshot_store.load(client, SHOP, namespaces=["default"]) == []
    after = await given.stored()
    assert (after.adopted, after.has_snapshot) == (frozenset(), False)


async def test_what_is_not_as_it_was_is_named_with_the_part() -> None:
    given = await adopted()
    given.cluster.remove(memory_client.DEPLOYMENTS, "web")
    back = await given.begin(*(body for body in BEFORE if body["kind"] == "Service"))

    assert await back.verify() == [
        "ConfigMap default/settings differs in .spec",
        "Deployment default/web is not there",
        "Ingress default/web differs in .spec",
    ]


@pytest.mark.looptime
async def test_what_somebody_else_has_by_now_fails_the_rollback() -> None:
    given = await adopted()
    given.change("ConfigMap", "settings", PEOPLE)
    said = "ConfigMap default/settings is not restored: somebody else changed it since"

    with pytest.raises(execution.StageFailedError, match=f"^{said}$"):
        await (await given.begin()).restore()

    assert said in stage_contexts.said(given.work).warnings


async def test_what_may_pass_is_tried_again() -> None:
    given = await adopted()
    given.cluster.refusals["update configmaps"] = errors.TemporaryError("it is busy")

    with pytest.raises(errors.TemporaryError, match="it is busy"):
        await (await given.begin()).restore()


async def test_a_kind_that_is_served_no_more_is_named() -> None:
    given = await adopted()
    given.cluster.resources.remove(INGRESSES)

    with pytest.raises(execution.StageFailedError, match=r"^not restored: .*Ingress"):
        await given.begin()


async def test_without_adopted_objects_nothing_is_done() -> None:
    given = World()
    back = await given.begin()
    given.cluster.asked.clear()

    assert await back.restore() == ""
    await back.finish()

    assert given.cluster.asked == []
