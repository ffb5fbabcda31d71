"""What a move does about a run under way, and what its end means for the application."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import command_world
import git_feed
import reconciler_fixtures as given
from volary.controller.planning import replica_assignment
from volary.controller.runs import moves, preemption, run_kinds
from volary.controller.status import (
    application_state,
    application_statuses,
    cluster_releases,
    run_origins,
    run_requests,
)
from volary.engine.runs import run_builder, state, updates
from volary.manifests import redaction
from volary.model import statuses
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import added_stages, rollout_stages
from volary.model.placement import failover_rules
from volary.placement.failover import move_plans, situations
from volary.placement.replicas import assignment, divisible_workloads
from volary.store import records

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PATIENCE = timedelta(minutes=5)
FILE = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: shop
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: words, namespace: shop}
"""
SHIFT = move_plans.MovePlan(place=("asia",), last=("us",))
MOVE = run_requests.RunRequest(
    "m", "abc", run_requests.KindName.MOVE, "us is flooded", NOW, shift=SHIFT
)
LEAVING = situations.Eviction(
    "us", situations.Cause.CLUSTER, "us is flooded", NOW, replacements=("asia",)
)
PLACED = situations.PlacementState(("eu", "asia"), away={"us": "us is flooded"}, leaving=(LEAVING,))
STANDING = application_statuses.ApplicationStatus(move=MOVE, under_way=True).with_placement(PLACED)
PAUSE = state.Pause("ana", NOW, "the shop is on television")


def release(**changes: object) -> state.Run:
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    made = run_builder.RunSpec(
        "shop", "new", run_builder.one_group(("us", "eu")), (sync,), running_commit="abc"
    )
    run = run_builder.new_run("r", made, NOW)
    return replace(run, **{"status": statuses.RunStatus.RUNNING, **changes})  # type: ignore[arg-type]


def moved(**tasks: statuses.TaskStatus) -> state.Run:
    """Return the run of the move as it ended, with how each cluster's task did."""
    made = run_builder.RunSpec(
        "shop",
        "abc",
        run_builder.one_group(SHIFT.clusters),
        move_plans.stages(SHIFT),
        running_commit="abc",
    )
    run = run_builder.new_run("m", made, NOW)
    stages = tuple(
        replace(
            each,
            groups=tuple(
                replace(
                    group,
                    tasks=tuple(
                        replace(task, status=tasks.get(task.target, task.status))
                        for task in group.tasks
                    ),
                )
                for group in each.groups
            ),
        )
        for each in run.stages
    )
    return replace(run, stages=stages)


ROOMS = [
    (None, timedelta(), preemption.Preemption.GO, ""),
    (release(), timedelta(minutes=4), preemption.Preemption.WAIT, "interrupted at 12:05:00"),
    (
        release(),
        timedelta(minutes=5),
        preemption.Preemption.INTERRUPT,
        "did not end within 0:05:00",
    ),
    (release(), -timedelta(hours=1), preemption.Preemption.WAIT, "interrupted at 12:05:00"),
    (release(pause=PAUSE), timedelta(hours=1), preemption.Preemption.WAIT, "paused by ana"),
    (
        release(ending=state.Ending(statuses.RunStatus.FAILED, "broken", rollback=True)),
        timedelta(hours=1),
        preemption.Preemption.WAIT,
        "is not disturbed",
    ),
]


@pytest.mark.parametrize(("run", "later", "room", "reason"), ROOMS)
def test_a_move_waits_for_a_run_a_while_and_for_a_pause_or_a_way_back_for_ever(
    run: state.Run | None, later: timedelta, room: preemption.Preemption, reason: str
) -> None:
    answer = preemption.decide_preemption(STANDING, run, MOVE, NOW + later, PATIENCE)

    assert answer.room is room
    assert reason in answer.reason


def test_a_paused_application_is_not_moved() -> None:
    answer = preemption.decide_preemption(replace(STANDING, pause=PAUSE), None, MOVE, NOW, PATIENCE)

    assert answer.room is preemption.Preemption.WAIT
    assert answer.reason == (
        "the application is paused by ana: the shop is on television, which pins where it is as"
        " well"
    )


