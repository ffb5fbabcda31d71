"""What clusters are made of, as they tell it, and who has a turn to be read."""

from datetime import timedelta

from stage_world import OLD, World, deployment, made, world
from volary.clusters.observe import cluster_facts

NAMES = ("us", "eu", "asia")
PATIENCE = timedelta(seconds=2)


async def read(given: World, name: str) -> cluster_facts.ClusterFacts:
    return await cluster_facts.read(given.clients, name, patience=PATIENCE)


async def test_what_a_cluster_is_made_of_and_what_it_does_not_tell() -> None:
    async with world(*NAMES) as given:
        clusters = given.running.clusters
        body = deployment("shop:v1", replicas=2)
        body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
        given.sources = {OLD: [made(body)]}
        await given.deployed(OLD, targets=("us",))
        clusters["eu"].faults.change({"denied": ["list pods"]})
        clusters["asia"].faults.change({"lost": "refuse"})
        us, eu, asia = [await read(given, name) for name in NAMES]
        clusters["eu"].faults.change({"denied": ["list nodes"]})
        nodeless = await read(given, "eu")

    assert us.version.startswith("v1.")
    assert (us.nodes, us.ready_nodes, us.problem) == (3, 3, "")
    assert us.capacity is not None
    assert us.free is not None
    # Three nodes of eight CPUs, less two pods of one each.
    assert (us.capacity.cpu, us.free.cpu) == (24.0, 22.0)
    assert us.capacity.pods - us.free.pods == 2
    assert (eu.capacity, eu.free) == (us.capacity, None)
    assert "list pods" in eu.problem
    assert (nodeless.version, nodeless.nodes, nodeless.capacity) == (us.version, None, None)
    assert "list nodes" in nodeless.problem
    assert (asia.version, asia.nodes) == ("", None)
    assert asia.problem
