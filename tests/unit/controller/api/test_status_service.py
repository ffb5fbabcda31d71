"""Which clusters an application is looked at in, and which of them it is for."""

from dataclasses import replace
from datetime import UTC, datetime

from volary.clusters.observe import live_state
from volary.controller.api import status_service
from volary.controller.fleet import surveys
from volary.controller.planning import project_checks
from volary.manifests import redaction
from volary.manifests.health import fleet_status
from volary.model import applications, projects, statuses
from volary.model.fleet import fleets, taints
from volary.model.objects import manifest, object_health, ownership
from volary.model.placement import rollouts, spread_constraints
from volary.placement.failover import situations

LOST = taints.Taint(taints.UNREACHABLE, taints.Effect.NO_SCHEDULE)
TWO = (spread_constraints.Constraint(spread_constraints.Field.CLUSTER, max_groups=2),)


def shop(spread: tuple[spread_constraints.Constraint, ...] = ()) -> applications.Application:
    return applications.Application("shop", applications.Dialect.VOLARY, spread=spread)


def members(*, lost: str = "") -> fleets.Fleet:
    return fleets.Fleet(
        tuple(
            fleets.Cluster(name, taints=(LOST,) if name == lost else ())
            for name in ("us", "eu", "asia")
        )
    )


def test_it_is_for_the_clusters_that_its_spread_chooses() -> None:
    found = status_service.subject(shop(TWO), members())

    assert found.targets == ("eu", "asia")
    # Something of it may be left there.
    assert "us" in found.others


def test_clusters_that_its_project_may_not_deploy_to_are_not_named() -> None:
    europe = projects.Destination(rollouts.ClusterSelector(names=("eu",)), ("shop",))
    project = projects.Project("shop", destinations=(europe,))

    everything = project_checks.seen_fleet(None, members(lost="us"))
    narrowed = project_checks.seen_fleet(project, members(lost="us"))
    found = status_service.subject(shop(), narrowed)

    assert everything == members(lost="us")
    assert {*found.targets, *found.others} == {"eu"}


def test_it_is_known_by_the_name_of_its_file_and_where_that_is() -> None:
    """A cluster that nobody has asked yet may know others of its name."""
    origin = ownership.Origin("git.example.com/team/shop", "deploy")
    registered = replace(shop(), name="shop-of-the-team", declared="shop", origin=origin)

    found = status_service.subject(registered, members())

    assert found.application == "shop-of-the-team"
    assert found.whose == live_state.ApplicationObjects("shop", origin)


def test_where_it_is_counts_and_not_where_it_would_be_chosen_anew() -> None:
    placed = situations.PlacementState(chosen=("us", "eu"))

    assert status_service.subject(shop(TWO), members(), (), placed).targets == ("us", "eu")


def test_a_lost_cluster_that_it_is_on_is_looked_at_as_any_other() -> None:
    placed = situations.PlacementState(chosen=("us", "eu", "asia"))

    found = status_service.subject(shop(), members(lost="us"), (), placed)

    assert found.targets == ("us", "eu", "asia")


def test_a_marked_cluster_that_it_was_never_on_is_not_one_it_is_for() -> None:
    placed = situations.PlacementState(chosen=("eu", "asia"))

    found = status_service.subject(shop(), members(lost="us"), (), placed)

    assert found.targets == ("eu", "asia")


def test_a_cluster_that_it_left_may_still_have_something_of_it() -> None:
    placed = situations.PlacementState(chosen=("eu",), away={"us": "it was lost"})

    found = status_service.subject(shop(), members(lost="us"), (), placed)

    assert found.targets == ("eu", "asia")
    assert "us" in found.others


def test_a_spread_that_cannot_be_met_says_nothing_of_where_it_is() -> None:
    many = (spread_constraints.Constraint(spread_constraints.Field.CLUSTER, min_groups=5),)
    placed = situations.PlacementState(chosen=("us", "eu"))

    assert status_service.subject(shop(many), members(), (), placed).targets == ("us", "eu")


def test_what_was_last_known_of_a_silent_cluster_is_not_current() -> None:
    at = datetime(2030, 1, 1, 12, tzinfo=UTC)
    state = fleet_status.ClusterStatus(
        object_health.Health(statuses.HealthStatus.DEGRADED, "s3cr3t is not ready"),
        (
            fleet_status.ObjectStatus(
                manifest.ResourceKey("apps", "Deployment", "shop", "web"),
                object_health.Health(statuses.HealthStatus.DEGRADED, "no s3cr3t in it"),
            ),
        ),
    )
    reports = (
        fleet_status.ClusterReport("us", state, at),
        fleet_status.ClusterReport("eu", state, at, "it knows s3cr3t", at),
        fleet_status.ClusterReport("asia", unreachable_reason="it is gone", silent_since=at),
    )
    seen = surveys.Survey(fleet_status.of_fleet(reports), at)

    shown = status_service.of_survey("shop", seen, redaction.Masker(["s3cr3t"]))

    assert [
        (cluster.name, cluster.current, cluster.wanted, cluster.seen, cluster.unreachable_reason)
        for cluster in shown.clusters
    ] == [
        ("us", True, True, at, ""),
        ("eu", False, True, at, f"it knows {redaction.MASK}"),
        ("asia", False, True, None, "it is gone"),
    ]
    assert [cluster.health.reason for cluster in shown.clusters] == [
        f"{redaction.MASK} is not ready",
        f"{redaction.MASK} is not ready",
        "it was never seen",
    ]
    assert [
        (shown_object.name, shown_object.health.status, shown_object.health.reason)
        for shown_object in shown.clusters[0].objects
    ] == [("web", "degraded", f"no {redaction.MASK} in it")]
    assert not any(cluster.cordoned or cluster.state for cluster in shown.clusters)
