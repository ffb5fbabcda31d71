"""What the beginning, the end and the refusal of a release change about its application."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.controller.runs import backfills, moves, releases, rollbacks, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    run_origins,
    run_requests,
)
from volary.engine.runs import rollback, run_builder, state, updates
from volary.gitops import triggers
from volary.model import statuses
from volary.model.objects import manifest, ownership
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.placement.replicas import assignment, divisible_workloads
from volary.store import records

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
WEB = manifest.ResourceKey("apps", "Deployment", "shop", "web")
RELEASE = releases.Release()
REQUEST = run_requests.RunRequest(
    "r2", "c2", run_requests.KindName.RELEASE, "c2 was pushed", NOW, trigger=triggers.Kind.COMMIT
)


def divided(**replicas: int) -> assignment.Assignment:
    shares = {name: divisible_workloads.Share(number) for name, number in replicas.items()}
    return assignment.Assignment((assignment.WorkloadAssignment(WEB, shares),))


ORIGIN = run_origins.Origin(
    "shop",
    "volary.yaml",
    reason="c1 was pushed",
    subject="Add it",
    chosen=("us", "eu"),
    assigned=divided(us=3, eu=2),
    assigned_before=divided(us=1, eu=1),
)
RELEASES = cluster_releases.ClusterReleases(running="c0")
BEFORE = application_statuses.ApplicationStatus(
    releases=RELEASES.with_shares(divided(us=1, eu=1), ("us", "eu"))
)


def run(status: statuses.RunStatus, *done: str) -> state.Run:
    """Return a run that has ended so, and that succeeded on some clusters."""
    groups = run_builder.one_group(("us", "eu"))
    made = run_builder.RunSpec("shop", "c1", groups, (SYNC,), running_commit="c0")
    ended = replace(run_builder.new_run("r1", made, NOW), status=status, reason="it was so")
    ended = updates.conclude_begun(ended, "us", wrote=True)
    ended = updates.conclude_begun(ended, "eu", wrote=True)
    good, bad = statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.FAILED
    stage = updates.change_tasks(
        ended.current,
        lambda task: replace(task, status=good if task.target in done else bad, started=NOW),
    )
    return updates.replace_current(ended, stage)


def application(
    status: application_statuses.ApplicationStatus = BEFORE, word: str = "running"
) -> application_state.ApplicationState:
    record = records.ApplicationRecord("shop", status=word)
    return application_state.ApplicationState(record, status)


def ended(
    run: state.Run, known: application_state.ApplicationState | None = None
) -> run_kinds.EndedRun:
    return run_kinds.EndedRun(known or application(), run, ORIGIN, lambda name: f"uid-{name}", NOW)


def test_what_begins_takes_its_request_and_says_why() -> None:
    own, newer = replace(REQUEST, id="r1"), REQUEST
    for request, rest in ((own, None), (newer, newer)):
        status = replace(BEFORE, run_request=request, waiting_reason="it waits")

        change = RELEASE.begun(
            run_kinds.KeptRun(application(status), run(statuses.RunStatus.RUNNING), ORIGIN)
        )

        assert change.status.run_request == rest
        assert change.status.waiting_reason == ("it waits" if rest else "")
        assert (change.status.run, change.status.under_way) == ("r1", True)
        assert change.columns == {"status": "running", "reason": "c1 was pushed"}
        assert change.commits == (
            application_state.CommitChange(
                "c1", "running", "c1 was pushed", run="r1", subject="Add it"
            ),
        )


def test_a_run_that_goes_on_brings_no_removed_application_back() -> None:
    gone = records.ApplicationRecord("shop", status="removed", removed=NOW)
    known = application_state.ApplicationState(gone, BEFORE)

    change = RELEASE.begun(run_kinds.KeptRun(known, run(statuses.RunStatus.RUNNING), ORIGIN))

    assert (change.columns, change.status.under_way) == ({}, True)


@pytest.mark.parametrize("kind", [RELEASE, backfills.Backfill(), moves.Move()])
def test_whose_objects_are_where_is_kept_from_the_beginning(kind: run_kinds.RunKind) -> None:
    """A process that dies at once must not make another id."""
    first, second, third = (ownership.Owner("shop", number) for number in "123")
    status = replace(BEFORE, owners={"us": first, "asia": third})
    origin = replace(ORIGIN, owners={"us": second, "eu": second})

    change = kind.begun(
        run_kinds.KeptRun(application(status), run(statuses.RunStatus.RUNNING), origin)
    )

    assert change.status.owners == {"us": second, "eu": second, "asia": third}


def test_one_that_succeeded_says_what_runs_where_and_who_has_how_many() -> None:
    change = RELEASE.concluded(ended(run(statuses.RunStatus.SUCCEEDED, "us", "eu")))

    assert change.columns == {"status": "synced", "reason": "it was so"}
    assert change.status.releases.running == "c1"
    assert change.status.placed.chosen == ("us", "eu")
    assert (change.status.releases.assigned, change.status.releases.assigned_before) == (
        ORIGIN.assigned,
        divided(us=1, eu=1),
    )
    assert change.status.releases.covered == ("us", "eu")


def test_of_one_that_failed_only_who_holds_it_has_its_number() -> None:
    change = RELEASE.concluded(ended(run(statuses.RunStatus.FAILED, "us")))

    assert change.columns == {"status": "failed", "reason": "it was so"}
    assert change.status.releases.assigned.replicas(WEB) == {"us": 3, "eu": 1}
    assert change.status.releases.assigned_before == assignment.EMPTY
    assert change.status.releases.running == "c0"
    assert change.status.releases.exceptions("c0") == {"us": "c1"}


def test_a_revert_is_settled_by_the_rollback_of_what_it_reverts() -> None:
    status = replace(BEFORE, run_request=replace(REQUEST, reverts="r1"), waiting_reason="it waits")

    change = RELEASE.concluded(ended(run(statuses.RunStatus.ROLLED_BACK), application(status)))

    assert change.settled == status.run_request
    assert change.settled_reason == "c2 took run r1 back"
    assert change.columns == {"status": "synced", "reason": "c2 took run r1 back"}
    assert [(one.commit, one.status) for one in change.commits] == [
        ("c1", "rolled_back"),
        ("c2", "reverted"),
    ]
    assert (change.status.run_request, change.status.waiting_reason) == (None, "")


def test_what_is_requested_meanwhile_waits_no_longer() -> None:
    status = replace(BEFORE, run_request=replace(REQUEST, reverts="r1"), waiting_reason="it waits")

    change = RELEASE.concluded(ended(run(statuses.RunStatus.FAILED), application(status)))

    assert change.settled is None
    assert change.status.run_request == REQUEST, "it is a release like any other"
    assert change.status.waiting_reason == ""
    assert change.columns == {"status": "waiting", "reason": "it was so"}


def test_what_its_file_says_stays_said() -> None:
    for word in ("broken", "suspended", "removed", "orphaned"):
        change = RELEASE.concluded(
            ended(run(statuses.RunStatus.SUCCEEDED, "us", "eu"), application(word=word))
        )
        assert (change.columns, change.status.releases.running) == ({}, "c1")


def test_a_refusal_fails_the_commit_and_leaves_a_newer_request() -> None:
    older = replace(REQUEST, id="r1", commit="c1")
    status = replace(BEFORE, run_request=REQUEST, waiting_reason="it waits")

    own = RELEASE.refused(run_kinds.RequestedRun(application(status), REQUEST), "it has errors")
    other = RELEASE.refused(run_kinds.RequestedRun(application(status), older), "it has errors")

    assert (own.status.run_request, own.status.waiting_reason) == (None, "")
    assert own.columns == {"status": "failed", "reason": "it has errors"}
    assert own.status.run == "r2", "the run that has failed"
    assert (other.status, other.columns) == (replace(status, run="r1"), {})
    busy = replace(status, run="r0", under_way=True)
    later = RELEASE.refused(run_kinds.RequestedRun(application(busy), older), "it has errors")
    assert later.status.run == "r0", "the one under way stays the application's"
    assert [one.commit for one in (*own.commits, *other.commits)] == ["c2", "c1"]
    requested = run_kinds.RequestedRun(application(status), older)
    assert RELEASE.delayed(requested, "not now", "later").status == status


def test_a_refusal_of_what_nobody_requests_any_more_fails_its_commit_alone() -> None:
    requested = run_kinds.RequestedRun(application(), REQUEST)

    refused = RELEASE.refused(requested, "it has errors")
    delayed = RELEASE.delayed(requested, "not now", "later")

    assert (refused.status, refused.columns) == (replace(BEFORE, run="r2"), {})
    assert [(one.commit, one.status) for one in refused.commits] == [("c2", "failed")]
    assert (delayed.status, delayed.columns) == (BEFORE, {})


def test_a_rollback_gives_back_the_numbers_from_before() -> None:
    after = RELEASES.with_shares(divided(us=3, eu=2), ("us", "eu"))
    status = replace(BEFORE, releases=after)
    planned = rollback.rollback_run(
        run(statuses.RunStatus.FAILED, "us"), "r2", "rolled back by ana", NOW
    )
    back = replace(planned, status=statuses.RunStatus.SUCCEEDED)

    change = rollbacks.Rollback().concluded(ended(back, application(status)))

    assert change.status.releases.assigned == ORIGIN.assigned_before
    assert change.status.releases.running == "c0"
    assert change.commits[0].status == "rolled_back"


def test_only_what_was_done_everywhere_it_could_be_is_completed() -> None:
    """A release that went on without a cluster counts, one that failed on another does not."""
    out, task_statuses = state.LeftOut.UNREACHABLE, statuses.TaskStatus
    completed = []
    for done in (("us",), ()):
        failed = run(
            statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS if done else statuses.RunStatus.FAILED,
            *done,
        )
        without = updates.leave_out(failed, "eu", "unreachable: it is gone", out)
        stage = updates.change_tasks(
            without.current,
            lambda task: (
                replace(task, status=task_statuses.SKIPPED) if task.target == "eu" else task
            ),
        )
        stage = replace(stage, status=task_statuses.SUCCEEDED if done else task_statuses.FAILED)
        change = RELEASE.concluded(ended(updates.replace_current(without, stage)))
        completed.append(change.status.releases.completed)

    assert completed == ["c1", ""]