@pytest.mark.parametrize(
    ("cause", "replaced", "urgent"),
    [
        (situations.Cause.CLUSTER, False, True),
        (situations.Cause.APPLICATION, False, True),
        (situations.Cause.CLUSTER, True, False),
        (situations.Cause.DRAIN, False, False),
        (situations.Cause.REBALANCE, False, False),
    ],
)
def test_only_what_is_lost_or_ill_interrupts_a_run(
    cause: situations.Cause, replaced: bool, urgent: bool
) -> None:
    leaving = replace(LEAVING, cause=cause, replaced=replaced)

    assert (
        preemption.is_urgent(STANDING.with_placement(replace(PLACED, leaving=(leaving,)))) is urgent
    )


def test_the_interrupted_commit_is_wanted_again() -> None:
    again = preemption.request_resumption(release(), MOVE, NOW, "n")

    assert (again.id, again.commit, again.kind) == ("n", "new", run_requests.KindName.RELEASE)
    assert again.reason == "goes on after run r was interrupted: us is flooded"


DONE, FAILED = statuses.TaskStatus.SUCCEEDED, statuses.TaskStatus.FAILED


def concluded(run: state.Run) -> application_statuses.ApplicationStatus:
    known = cluster_releases.ClusterReleases(
        "abc",
        {name: cluster_releases.ClusterRelease("old") for name in ("us", "eu")},
    )
    application_status = replace(STANDING, releases=known).with_placement(PLACED)
    application = application_state.ApplicationState(
        records.ApplicationRecord("shop"), application_status
    )
    origin = run_origins.Origin("shop", "volary.yaml", kind=run_requests.KindName.MOVE)
    ended = run_kinds.EndedRun(application, run, origin, lambda name: f"id of {name}", NOW)
    return moves.Move().concluded(ended).status


def test_a_move_that_went_well_leaves_nothing_behind() -> None:
    after = concluded(moved(asia=DONE, us=DONE))

    assert after.placed.leaving == ()
    assert after.placed.away == {"us": "us is flooded"}, "it does not go back by itself"
    covered = cluster_releases.ReleaseState.COVERED
    assert after.releases.clusters == {
        "us": cluster_releases.ClusterRelease(away="us is flooded"),
        "eu": cluster_releases.ClusterRelease("old", chosen=True),
        "asia": cluster_releases.ClusterRelease("abc", covered, "id of asia", chosen=True),
    }
    assert not after.under_way


def test_a_removal_that_failed_is_still_to_come_and_the_replacement_counts() -> None:
    (left,) = concluded(moved(asia=DONE, us=FAILED)).placed.leaving

    assert (left.replaced, left.removed) == (True, False)


def test_a_replacement_that_failed_counts_for_nothing() -> None:
    (left,) = concluded(moved(asia=FAILED)).placed.leaving

    assert (left.replaced, left.removed) == (False, False)


def test_a_release_that_succeeded_says_where_the_application_is() -> None:
    run = release(status=statuses.RunStatus.SUCCEEDED)
    placed = situations.PlacementState(("us", "eu", "sa"))

    after = moves.after_release(placed, run, ("us", "eu"), NOW)

    assert after.chosen == ("us", "eu")
    (dropped,) = after.leaving
    assert (dropped.cluster, dropped.purge, dropped.replaced) == (
        "sa",
        failover_rules.Purge.NEVER,
        True,
    )
    assert dropped.reason == "sa is not chosen any more since run r"


def test_a_release_that_failed_changes_nothing_about_where_it_is() -> None:
    placed = situations.PlacementState(("us",))

    failed = release(status=statuses.RunStatus.FAILED)
    after = moves.after_release(placed, failed, ("us", "eu"), NOW)

    assert after.chosen == ("us",)


def test_a_standing_with_a_move_survives_being_written() -> None:
    timed = replace(PLACED, waiting={"eu": "it has to wait"})

    read = application_statuses.from_document(
        application_statuses.to_document(STANDING.with_placement(timed))
    )

    assert read == STANDING.with_placement(timed)
    assert read.placed == timed


def test_a_run_says_what_moves_after_it_and_when_that_interrupts_it() -> None:
    told = preemption.decide_preemption(STANDING, release(), MOVE, NOW, PATIENCE).reason
    waiting = replace(moves.delayed(STANDING, told), run="r")

    assert moves.waiting_reason(waiting, "r") == (
        "us: us is flooded; run r has to end first; it is interrupted at 12:05:00"
    )
    assert moves.waiting_reason(replace(STANDING, run="r"), "r") == "us is flooded"
    assert moves.waiting_reason(waiting, "another") == ""
    assert moves.waiting_reason(replace(waiting, under_way=False), "r") == ""
    assert moves.waiting_reason(replace(waiting, move=None), "r") == ""


