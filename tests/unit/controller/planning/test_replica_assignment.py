"""Which clusters replicas are divided over, and how many pods there are, as far as files tell."""

from datetime import timedelta

import pytest

import reconciler_fixtures as given
from volary.controller.planning import cluster_questions, replica_assignment
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.objects import manifest
from volary.placement.failover import situations

SHOP = applications.Application("shop", applications.Dialect.VOLARY)
FLEET = fleets.Fleet((fleets.Cluster("us"), fleets.Cluster("eu", suspended=True)))
PATIENCE = timedelta(seconds=1)
WEB = manifest.Manifest(
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3},
    }
)
SCALER = manifest.Manifest(
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 9,
        },
    }
)


@pytest.mark.parametrize(
    ("placed", "names"),
    [
        (situations.PlacementState(), ["us", "eu"]),
        (situations.PlacementState(("us", "eu")), ["us", "eu"]),
        (situations.PlacementState(("us",)), ["us"]),
        (situations.PlacementState(("us",), away={"eu": "it was lost"}), ["us"]),
        (situations.PlacementState(away={"eu": "it was lost"}), ["us"]),
    ],
)
def test_who_is_left_out_for_now_keeps_what_it_has(
    placed: situations.PlacementState, names: list[str]
) -> None:
    members = replica_assignment.members_of(SHOP, FLEET, ("us",), placed)

    assert [member.name for member in members] == names


async def test_pods_are_those_that_are_written_unless_something_else_scales_them() -> None:
    async with given.leading() as world:
        questions = cluster_questions.ClusterQuestions(world.leader.dependencies.clusters, PATIENCE)

        pods = await replica_assignment.read_primary_pods(questions, SHOP, {"us": [WEB]})
        assert pods == {"us": {"Deployment web": 3}}
        with pytest.raises(errors.UserError, match="how many pods primary has is not known"):
            await replica_assignment.read_primary_pods(questions, SHOP, {"us": [WEB, SCALER]})
