"""Live state: what is in the clusters is seen as it changes, by watches that all share."""

import asyncio

from live_world import drawn, followed, kinds, named
from stage_world import NEW, OLD, world
from volary.model.statuses import HealthStatus


async def test_a_tree_has_what_was_applied_and_what_controllers_made_of_it() -> None:
    async with world("us") as given, followed(given) as seen:
        await given.deployed(OLD)

        view = await seen.until(lambda view: view.tree.ready == 2 and len(named(view, "Pod")) == 2)

        assert kinds(view) == [
            "ConfigMap",
            "Service",
            ".EndpointSlice",
            "Deployment",
            ".ReplicaSet",
            "..Pod",
            "..Pod",
        ], drawn(view)
        [deployment] = named(view, "Deployment")
        assert (deployment.node.ready, deployment.node.total) == (2, 2)
        assert deployment.node.images == ("shop:v1",)
        assert deployment.node.commit == OLD
        assert all(pod.node.node for pod in named(view, "Pod"))


async def test_a_killed_pod_is_replaced_in_the_tree() -> None:
    async with world("us") as given, followed(given) as seen:
        await given.deployed(OLD)
        before = await seen.until(
            lambda view: view.tree.ready == 2 and len(named(view, "Pod")) == 2
        )
        killed = named(before, "Pod")[0].node
        client = await given.clients.client("us")
        kind = (await client.discover()).find("", "Pod")
        await client.delete(kind, killed.name, namespace="default")

        after = await seen.until(
            lambda view: (
                view.tree.ready == 2
                and len(named(view, "Pod")) == 2
                and killed.uid not in {pod.node.uid for pod in named(view, "Pod")}
            )
        )

        change = seen.live.changes("us", seen.owner, before.version)
        assert change is not None
        assert killed.uid in change.removed
        assert len(change.tree.nodes) < len(after.tree.nodes)


async def test_a_new_revision_replaces_the_replica_set() -> None:
    async with world("us") as given, followed(given) as seen:
        await given.deployed(OLD)
        first = await seen.until(lambda view: view.tree.ready == 2)
        [old] = named(first, "ReplicaSet")

        await given.deployed(NEW)

        view = await seen.until(
            lambda view: (
                [one.node.images for one in named(view, "ReplicaSet")] == [("shop:v2",)]
                and len(named(view, "Pod")) == 2
                and view.tree.health.status is HealthStatus.HEALTHY
            )
        )
        assert old.node.uid not in {one.node.uid for one in named(view, "ReplicaSet")}


async def test_a_cluster_that_is_lost_is_stale_and_comes_back_as_it_is_then() -> None:
    async with world("us", "eu") as given, followed(given) as seen:
        await given.deployed(OLD)
        await seen.until(lambda view: view.tree.ready == 2, "eu")
        await seen.until(lambda view: view.tree.ready == 2, "us")
        eu = given.running.clusters["eu"]

        eu.faults.change({"lost": "refuse"})
        lost = await seen.until(lambda view: bool(view.status.stale_reason), "eu")

        assert "does not answer" in lost.status.stale_reason
        assert lost.tree.ready == 2
        assert not seen.live.is_current("eu")
        assert seen.live.is_current("us")

        listener = seen.live.listen()
        eu.faults.change({"lost": ""})
        await seen.current("eu")
        heard = await listener.changed()

        assert ("eu", seen.owner.id) in heard


async def test_expired_watches_are_listed_anew_without_losing_anything() -> None:
    async with world("us") as given, followed(given) as seen:
        await given.deployed(OLD)
        await seen.until(lambda view: view.tree.ready == 2)
        faults = given.running.clusters["us"].faults

        faults.change({"expireWatches": True, "cutWatches": 0.05})
        await given.deployed(NEW)
        await asyncio.sleep(1)
        faults.change({"expireWatches": False, "cutWatches": None})

        view = await seen.until(
            lambda view: (
                [one.node.images for one in named(view, "ReplicaSet")] == [("shop:v2",)]
                and len(named(view, "Pod")) == 2
                and view.tree.ready == 2
            )
        )
        assert view.tree.health.status is HealthStatus.HEALTHY