def test_a_move_that_has_ended_says_why_and_where_the_application_is() -> None:
    done = moved(us=statuses.TaskStatus.SUCCEEDED, asia=statuses.TaskStatus.SUCCEEDED)

    ended = replace(done, status=statuses.RunStatus.SUCCEEDED)
    assert (
        moves.summary_of_end(STANDING, ended) == "it is on eu and asia since move m: us is flooded"
    )
    stages = tuple(each for each in ended.stages if each.task("us") is None)
    assert moves.summary_of_end(STANDING, replace(ended, stages=stages)) == (
        "it is on eu and asia since move m: us is flooded"
    ), "that it is replaced is why, also where what it leaves does not answer"
    failed = replace(done, status=statuses.RunStatus.FAILED, reason="asia: no room")
    assert moves.summary_of_end(STANDING, failed) == "move m has ended failed: asia: no room"


def test_pods_are_counted_by_cluster_over_all_that_is_divided() -> None:
    def divided(**counts: int) -> assignment.Assignment:
        shares = {name: divisible_workloads.Share(count) for name, count in counts.items()}
        keys = (manifest.ResourceKey("apps", "Deployment", "shop", name) for name in ("web", "api"))
        return assignment.Assignment(
            tuple(assignment.WorkloadAssignment(key, shares) for key in keys)
        )

    numbers = replica_assignment.ReplicaNumbers(divided(eu=2), divided(us=1, eu=3))

    assert moves.pod_counts(numbers) == ({"us": 2, "eu": 6}, {"eu": 4})


@pytest.mark.parametrize(
    ("before", "status", "after"),
    [
        ((), statuses.RunStatus.FAILED, ("us",)),
        ((), statuses.RunStatus.ROLLED_BACK, ()),
        (("asia",), statuses.RunStatus.FAILED, ("asia",)),
    ],
)
def test_a_first_release_that_failed_is_where_it_wrote(
    before: tuple[str, ...], status: statuses.RunStatus, after: tuple[str, ...]
) -> None:
    run = updates.conclude_begun(release(status=status), "us", wrote=True)

    placed = moves.after_release(situations.PlacementState(before), run, ("us", "eu"), NOW)

    assert placed.chosen == after


async def test_a_move_brings_each_cluster_its_part_at_the_release_that_it_runs(
    tmp_path: Path,
) -> None:
    (tmp_path / "app.pipecd.yaml").write_text(FILE)
    (tmp_path / "config.yaml").write_text(CONFIG)
    commit = command_world.commit(tmp_path, "Add the shop")
    async with given.leading(sources=git_feed.Feed(tmp_path)) as world:
        shift = move_plans.MovePlan(place=("eu",), last=("us",))
        record = records.ApplicationRecord("shop", "shop", "app.pipecd.yaml")
        known = cluster_releases.ClusterReleases(
            commit, {"us": cluster_releases.ClusterRelease(commit)}, commit
        )
        status = application_statuses.ApplicationStatus(releases=known).with_placement(
            situations.PlacementState(("eu",))
        )
        ready = await moves.Move().prepare(
            run_kinds.Planning(
                application_state.ApplicationState(record, status),
                replace(MOVE, commit=commit, shift=shift),
                world.leader.dependencies,
                world.store,
                redaction.Masker(),
            )
        )

    assert (ready.run.targets, ready.origin.targets) == (("eu", "us"), ("eu", "us"))
    assert (ready.origin.chosen, ready.origin.subject) == (("eu",), "Add the shop")
    assert (ready.origin.kind, ready.origin.reason) == (MOVE.kind, MOVE.reason)
    assert [stage.stage.kind for stage in ready.run.stages] == [
        added_stages.PLACEMENT_SYNC,
        added_stages.PLACEMENT_REMOVE,
    ]
    assert [ready.run.running_commit_of(name) for name in ("eu", "us")] == [commit, commit]
    assert "a move is not rolled back" in ready.run.policy.stop_reason


def test_a_decision_is_kept_unless_another_one_was_taken_meanwhile() -> None:
    elsewhere = situations.PlacementState(("sa",))
    decided = moves.decided(STANDING, STANDING, elsewhere, None)
    assert (decided.placed, decided.move) == (elsewhere, None)
    paused = replace(STANDING, pause=PAUSE)
    assert moves.decided(paused, STANDING, elsewhere, MOVE).pause == PAUSE

    for other in (replace(STANDING, move=None), STANDING.with_placement(elsewhere)):
        assert moves.decided(other, STANDING, PLACED, MOVE) == other
