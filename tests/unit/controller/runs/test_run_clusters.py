"""A run sees its clusters as they were when it began, and reaches them as they are."""

from datetime import UTC, datetime

from volary.controller.runs import run_clusters
from volary.model.fleet import fleets, taints

CORDON = taints.Taint(taints.CORDONED, "", taints.Effect.NO_SCHEDULE, by="ana")
EU = fleets.Cluster("eu", {"tier": "large"}, ("eu.yaml",), "admin", region="west", zones=("a", "b"))
US = fleets.Cluster("us", namespaces=("shop",))


def test_clusters_come_back_as_they_were_kept() -> None:
    cordoned = taints.Taint(
        "maintenance", "", taints.Effect.NO_EXECUTE, since=datetime(2026, 1, 1, tzinfo=UTC)
    )
    tainted = fleets.Cluster("ap", in_cluster=True, taints=(cordoned,))
    kept = (EU, US, tainted)

    assert run_clusters.from_document(run_clusters.to_document(kept)) == kept
    assert run_clusters.from_document({}) == ()


def test_what_a_run_renders_for_is_as_it_was() -> None:
    now = fleets.Fleet((fleets.Cluster("eu", {"tier": "small"}, region="north"), US))

    [eu, us] = run_clusters.pinned(now, (EU,)).clusters

    assert (eu.labels, eu.region, eu.zones) == ({"tier": "large"}, "west", ("a", "b"))
    assert us == US, "it is none of the run's"


def test_how_a_cluster_is_reached_and_what_it_takes_is_as_it_is() -> None:
    now = fleets.Fleet(
        (fleets.Cluster("eu", EU.labels, ("new.yaml",), "ci", suspended=True, taints=(CORDON,)),)
    )

    [eu] = run_clusters.pinned(now, (EU,)).clusters

    assert (eu.kubeconfig, eu.context) == (("new.yaml",), "ci")
    assert (eu.suspended, eu.taints) == (True, (CORDON,))


def test_a_cluster_of_the_run_that_left_is_there_besides_those_of_the_fleet() -> None:
    """Also under its old name, when it is called something else now."""
    renamed = fleets.Cluster("europe", EU.labels, EU.kubeconfig)

    pinned = run_clusters.pinned(fleets.Fleet((US, renamed)), (EU,))

    assert pinned.clusters == (US, renamed, EU)
