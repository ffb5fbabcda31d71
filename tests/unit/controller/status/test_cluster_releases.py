"""Which release each cluster is on, and what a run's end changes about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.controller.runs import backfills, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    release_changes,
    run_origins,
    run_requests,
)
from volary.engine.runs import rollback, run_builder, state, updates
from volary.model import statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.placement.failover import observed_durations, situations
from volary.placement.replicas import assignment, divisible_workloads
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)
DONE, FAILED = statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.FAILED
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())


def identity(name: str) -> str:
    return f"uid-{name}"


def ended(
    status: statuses.RunStatus,
    *names: str,
    commit: str = "new",
    left_out: dict[str, state.LeftOut] | None = None,
    failed: tuple[str, ...] = (),
) -> state.Run:
    """A run that has ended so, on clusters of which some were left out, or failed."""
    made = run_builder.RunSpec(
        "shop", commit, run_builder.one_group(names), (SYNC,), running_commit="old"
    )
    run = replace(run_builder.new_run("run-1", made, AT), status=status)
    for name, kind in (left_out or {}).items():
        run = updates.leave_out(run, name, "gone", kind)
    tasks = updates.change_tasks(
        run.current, lambda task: replace(task, status=FAILED if task.target in failed else DONE)
    )
    whole = replace(tasks, status=FAILED if failed else DONE)
    return updates.replace_current(run, whole)


def backfilled(
    before: application_statuses.ApplicationStatus, run: state.Run
) -> application_state.StateChange:
    """Return what the end of a backfill changes of an application whose last release failed."""
    record = records.ApplicationRecord("shop", status="failed")
    application = application_state.ApplicationState(record, before)
    origin = run_origins.Origin("shop", "volary.yaml", kind=run_requests.KindName.BACKFILL)
    return backfills.Backfill().concluded(
        run_kinds.EndedRun(application, run, origin, identity, AT)
    )


State = cluster_releases.ReleaseState
Cluster = cluster_releases.ClusterRelease


def covered(commit: str = "old", **identities: str) -> cluster_releases.ClusterReleases:
    """Return a completed release with the clusters that have it."""
    clusters = {name: Cluster(commit, State.COVERED, one) for name, one in identities.items()}
    return cluster_releases.ClusterReleases(commit, clusters)


def changed(
    known: cluster_releases.ClusterReleases, **clusters: cluster_releases.ClusterRelease
) -> cluster_releases.ClusterReleases:
    return replace(known, clusters={**known.clusters, **clusters})


OLD = covered(us="uid-us", eu="uid-eu", ap="")


def test_a_release_that_succeeded_is_what_its_clusters_have() -> None:
    run = ended(statuses.RunStatus.SUCCEEDED, "us", "eu")

    after = release_changes.after_release(OLD, run, identity)

    new = covered("new", us="uid-us", eu="uid-eu")
    new = replace(new, running="new")
    assert after == changed(new, ap=Cluster("old", State.MISSED)), "ap stays on what it had"
    undone = replace(run, status=statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS)
    assert release_changes.after_release(OLD, undone, identity) == after, "it went without nobody"
    newer = ended(statuses.RunStatus.SUCCEEDED, "us", "eu", commit="newer")
    assert release_changes.after_release(after, newer, identity).missed == ("ap",)


def test_one_that_went_on_without_who_was_away_is_completed() -> None:
    lost = {"eu": state.LeftOut.UNREACHABLE, "sa": state.LeftOut.CORDONED}
    run = ended(statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS, "us", "eu", "sa", left_out=lost)
    known = changed(OLD, eu=Cluster("older", State.COVERED, "uid-eu", "it waits"))

    after = release_changes.after_release(known, run, identity)

    assert after == changed(
        covered("new", us="uid-us"),
        eu=Cluster("older", State.MISSED),
        ap=Cluster("old", State.MISSED),
        sa=Cluster("old", State.MISSED),
    )


def test_half_a_release_completes_nothing() -> None:
    """Whoever joins gets what was completed before it; who is on the half is known to be."""
    failed = {"eu": state.LeftOut.FAILED}
    half = changed(OLD, us=Cluster("new", State.COVERED, "uid-us"))
    runs = (
        (ended(statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS, "us", "eu", left_out=failed), half),
        (ended(statuses.RunStatus.FAILED, "us", "eu", failed=("eu",)), None),
        (ended(statuses.RunStatus.CANCELLED, "us"), half),
        (ended(statuses.RunStatus.FAILED, "us", left_out={"us": state.LeftOut.UNREACHABLE}), OLD),
    )

    for run, expected in runs:
        after = release_changes.after_release(OLD, run, identity)
        assert after.completed == "old"
        assert cluster_releases.missing_clusters(after, ("us", "eu", "ap"), identity) == {}
        if expected is not None:
            assert after == expected


def test_who_joined_with_half_a_release_has_not_got_the_completed_one() -> None:
    run = ended(statuses.RunStatus.CANCELLED, "us", "sa")

    after = release_changes.after_release(OLD, run, identity)

    assert after.of("sa") == Cluster("new", State.NONE)
    assert cluster_releases.missing_clusters(after, ("us", "sa"), identity) == {
        "sa": "it was not there"
    }
    assert cluster_releases.commit_before_backfill(after, "sa") == "new"
    assert after.exceptions("old") == {"us": "new", "sa": "new"}


def test_who_misses_the_release_and_why() -> None:
    known = changed(OLD, me=Cluster("older", State.MISSED))

    missing = cluster_releases.missing_clusters(
        known,
        ("us", "eu", "ap", "me", "sa"),
        lambda name: "another" if name in ("eu", "ap") else identity(name),
    )

    assert missing == {
        "eu": "it was built anew",
        "me": "the release went on without it",
        "sa": "it was not there",
    }
    assert cluster_releases.commit_before_backfill(known, "eu") == "", "it is empty"
    assert cluster_releases.commit_before_backfill(known, "me") == "older"
    assert cluster_releases.commit_before_backfill(known, "sa") == ""


def test_who_is_not_known_is_learned_once() -> None:
    learned = release_changes.learned(OLD, identity)

    assert learned.of("ap").identity == "uid-ap"
    assert release_changes.learned(learned, lambda name: "another") == learned
    assert release_changes.learned(OLD, lambda name: "") == OLD


def test_the_last_one_to_be_backfilled_makes_the_release_complete_everywhere() -> None:
    partial = changed(
        replace(covered("new", us="u"), running="old"),
        eu=Cluster("old", State.MISSED, reason="x"),
        ap=Cluster("old", State.MISSED),
    )
    before = application_statuses.ApplicationStatus(releases=partial, under_way=True)

    not_yet = backfilled(before, ended(statuses.RunStatus.SUCCEEDED, "eu"))
    first = not_yet.status.releases
    everywhere = backfilled(not_yet.status, ended(statuses.RunStatus.SUCCEEDED, "ap"))

    assert (not_yet.columns, not_yet.commits) == ({}, ())
    assert (first.missed, first.waiting) == (("ap",), {})
    assert first.exceptions("old") == {"us": "new", "eu": "new"}
    told = "every cluster has new; ap came last"
    assert everywhere.columns == {"status": "synced", "reason": told}
    assert (first.running, everywhere.status.releases.running) == ("old", "new")
    assert everywhere.commits == (application_state.CommitChange("new", "succeeded", told),)
    last = everywhere.status
    assert (last.releases.exceptions("new"), last.under_way) == ({}, False)


def test_who_could_not_be_backfilled_says_why_and_keeps_what_it_has() -> None:
    known = changed(OLD, me=Cluster("older"))
    before = application_statuses.ApplicationStatus(releases=known)
    run = replace(
        ended(statuses.RunStatus.FAILED, "me", "sa", commit="old", failed=("me", "sa")),
        reason="no image",
    )

    change = backfilled(before, run)

    assert change.columns == {}
    after = change.status.releases
    assert after.of("me") == Cluster("older", State.NONE, reason="run run-1: no image")
    assert after.of("sa") == Cluster("", State.NONE, reason="run run-1: no image")
    assert cluster_releases.missing_reasons(changed(after, x=Cluster("", State.MISSED))) == {
        "x": "the release went on without it",
        "me": "run run-1: no image",
        "sa": "run run-1: no image",
    }


def test_nothing_is_kept_of_whom_nothing_is_known() -> None:
    waiting = OLD.with_reasons({"sa": "it is lost", "us": "it is cordoned"})

    assert waiting.waiting == {"us": "it is cordoned", "sa": "it is lost"}
    assert waiting.with_reasons({}) == OLD


def test_where_a_move_went_has_the_release_and_where_it_left_has_nothing() -> None:
    known = changed(
        OLD, me=Cluster("older", State.MISSED), half=Cluster("new", State.COVERED, "uid-half")
    )
    run = replace(ended(statuses.RunStatus.SUCCEEDED, "sa", "me", "half", commit="old"))

    after = release_changes.after_move(known, run, ("sa", "me", "half"), ("us",), identity)

    assert after == cluster_releases.ClusterReleases(
        "old",
        {
            "eu": known.of("eu"),
            "ap": known.of("ap"),
            "me": Cluster("older", State.MISSED),
            "half": known.of("half"),
            "sa": Cluster("old", State.COVERED, "uid-sa"),
        },
    )


def test_documents_come_back() -> None:
    run_request = run_requests.RunRequest(
        "w", "c", run_requests.KindName.BACKFILL, "why", AT, targets=("eu",)
    )
    application_status = application_statuses.ApplicationStatus(
        releases=changed(OLD, x=Cluster("older", State.MISSED, reason="why")), backfill=run_request
    )

    assert (
        application_statuses.from_document(application_statuses.to_document(application_status))
        == application_status
    )
    empty = application_statuses.from_document({})
    assert (empty.releases, empty.backfill) == (cluster_releases.ClusterReleases(), None)


def test_catching_up_comes_after_everything_else() -> None:
    backfill = run_requests.RunRequest("c", "old", run_requests.KindName.BACKFILL, "why", AT)
    commit = run_requests.RunRequest(
        "w", "new", run_requests.KindName.RELEASE, "why", AT + timedelta(hours=1)
    )

    assert application_statuses.ApplicationStatus(backfill=backfill).next_request == backfill
    assert (
        application_statuses.ApplicationStatus(backfill=backfill, run_request=commit).next_request
        == commit
    )


def test_a_cluster_that_left_the_fleet_misses_nothing() -> None:
    known = changed(
        covered("abc", us="", sa="uid-sa"),
        eu=Cluster("older", State.MISSED, reason="it is lost"),
        asia=Cluster("older", State.MISSED),
    )

    left = release_changes.restricted_to(known, ("us", "asia"))

    assert cluster_releases.missing_reasons(left) == {"asia": "the release went on without it"}
    assert cluster_releases.missing_clusters(left, ("us", "sa"), lambda _: "") == {}
    assert left.of("eu") == Cluster("older"), "who comes back is a newcomer"
    assert release_changes.restricted_to(left, ("us", "asia")) == left


WEB = manifest.ResourceKey("apps", "Deployment", "shop", "web")


def divided(**replicas: int) -> assignment.Assignment:
    shares = {name: divisible_workloads.Share(number) for name, number in replicas.items()}
    return assignment.Assignment((assignment.WorkloadAssignment(WEB, shares),))


def test_shares_are_kept_with_the_cluster_that_has_them() -> None:
    mine = OLD.with_shares(divided(us=1, eu=2), ("us", "eu"))

    other = mine.with_shares(divided(eu=5, ap=6, us=9), ("eu", "ap"))

    assert mine.assigned == divided(us=1, eu=2)
    assert other.assigned.replicas(WEB) == {"us": 1, "eu": 5, "ap": 6}
    assert (other.is_divided, OLD.is_divided) == (True, False)
    assert mine.with_shares(assignment.EMPTY, ("us", "eu")) == OLD
    assert mine.with_shares(divided(us=3), ()) == mine


def test_how_replicas_came_about_is_kept_with_the_application() -> None:
    """A backfill shows its replicas with the sentence of the release that it brings."""
    numbers = replace(divided(us=1, eu=2).workloads[0], reason="3 by weight: us 1, eu 2")
    made = assignment.Assignment((numbers,))
    kept = application_statuses.ApplicationStatus(releases=OLD.with_shares(made, ("us", "eu")))

    read = application_statuses.from_document(application_statuses.to_document(kept))

    assert read == kept
    assert read.releases.assigned == made


def test_a_release_that_succeeded_says_who_has_and_who_had_how_many() -> None:
    before = OLD.with_shares(divided(us=1, eu=2), ("us", "eu"))
    good = ended(statuses.RunStatus.SUCCEEDED, "us", "sa")

    after = release_changes.divided_by_release(before, good, divided(us=3, sa=4))

    assert after.assigned == divided(us=3, sa=4), "eu has no say in it any more"
    assert after.assigned_before == divided(us=1, eu=2)
    bad = ended(statuses.RunStatus.FAILED, "us", "eu", failed=("eu",))
    half = release_changes.divided_by_release(before, bad, divided(us=3, eu=4))
    held = rollback.clusters_with_release(bad)
    assert half.assigned_before == assignment.EMPTY
    assert half.assigned.replicas(WEB) == {
        "us": 3 if "us" in held else 1, "eu": 4 if "eu" in held else 2
    }  # fmt: skip


def test_a_rollback_gives_clusters_what_they_had() -> None:
    before = replace(OLD.with_shares(divided(us=3, eu=4), ("us", "eu")), running="new")
    run = rollback.rollback_run(
        ended(statuses.RunStatus.SUCCEEDED, "us", "eu"), "back", "rolled back", AT
    )
    done = replace(run, status=statuses.RunStatus.SUCCEEDED)

    after = release_changes.after_rollback(before, done, divided(us=1), identity)

    assert after.assigned == divided(us=1)
    assert (after.running, after.completed) == ("old", "old")
    failed = replace(run, status=statuses.RunStatus.FAILED)
    same = release_changes.after_rollback(before, failed, divided(us=1, eu=1), identity)
    assert same.assigned == before.assigned, "nothing was rolled back anywhere"
    assert (same.running, same.completed) == ("new", "")


def test_where_an_application_is_comes_back_as_it_was_decided() -> None:
    eviction = situations.Eviction("us", situations.Cause.CLUSTER, "us is flooded", AT)
    timers = {"eu/unreachable": observed_durations.ObservedDuration(AT, AT)}
    placed = situations.PlacementState(
        ("ap", "eu"), {"us": "us is flooded"}, (eviction,), timers, {"eu": "it has to wait"}
    )

    known = OLD.with_placement(placed)

    assert known.placement(timers) == placed
    assert known.covered == ("ap", "eu", "us"), "what it has stays said"
    assert known.with_placement(situations.PlacementState()) == OLD
    moved = ended(statuses.RunStatus.SUCCEEDED, "us")
    gone = release_changes.after_move(known, moved, (), ("us",), identity)
    assert gone.of("us") == Cluster(away="us is flooded", leaving=eviction)
    moved = ended(statuses.RunStatus.SUCCEEDED, "eu")
    kept = release_changes.after_move(known, moved, (), ("eu",), identity)
    assert kept.placement(timers) == placed, "a removal decides nothing about where it is"


def test_what_a_cluster_outside_of_a_release_waited_for_is_over() -> None:
    waiting = OLD.with_reasons({"ap": "it is cordoned", "us": "it is lost"})

    after = release_changes.after_release(
        waiting, ended(statuses.RunStatus.SUCCEEDED, "us", "eu"), identity
    )

    assert after.waiting == {}
    assert after.of("ap") == Cluster("old", State.MISSED)


def test_who_is_back_at_what_was_there_before_has_no_release() -> None:
    """It joins anew, and is not said to have what the others went back to."""
    made = run_builder.RunSpec(
        "shop",
        "new",
        run_builder.one_group(("us", "eu")),
        (SYNC,),
        running_commit="old",
        running_commits={"eu": ""},
    )
    done = replace(run_builder.new_run("run-1", made, AT), status=statuses.RunStatus.SUCCEEDED)

    after = release_changes.after_rollback(
        covered("new", us="uid-us", eu="uid-eu"), done, assignment.EMPTY, identity
    )

    assert (after.completed, after.running) == ("old", "old")
    assert after.of("us") == Cluster("old", State.COVERED, "uid-us")
    assert cluster_releases.missing_clusters(after, ("us", "eu"), identity) == {
        "eu": "it was not there"
    }
