"""A Service leads to other pods only once they are ready; in memory."""

import pytest

import memory_cluster
from memory_world import World, now
from volary.manifests.ownership import tracking
from volary.model import applications, routing_options
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.model.pipeline.stage_kinds import stage_kind
from volary.stages.kinds import rollback
from volary.stages.rollouts import service_rollouts
from volary.stages.runtime import execution

pytestmark = pytest.mark.looptime
APP = applications.Application(
    name="shop",
    workloads=(routing_options.ObjectReference("Service", "shop"),),
    service=routing_options.ObjectReference(name="shop"),
)
SELECTOR = {"app": "shop", memory_cluster.KEY: "canary"}


def world(*, ready: bool) -> World:
    """The Service leads to primary; pods of the other version are ready or not."""
    given = World(application=APP)
    given.cluster.put(memory_cluster.pod("new", "canary", ready=ready))
    return given


def switched() -> list[manifest.Manifest]:
    return [manifest.Manifest(memory_cluster.service("shop", "canary"))]


def selector(given: World) -> dict[str, str]:
    live = given.cluster.find("Service", "shop")
    assert live is not None
    return dict(live["spec"]["selector"])


async def test_a_service_is_switched_to_pods_that_are_ready() -> None:
    given = world(ready=True)
    work = given.work()

    assert await service_rollouts.switch(work, switched()) == "shop switched"

    assert selector(given) == SELECTOR
    assert work.context.propagation.left.total_seconds() == 3


async def test_it_waits_for_the_first_of_them() -> None:
    given = world(ready=False)
    given.later(20, lambda: given.cluster.put(memory_cluster.pod("new", "canary")))

    await service_rollouts.switch(given.work(), switched())

    assert (selector(given), now()) == (SELECTOR, 20)


async def test_without_any_it_stays_where_it_is() -> None:
    given = world(ready=False)
    reason = "is not switched: no pod is ready among app=shop,pipecd.dev/variant=canary"

    with pytest.raises(execution.StageFailedError, match=f"^Service default/shop {reason}$"):
        await service_rollouts.switch(given.work(60), switched())

    assert selector(given)[memory_cluster.KEY] == "primary"
    assert now() == 60


async def test_a_rollback_switches_once_the_pods_of_the_running_version_are_ready() -> None:
    given = world(ready=False)
    given.later(20, lambda: given.cluster.put(memory_cluster.pod("new", "canary")))

    async def running() -> list[manifest.Manifest]:
        return switched()

    async def target() -> list[manifest.Manifest]:
        return [manifest.Manifest(memory_cluster.service())]

    work = given.work(running_commit="old", running_source=running, target_source=target)

    said = await rollback.run(work, stage_kind.NoOptions())

    assert said.startswith("back at old: ")
    assert selector(given) == SELECTOR
    assert any("has to wait: what it led to has no ready pod" in it for it in given.report.warnings)
    live = given.cluster.find("Service", "shop")
    assert live is not None
    assert tracking.commit_of(live) == "old"
    assert live["metadata"]["annotations"][tracking.VARIANT] == variant.Variant.PRIMARY
