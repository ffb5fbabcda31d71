import pytest

from volary.controller.planning import running_commit
from volary.controller.planning.running_commit import ObservedCommits
from volary.model import errors


def test_clusters_that_agree_tell_the_running_commit() -> None:
    seen = [
        ObservedCommits("us", frozenset({"a1"})),
        ObservedCommits("eu", frozenset({"a1"})),
        ObservedCommits("new"),
    ]

    assert running_commit.decide(seen, remembered="") == running_commit.RunningCommits(
        "a1", "us, eu run it"
    )


def test_clusters_that_disagree_are_named_with_what_to_pass() -> None:
    seen = [ObservedCommits("us", frozenset({"a1"})), ObservedCommits("eu", frozenset({"b2"}))]

    with pytest.raises(errors.UserError) as raised:
        running_commit.decide(seen, remembered="")

    assert "us: a1; eu: b2" in str(raised.value)
    assert "--running" in raised.value.problems[0].hint


def test_what_is_remembered_settles_a_disagreement() -> None:
    seen = [ObservedCommits("us", frozenset({"a1"})), ObservedCommits("eu", frozenset({"b2"}))]

    assert running_commit.decide(seen, remembered="a1").commit == "a1"


def test_what_is_remembered_does_not_count_where_everything_was_removed() -> None:
    assert (
        running_commit.decide(
            [ObservedCommits("us"), ObservedCommits("eu")], remembered="a1"
        ).commit
        == ""
    )


def test_unreachable_clusters_do_not_make_it_a_first_deployment() -> None:
    seen = [ObservedCommits("us", trouble="refused")]

    assert running_commit.decide(seen, remembered="a1").commit == "a1"


def test_workloads_of_somebody_else_are_mentioned() -> None:
    running = running_commit.decide([ObservedCommits("us", unmarked=True)], remembered="")

    assert running.commit == ""
    assert "us runs it without Volary" in running.reason


def test_what_a_cluster_kept_counts_where_it_says_another_commit_itself() -> None:
    running = running_commit.RunningCommits("a1", "us runs it")
    seen = [
        ObservedCommits("us", frozenset({"a1"})),
        ObservedCommits("eu", frozenset({"b2"})),
        ObservedCommits("asia", frozenset({"b2", "c3"})),
    ]
    kept = {"us": "a1", "eu": "b2", "asia": "b2", "gone": "b2"}

    known = running_commit.with_known_exceptions(running, seen, kept)

    assert known.others == {"eu": "b2"}
    assert known.reason == "us runs it; but b2 on eu"
    assert [known.of(name) for name in ("us", "eu", "asia")] == ["a1", "b2", "a1"]
    assert running_commit.with_known_exceptions(running, seen, {"us": "a1"}) is running
