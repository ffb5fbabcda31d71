import pytest

from volary.controller import running_commit
from volary.controller.running_commit import Seen
from volary.model import errors


def test_clusters_that_agree_tell_the_running_commit() -> None:
    seen = [Seen("us", frozenset({"a1"})), Seen("eu", frozenset({"a1"})), Seen("new")]

    assert running_commit.decide(seen, remembered="") == running_commit.Running(
        "a1", "us, eu run it"
    )


def test_clusters_that_disagree_are_named_with_what_to_pass() -> None:
    seen = [Seen("us", frozenset({"a1"})), Seen("eu", frozenset({"b2"}))]

    with pytest.raises(errors.UserError) as raised:
        running_commit.decide(seen, remembered="")

    assert "us: a1; eu: b2" in str(raised.value)
    assert "--running" in raised.value.problems[0].hint


def test_what_is_remembered_settles_a_disagreement() -> None:
    seen = [Seen("us", frozenset({"a1"})), Seen("eu", frozenset({"b2"}))]

    assert running_commit.decide(seen, remembered="a1").commit == "a1"


def test_what_is_remembered_does_not_count_where_everything_was_removed() -> None:
    assert running_commit.decide([Seen("us"), Seen("eu")], remembered="a1").commit == ""


def test_unreachable_clusters_do_not_make_it_a_first_deployment() -> None:
    seen = [Seen("us", trouble="refused")]

    assert running_commit.decide(seen, remembered="a1").commit == "a1"


def test_workloads_of_somebody_else_are_mentioned() -> None:
    running = running_commit.decide([Seen("us", unmarked=True)], remembered="")

    assert running.commit == ""
    assert "us runs it without Volary" in running.reason
