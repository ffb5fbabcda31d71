"""Which clusters have the last completed release, and what a run's end changes about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.controller import attendance_documents, missing, reaching, standings, wants
from volary.engine import plan, state, update
from volary.model import attendance, stage, taints
from volary.model import status as words

AT = datetime(2026, 1, 1, tzinfo=UTC)
DONE, FAILED = words.TaskStatus.SUCCEEDED, words.TaskStatus.FAILED
SYNC = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())


def identity(name: str) -> str:
    return f"uid-{name}"


def ended(
    status: words.RunStatus,
    *names: str,
    commit: str = "new",
    left_out: dict[str, state.LeftOut] | None = None,
    failed: tuple[str, ...] = (),
) -> state.Run:
    """A run that has ended so, on clusters of which some were left out, or failed."""
    made = plan.Plan("shop", commit, plan.one_group(names), (SYNC,), running_commit="old")
    run = replace(plan.new_run("run-1", made, AT), status=status)
    for name, kind in (left_out or {}).items():
        run = update.leave_out(run, name, "gone", kind)
    tasks = update.tasks(
        run.current, lambda task: replace(task, status=FAILED if task.target in failed else DONE)
    )
    whole = replace(tasks, status=FAILED if failed else DONE)
    return update.current(run, whole)


OLD = reaching.Reached("old", {"us": "uid-us", "eu": "uid-eu", "ap": ""})


def test_a_release_that_succeeded_is_what_its_clusters_have() -> None:
    run = ended(words.RunStatus.SUCCEEDED, "us", "eu")

    found = reaching.after_release(OLD, run, identity)

    assert found == reaching.Reached("new", {"us": "uid-us", "eu": "uid-eu"}, ("ap",))
    assert reaching.old_of_absent(OLD, run) == {"ap": "old"}
    newer = ended(words.RunStatus.SUCCEEDED, "us", "eu", commit="newer")
    assert reaching.after_release(found, newer, identity).behind == ("ap",)


def test_one_that_went_on_without_who_was_away_is_completed() -> None:
    lost = {"eu": state.LeftOut.UNREACHABLE, "ap": state.LeftOut.CORDONED}
    run = ended(words.RunStatus.FAILED, "us", "eu", "ap", left_out=lost)

    found = reaching.after_release(OLD, run, identity)

    assert found == reaching.Reached("new", {"us": "uid-us"}, ("eu", "ap"))
    assert reaching.old_of_absent(OLD, run) == {}


def test_half_a_release_changes_nothing() -> None:
    """Whoever joins gets what was completed before it."""
    failed = {"eu": state.LeftOut.FAILED}
    runs = (
        ended(words.RunStatus.FAILED, "us", "eu", left_out=failed),
        ended(words.RunStatus.FAILED, "us", "eu", failed=("eu",)),
        ended(words.RunStatus.CANCELLED, "us", "eu"),
        ended(words.RunStatus.ROLLED_BACK, "us", "eu"),
        ended(words.RunStatus.FAILED, "us", left_out={"us": state.LeftOut.UNREACHABLE}),
    )

    for run in runs:
        assert reaching.after_release(OLD, run, identity) == OLD
        assert reaching.old_of_absent(OLD, run) == {}


def test_who_misses_the_release_and_why() -> None:
    known = replace(OLD, behind=("me",))

    found = reaching.missing(
        known,
        ("us", "eu", "ap", "me", "sa"),
        lambda name: "another" if name in ("eu", "ap") else identity(name),
    )

    assert found == {
        "eu": "it was built anew",
        "me": "the release went on without it",
        "sa": "it was not there",
    }


def test_the_last_one_to_catch_up_makes_the_release_complete_everywhere() -> None:
    partial = reaching.Reached("new", {"us": "u"}, ("eu", "ap"), run="run-1", waiting={"eu": "x"})
    before = standings.Standing(reached=partial, kept={"us": "new"}, under_way=True)

    first, not_yet = missing.concluded(
        before, ended(words.RunStatus.SUCCEEDED, "eu"), "old", identity
    )
    again = replace(first, reached=replace(first.reached, run="run-1"))
    last, everywhere = missing.concluded(
        again, ended(words.RunStatus.SUCCEEDED, "ap"), "old", identity
    )

    assert not_yet == ""
    assert (first.reached.behind, first.reached.waiting) == (("ap",), {})
    assert first.kept == {"us": "new", "eu": "new"}
    assert everywhere == "every cluster has new; ap came last"
    assert (last.kept, last.under_way) == ({}, False)


def test_who_could_not_catch_up_says_why_and_keeps_what_it_has() -> None:
    reached = replace(OLD, run="run-1")
    before = standings.Standing(reached=reached, kept={"me": "older"})
    run = replace(
        ended(words.RunStatus.FAILED, "me", commit="old", failed=("me",)), reason="no image"
    )

    after, everywhere = missing.concluded(before, run, "old", identity)

    assert everywhere == ""
    assert after.kept == {"me": "older"}
    assert after.reached.waiting == {"me": "run run-1: no image"}
    assert "me" not in after.reached.clusters
    assert reaching.told(replace(after.reached, behind=("x",))) == {
        "x": "the release went on without it",
        "me": "run run-1: no image",
    }


def test_documents_come_back() -> None:
    want = wants.Want("w", "c", wants.Kind.CATCH_UP, "why", AT, targets=("eu",))
    standing = standings.Standing(reached=replace(OLD, behind=("x",)), catch_up=want)
    mark = taints.Taint("a", "b", taints.Effect.NO_EXECUTE, AT, "ana", "why")
    known = attendance.Attendance(
        "eu", attendance.ClusterState.NOT_READY, AT, "why", (mark,), AT, AT, "uid"
    )

    assert standings.from_document(standings.to_document(standing)) == standing
    assert attendance_documents.read(attendance_documents.write(known, AT)) == known
    empty = standings.from_document({})
    assert (empty.reached, empty.catch_up) == (reaching.Reached(), None)


def test_catching_up_comes_after_everything_else() -> None:
    catch_up = wants.Want("c", "old", wants.Kind.CATCH_UP, "why", AT)
    commit = wants.Want("w", "new", wants.Kind.COMMIT, "why", AT + timedelta(hours=1))

    assert standings.Standing(catch_up=catch_up).next_want == catch_up
    assert standings.Standing(catch_up=catch_up, want=commit).next_want == commit


def test_a_cluster_that_left_the_fleet_misses_nothing() -> None:
    reached = reaching.Reached("abc", {"us": ""}, ("eu", "asia"), waiting={"eu": "it is lost"})

    left = reaching.among(reached, ("us", "asia"))

    assert reaching.told(left) == {"asia": "the release went on without it"}
    assert reaching.missing(left, ("us",), lambda _: "") == {}
    assert reaching.among(left, ("us", "asia")) == left
