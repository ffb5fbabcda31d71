"""Views: only differences travel, and who cannot be told a difference is told everything."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from volary.livestate import cluster_follower, live_trees, nodes, views
from volary.model.objects import manifest
from volary.model.statuses import HealthStatus

FIRST = 1000
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@dataclass
class Cluster:
    """Objects by name with their reason, which a test changes."""

    said: dict[str, str] = field(default_factory=dict)
    status: cluster_follower.ClusterStatus = field(
        default_factory=lambda: cluster_follower.ClusterStatus("")
    )
    built: int = 0

    def build(
        self, cluster: str, owner: str
    ) -> tuple[live_trees.LiveTree, cluster_follower.ClusterStatus]:
        self.built += 1
        applied = [
            nodes.Node(name, "", "", "v1", "ConfigMap", "", name, HealthStatus.HEALTHY, reason)
            for name, reason in self.said.items()
        ]
        return live_trees.build(applied, lambda _: ()), self.status


def names(view: views.View | None) -> list[str]:
    assert view is not None
    return [placed.node.name for placed in view.tree.nodes]


def test_only_what_changed_comes_after_a_version() -> None:
    cluster = Cluster({"a": "1", "b": "1", "c": "1"})
    seen = views.Views(cluster.build, FIRST)
    whole = seen.whole("us", "shop", 0.0)
    cluster.said = {"a": "2", "b": "1", "d": "1"}

    assert seen.since("us", "shop", whole.version, 0.0) is None
    assert seen.refresh(("us", "shop"))
    change = seen.since("us", "shop", whole.version, 0.0)

    assert names(whole) == ["a", "b", "c"]
    assert names(change) == ["a", "d"]
    assert change is not None
    assert change.removed == ("c",)
    assert seen.since("us", "shop", change.version, 0.0) is None
    assert not seen.refresh(("us", "shop"))


def test_what_went_and_came_back_is_not_said_to_be_gone() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)
    first = seen.whole("us", "shop", 0.0).version
    cluster.said = {}
    seen.refresh(("us", "shop"))
    cluster.said = {"a": "1"}
    seen.refresh(("us", "shop"))

    change = seen.since("us", "shop", first, 0.0)

    assert change is not None
    assert (names(change), change.removed) == (["a"], ())


def test_of_what_is_said_of_objects_elsewhere_only_these_are_told_again() -> None:
    seen = views.Views(Cluster({"a": "1", "b": "1", "c": "1"}).build, FIRST)
    first = seen.whole("us", "shop", 0.0).version

    assert seen.mark(("us", "shop"), {manifest.ResourceKey("", "ConfigMap", "", "b")})
    one = seen.since("us", "shop", first, 0.0)
    assert seen.mark(("us", "shop"))
    every = seen.since("us", "shop", first, 0.0)

    assert names(one) == ["b"]
    assert names(every) == ["a", "b", "c"]
    assert not seen.mark(("eu", "shop"))


def test_a_cluster_that_falls_silent_is_a_change() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)
    first = seen.whole("us", "shop", 0.0).version
    cluster.status = cluster_follower.ClusterStatus("it does not answer")

    assert seen.refresh(("us", "shop"))
    change = seen.since("us", "shop", first, 0.0)

    assert change is not None
    assert (names(change), change.status.stale_reason) == ([], "it does not answer")


def test_versions_of_another_process_or_life_are_not_known() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)
    seen.whole("us", "shop", 0.0)

    for version in (0, FIRST - 1, FIRST + 5000):
        assert not seen.is_known("us", "shop", version)
        assert names(seen.since("us", "shop", version, 0.0)) == ["a"]


def test_what_was_removed_too_long_ago_is_not_known_any_more() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)
    first = seen.whole("us", "shop", 0.0).version
    for life in range(2):
        cluster.said |= {f"{life}-{number}": "1" for number in range(3000)}
        seen.refresh(("us", "shop"))
        cluster.said = {"a": "1"}
        seen.refresh(("us", "shop"))

    assert not seen.is_known("us", "shop", first)
    assert names(seen.since("us", "shop", first, 0.0)) == ["a"]


def test_nothing_is_built_for_what_nobody_looks_at() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)

    assert not seen.refresh(("us", "shop"))
    assert cluster.built == 0
    seen.whole("us", "shop", 0.0)
    seen.forget_unasked(200.0)
    assert seen.keys == (("us", "shop"),)
    seen.forget_unasked(301.0)
    assert seen.keys == ()


def test_many_readers_share_one_tree() -> None:
    cluster = Cluster({"a": "1"})
    seen = views.Views(cluster.build, FIRST)

    for _ in range(200):
        seen.whole("us", "shop", 0.0)
        seen.since("us", "shop", FIRST, 0.0)

    assert cluster.built == 1
