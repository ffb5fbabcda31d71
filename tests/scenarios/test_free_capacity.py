"""Free capacity as clusters tell it, and what is known of those that do not."""

from dataclasses import replace
from datetime import timedelta

import pytest

from stage_world import OLD, World, deployment, made, world
from volary.clusters.observe import free_capacity
from volary.controller.planning import cluster_questions, replica_assignment
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.model.placement import overrides
from volary.placement.failover import situations
from volary.placement.replicas import capacity

NAMES = ("us", "eu", "asia")
PATIENCE = timedelta(seconds=2)
POD = {"containers": [{"name": "shop", "resources": {"requests": {"cpu": "1"}}}]}
SHOP = manifest.ResourceKey("apps", "Deployment", "", "shop")
AVAILABLE = overrides.Differences(
    replicas=overrides.ReplicaDivision(
        overrides.Division.DIVIDED, preference=overrides.Preference.AVAILABLE
    )
)
DIVIDED = applications.Application(name="shop", differences=AVAILABLE)


def shop(replicas: int) -> list[manifest.Manifest]:
    body = deployment("shop:v1", replicas=replicas)
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    return [made(body)]


async def decided(given: World, replicas: int) -> replica_assignment.ReplicaNumbers:
    """Decide as if nobody remembered anything."""
    members = given.clients.fleet.clusters
    wanted = {name: shop(replicas) for name in NAMES}
    return await replica_assignment.assign_replicas(
        cluster_questions.ClusterQuestions(given.clients, PATIENCE), DIVIDED, wanted, members, None
    )


async def test_what_is_free_and_who_does_not_tell() -> None:
    async with world(*NAMES, application=DIVIDED) as given:
        clusters = given.running.clusters
        given.sources = {OLD: shop(2)}
        await given.deployed(OLD, targets=("us", "eu"))
        clusters["eu"].faults.change({"denied": ["list nodes"]})
        clusters["asia"].faults.change({"lost": "refuse"})

        found = await free_capacity.read(given.clients, NAMES, patience=PATIENCE)
        more = await decided(given, 9)
        fewer = await decided(given, 3)

        # Three nodes of eight CPUs, less two pods of one each.
        assert list(found.rooms) == ["us"]
        assert capacity.pods_that_fit(found.rooms["us"], POD) == 22
        assert "list nodes" in found.unreadable["eu"]
        assert "asia" in found.unreadable["asia"]
        # What runs was read live; eu keeps it, and nothing is placed on asia.
        assert more.before.replicas(SHOP) == {"us": 2, "eu": 2}
        assert more.now.replicas(SHOP) == {"us": 7, "eu": 2}
        assert set(more.now.unavailable) == {"eu", "asia"}
        assert more.now.workloads[0].reason == "5 more by free capacity: us 7, eu 2; eu keeps 2"
        assert sorted(str(each) for each in more.warnings)[1].startswith("eu gets no more replicas")
        # To take some away nobody has to know what is free.
        assert fewer.now.replicas(SHOP) == {"us": 1, "eu": 2}
        assert fewer.now.read_at == {}
        with pytest.raises(errors.UserError, match=r"not enough .*free: us 22; asia: .* eu: "):
            await decided(given, 99)


async def test_what_primary_has_is_read_live_where_others_decide_it() -> None:
    async with world("us", "eu") as given:
        given.sources = {OLD: shop(3)}
        await given.deployed(OLD)
        open_body = shop(1)[0].body
        spec = {key: each for key, each in open_body["spec"].items() if key != "replicas"}
        unwritten = [made({**open_body, "spec": spec})]
        manifests = {"us": unwritten, "eu": shop(5)}

        async def read() -> dict[str, dict[str, int]]:
            app = given.application
            questions = cluster_questions.ClusterQuestions(given.clients, PATIENCE)
            return await replica_assignment.read_primary_pods(questions, app, manifests)

        assert await read() == {"us": {"Deployment shop": 3}, "eu": {"Deployment shop": 5}}
        given.running.clusters["us"].faults.change({"lost": "refuse"})
        with pytest.raises(errors.UserError, match="how many pods primary has is not known"):
            await read()


def test_who_is_divided_over() -> None:
    known = fleets.Fleet(tuple(fleets.Cluster(each, suspended=each == "eu") for each in NAMES))
    app = replace(DIVIDED, targets=applications.TargetSelector(exclude=("asia",)))

    def names(placed: situations.PlacementState) -> list[str]:
        return [each.name for each in replica_assignment.members_of(app, known, ("us",), placed)]

    assert names(situations.PlacementState()) == ["us", "eu"]
    assert names(situations.PlacementState(away={"eu": "lost"})) == ["us"]
    assert names(situations.PlacementState(chosen=("us",))) == ["us"]
