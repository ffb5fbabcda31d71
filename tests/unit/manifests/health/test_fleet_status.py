"""One view over clusters: sums of what was seen, and honesty about what was not."""

from datetime import UTC, datetime

from volary.manifests.health import fleet_status
from volary.model import json
from volary.model.objects import manifest
from volary.model.statuses import HealthStatus

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def deployment(
    name: str = "shop", commit: str = "aaa", ready: int = 3, variant: str = "primary"
) -> json.JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "web",
            "generation": 1,
            "annotations": {"volary.dev/commit": commit, "volary.dev/variant": variant},
        },
        "spec": {
            "replicas": 3,
            "template": {"spec": {"containers": [{"name": "a", "image": f"shop:{commit}"}]}},
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": ready,
            "updatedReplicas": 3,
            "availableReplicas": ready,
        },
    }


def seen(name: str, *live: json.JsonObject, wanted: bool = True) -> fleet_status.ClusterReport:
    return fleet_status.ClusterReport(name, fleet_status.of_cluster(live), NOON, wanted=wanted)


def silent(name: str, *live: json.JsonObject) -> fleet_status.ClusterReport:
    state = fleet_status.of_cluster(live) if live else None
    return fleet_status.ClusterReport(name, state, NOON, "no answer", NOON)


def test_the_same_object_in_two_clusters_is_one_with_the_sums() -> None:
    whole = fleet_status.of_fleet([seen("eu", deployment()), seen("us", deployment(ready=3))])

    (shop,) = whole.objects
    assert (shop.clusters, shop.observed, shop.ready, shop.total) == (("eu", "us"), 2, 6, 6)
    assert shop.status["availableReplicas"] == 6
    assert shop.health == {HealthStatus.HEALTHY: 2}
    assert (whole.ready, whole.total, whole.health.reason) == (6, 6, "healthy in 2 clusters")


def test_the_worst_cluster_counts_and_says_why() -> None:
    whole = fleet_status.of_fleet([seen("eu", deployment()), seen("us", deployment(ready=1))])

    assert whole.health.status is HealthStatus.PROGRESSING
    assert whole.health.reason == "us: Deployment web/shop: 1 of 3 pods available"


def test_what_was_known_of_a_silent_cluster_is_not_summed_and_the_whole_is_not_healthy() -> None:
    whole = fleet_status.of_fleet([seen("eu", deployment()), silent("us", deployment())])

    assert (whole.ready, whole.total) == (3, 3)
    assert whole.health.status is HealthStatus.UNKNOWN
    assert whole.health.reason == "us cannot be seen"
    (_, us) = whole.clusters
    assert us.current is None
    assert us.state is not None
    assert (us.state.ready, us.state.total) == (3, 3)


def test_a_known_fault_outweighs_what_is_not_known() -> None:
    whole = fleet_status.of_fleet([seen("eu", deployment(ready=0)), silent("us")])

    assert whole.health.status is HealthStatus.PROGRESSING


def test_releases_are_counted_by_what_primary_runs() -> None:
    whole = fleet_status.of_fleet(
        [
            seen("eu", deployment(commit="bbb")),
            seen("us", deployment(), deployment("shop-canary", "bbb", variant="canary")),
            seen("ap", deployment()),
        ]
    )

    assert [(each.commit, each.clusters) for each in whole.releases] == [
        ("aaa", ("us", "ap")),
        ("bbb", ("eu",)),
    ]
    assert [(each.name, each.commits, each.images) for each in whole.variants] == [
        ("primary", ("aaa", "bbb"), ("shop:aaa", "shop:bbb")),
        ("canary", ("bbb",), ("shop:bbb",)),
    ]


def test_what_was_applied_and_is_gone_is_missing() -> None:
    key = manifest.ResourceKey("apps", "Deployment", "web", "worker")
    found = fleet_status.of_cluster([deployment()], [key])

    assert found.health.status is HealthStatus.MISSING
    assert found.health.reason == "Deployment web/worker: does not exist"


def test_a_cluster_it_is_not_for_shows_only_what_is_left_there() -> None:
    left = seen("old", deployment(), wanted=False)
    whole = fleet_status.of_fleet([seen("eu", deployment()), seen("us", wanted=False), left])

    assert [each.cluster for each in whole.clusters] == ["eu", "old"]


def test_without_workloads_all_objects_tell_the_release() -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "annotations": {"volary.dev/commit": "ccc"}},
    }
    assert fleet_status.of_cluster([config]).commits == ("ccc",)
    assert fleet_status.of_cluster([]).health.reason == "nothing of it is there"


def test_a_cluster_that_it_is_not_for_counts_only_with_something_of_it() -> None:
    reports = [seen("eu", deployment()), seen("us", wanted=False)]
    reports += [seen("asia", deployment(), wanted=False)]

    assert [each.cluster for each in fleet_status.of_fleet(reports).clusters] == ["eu", "asia"]


def test_one_that_it_is_for_counts_before_anything_was_seen_of_it() -> None:
    reports = [seen("eu"), silent("us")]

    assert [each.cluster for each in fleet_status.of_fleet(reports).clusters] == ["eu", "us"]


def test_the_release_is_that_of_workloads_also_without_pods() -> None:
    settings: json.JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"volary.dev/commit": "old"}},
    }
    down = deployment(commit="new")
    down["spec"]["replicas"] = 0

    assert fleet_status.of_cluster([settings, down]).commits == ("new",)
    assert fleet_status.of_cluster([settings]).commits == ("old",)
    canary = deployment("canary", commit="next", variant="canary")
    assert fleet_status.of_cluster([settings, down, canary]).commits == ("new",)


def test_an_object_says_nothing_that_it_does_not_know() -> None:
    (missing,) = fleet_status.of_cluster([], [manifest.ResourceKey("", "Pod", "web", "a")]).objects

    assert (missing.ready, missing.total, missing.images, missing.commit) == (0, 0, (), "")
    assert fleet_status.numbers("eu", missing) == {}
    assert fleet_status.of_cluster([deployment()]).warnings == ()


def test_the_health_of_an_object_is_counted_from_the_worst_on() -> None:
    whole = fleet_status.of_fleet(
        [seen("eu", deployment()), seen("us", deployment(ready=1)), seen("asia", deployment())]
    )

    (shop,) = whole.objects
    assert list(shop.health.values()) == [1, 2]
    assert list(shop.health)[-1] is HealthStatus.HEALTHY


def test_where_every_cluster_is_silent_nothing_is_known() -> None:
    health = fleet_status.of_fleet([silent("eu", deployment()), silent("us")]).health

    assert (health.status, health.reason) == (HealthStatus.UNKNOWN, "eu, us cannot be seen")


def test_an_application_of_no_cluster_is_not_healthy() -> None:
    health = fleet_status.of_fleet([]).health

    assert (health.status, health.reason) == (
        HealthStatus.UNKNOWN,
        "no cluster is known for it",
    )
