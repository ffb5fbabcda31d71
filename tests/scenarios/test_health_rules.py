"""Stages wait for custom objects by a user's rule, and fail when it says that they are broken."""

import asyncio
from dataclasses import replace

import pytest

from stage_world import NEW, World, made, world
from volary.model import applications, json
from volary.model.objects import object_health
from volary.model.pipeline.stage_kinds import rollout_stages

SYNC = rollout_stages.SyncOptions()
RULE = object_health.Rule(
    "example.com",
    "Queue",
    healthy="object.status.phase == 'Ready'",
    degraded="object.status.phase == 'Failed'",
    message="object.status.phase",
)
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "queues.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "queues",
            "singular": "queue",
            "kind": "Queue",
            "listKind": "QueueList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def queue() -> json.JsonObject:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Queue",
        "metadata": {"name": "orders"},
        "spec": {"size": 3},
    }


async def say(given: World, phase: str) -> None:
    """Write the status as soon as the object is there, as its controller would."""
    registry = given.running.clusters["us"].registry
    while given.find("us", "Queue.example.com", "orders") is None:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    kind = registry.kind("example.com/v1", "Queue")
    live = registry.get(kind, "default", "orders")
    registry.update(kind, "default", "orders", {**live, "status": {"phase": phase}})


@pytest.fixture
def shop() -> applications.Application:
    return applications.Application(name="shop", health=(RULE,))


async def test_a_stage_waits_until_the_rule_holds(shop: applications.Application) -> None:
    async with world("us", application=shop, definitions=(DEFINITION,)) as given:
        given.sources[NEW] = [made(queue())]

        async def controller() -> None:
            await say(given, "Building")
            await asyncio.sleep(0.2)
            await say(given, "Ready")

        outcomes, _ = await asyncio.gather(
            given.run(rollout_stages.SYNC.name, SYNC, running=""), controller()
        )

        assert outcomes["us"].status == "succeeded"
        said = [each.sentence for each in given.reports["us"].progress_said]
        assert "orders: Building" in said
        assert said[-1] == "1 of 1 ready"


async def test_a_stage_fails_when_the_rule_says_that_it_is_broken(
    shop: applications.Application,
) -> None:
    async with world("us", application=shop, definitions=(DEFINITION,)) as given:
        given.sources[NEW] = [made(queue())]

        outcomes, _ = await asyncio.gather(
            given.run(rollout_stages.SYNC.name, SYNC, running=""), say(given, "Failed")
        )

        assert outcomes["us"].status == "failed"
        assert outcomes["us"].reason == "orders: Failed"


async def test_without_a_rule_a_stage_goes_on_and_says_that_nothing_is_known(
    shop: applications.Application,
) -> None:
    unassessed = replace(shop, health=())
    async with world("us", application=unassessed, definitions=(DEFINITION,)) as given:
        given.sources[NEW] = [made(queue())]

        outcomes = await given.run(rollout_stages.SYNC.name, SYNC, running="", limit=5)

        assert outcomes["us"].status == "succeeded"
        assert (
            "Queue default/orders: no rule says when a Queue (example.com) is healthy:"
            " it was applied and is there, more is not known"
        ) in outcomes["us"].details
