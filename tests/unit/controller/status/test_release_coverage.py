"""Which clusters have the last completed release, and what a run's end changes about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.controller.fleet import cluster_documents
from volary.controller.runs import backfills
from volary.controller.status import (
    application_state,
    application_statuses,
    release_coverage,
    run_requests,
)
from volary.engine.runs import run_builder, state, updates
from volary.model import statuses
from volary.model.fleet import cluster_health, taints
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
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
    record = records.ApplicationRecord("shop", status="failed", running_commit="old")
    application = application_state.ApplicationState(record, before)
    return backfills.Backfill().concluded(application, run, identity, AT)


OLD = release_coverage.ReleaseCoverage("old", {"us": "uid-us", "eu": "uid-eu", "ap": ""})


def test_a_release_that_succeeded_is_what_its_clusters_have() -> None:
    run = ended(statuses.RunStatus.SUCCEEDED, "us", "eu")

    found = release_coverage.after_release(OLD, run, identity)

    assert found == release_coverage.ReleaseCoverage(
        "new", {"us": "uid-us", "eu": "uid-eu"}, ("ap",)
    )
    assert release_coverage.commits_of_absent(OLD, run) == {"ap": "old"}
    newer = ended(statuses.RunStatus.SUCCEEDED, "us", "eu", commit="newer")
    assert release_coverage.after_release(found, newer, identity).behind == ("ap",)


def test_one_that_went_on_without_who_was_away_is_completed() -> None:
    lost = {"eu": state.LeftOut.UNREACHABLE, "ap": state.LeftOut.CORDONED}
    run = ended(statuses.RunStatus.FAILED, "us", "eu", "ap", left_out=lost)

    found = release_coverage.after_release(OLD, run, identity)

    assert found == release_coverage.ReleaseCoverage("new", {"us": "uid-us"}, ("eu", "ap"))
    assert release_coverage.commits_of_absent(OLD, run) == {}


def test_half_a_release_changes_nothing() -> None:
    """Whoever joins gets what was completed before it."""
    failed = {"eu": state.LeftOut.FAILED}
    runs = (
        ended(statuses.RunStatus.FAILED, "us", "eu", left_out=failed),
        ended(statuses.RunStatus.FAILED, "us", "eu", failed=("eu",)),
        ended(statuses.RunStatus.CANCELLED, "us", "eu"),
        ended(statuses.RunStatus.ROLLED_BACK, "us", "eu"),
        ended(statuses.RunStatus.FAILED, "us", left_out={"us": state.LeftOut.UNREACHABLE}),
    )

    for run in runs:
        assert release_coverage.after_release(OLD, run, identity) == OLD
        assert release_coverage.commits_of_absent(OLD, run) == {}


def test_who_misses_the_release_and_why() -> None:
    known = replace(OLD, behind=("me",))

    found = release_coverage.missing_clusters(
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
    partial = release_coverage.ReleaseCoverage(
        "new", {"us": "u"}, ("eu", "ap"), waiting={"eu": "x"}
    )
    before = application_statuses.ApplicationStatus(
        coverage=partial, kept={"us": "new"}, under_way=True
    )

    not_yet = backfilled(before, ended(statuses.RunStatus.SUCCEEDED, "eu"))
    first = not_yet.status
    everywhere = backfilled(first, ended(statuses.RunStatus.SUCCEEDED, "ap"))
    last = everywhere.status

    assert (not_yet.columns, not_yet.commits) == ({}, ())
    assert (first.coverage.behind, first.coverage.waiting) == (("ap",), {})
    assert first.kept == {"us": "new", "eu": "new"}
    told = "every cluster has new; ap came last"
    assert everywhere.columns == {"running_commit": "new", "status": "synced", "reason": told}
    assert everywhere.commits == (application_state.CommitChange("new", "succeeded", told),)
    assert (last.kept, last.under_way) == ({}, False)


def test_who_could_not_catch_up_says_why_and_keeps_what_it_has() -> None:
    before = application_statuses.ApplicationStatus(coverage=OLD, kept={"me": "older"})
    run = replace(
        ended(statuses.RunStatus.FAILED, "me", commit="old", failed=("me",)), reason="no image"
    )

    change = backfilled(before, run)
    after = change.status

    assert change.columns == {}
    assert after.kept == {"me": "older"}
    assert after.coverage.waiting == {"me": "run run-1: no image"}
    assert "me" not in after.coverage.clusters
    assert release_coverage.missing_reasons(replace(after.coverage, behind=("x",))) == {
        "x": "the release went on without it",
        "me": "run run-1: no image",
    }


def test_documents_come_back() -> None:
    run_request = run_requests.RunRequest(
        "w", "c", run_requests.KindName.BACKFILL, "why", AT, targets=("eu",)
    )
    application_status = application_statuses.ApplicationStatus(
        coverage=replace(OLD, behind=("x",)), backfill=run_request
    )
    mark = taints.Taint("a", "b", taints.Effect.NO_EXECUTE, AT, "ana", "why")
    known = cluster_health.ClusterHealth(
        "eu", cluster_health.ClusterState.NOT_READY, AT, "why", (mark,), AT, AT, "uid"
    )

    assert (
        application_statuses.from_document(application_statuses.to_document(application_status))
        == application_status
    )
    assert cluster_documents.read_cluster(cluster_documents.write_cluster(known, AT)) == known
    empty = application_statuses.from_document({})
    assert (empty.coverage, empty.backfill) == (release_coverage.ReleaseCoverage(), None)


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
    coverage = release_coverage.ReleaseCoverage(
        "abc", {"us": ""}, ("eu", "asia"), waiting={"eu": "it is lost"}
    )

    left = release_coverage.restricted_to(coverage, ("us", "asia"))

    assert release_coverage.missing_reasons(left) == {"asia": "the release went on without it"}
    assert release_coverage.missing_clusters(left, ("us",), lambda _: "") == {}
    assert release_coverage.restricted_to(left, ("us", "asia")) == left
