"""The machine's rules, one conversation each."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from textwrap import dedent

import pytest

from volary.engine import events, machine, plan, state
from volary.model import errors, outcome, stage
from volary.model.status import TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
Make = Callable[..., state.Run]
Converse = Callable[[state.Run, str], str]


def check(converse: Converse, run: state.Run, script: str) -> None:
    script = dedent(script).strip()

    assert converse(run, script) == script


def test_stages_follow_one_another_and_clusters_go_together(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        >> eu succeeded
        >> us skipped: nothing to do
        << release
        == succeeded: every stage is done on us and eu
        """,
    )


def test_a_failing_cluster_neither_breaks_off_nor_hides_the_others(
    planned_run: Make, converse: Converse
) -> None:
    """The failure shows at once; who runs finishes its write; who waits does not start."""
    check(
        converse,
        planned_run(("us", "eu", "asia"), concurrency=2),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> eu failed: no such image
        << stop us politely: stopped: K8S_CANARY_ROLLOUT failed: eu: no such image
        >> us cancelled: stopped waiting
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: no such image; rolling back us and eu
        >> us succeeded
        >> eu rolled_back
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: eu: no such image; us and eu back as before
        """,
    )


def test_only_touched_clusters_are_rolled_back(planned_run: Make, converse: Converse) -> None:
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu failed untouched: forbidden
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: forbidden; rolling back us
        >> us succeeded
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: eu: forbidden; us back as before
        """,
    )


def test_a_run_that_touched_nothing_fails_without_a_rollback(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us",)),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us failed untouched: forbidden
        << release
        == failed: K8S_CANARY_ROLLOUT failed: us: forbidden; nothing was changed
        """,
    )


def test_a_rollback_that_fails_somewhere_goes_on_elsewhere_and_names_what_is_left(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us", "eu", "asia"), concurrency=1),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        << start 1-K8S_CANARY_ROLLOUT on eu
        >> eu failed: crash loop
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: crash loop; rolling back us
        >> us unreachable: no route to host
        << start rollback on eu
        >> eu succeeded
        << release
        == failed: K8S_CANARY_ROLLOUT failed: eu: crash loop; not proven back: us (no route to host)
        """,
    )


def test_without_auto_rollback_everything_stays_as_it_is(
    planned_run: Make, converse: Converse
) -> None:
    run = planned_run(on_failure=state.OnFailure.STOP, stop_reason="autoRollback is off")
    check(
        converse,
        run,
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us failed: boom
        << stop eu politely: stopped: K8S_CANARY_ROLLOUT failed: us: boom
        >> eu failed untouched: boom too
        << release
        == failed: K8S_CANARY_ROLLOUT failed: us: boom; eu: boom too; us stays as it is (autoRollback is off)
        """,  # noqa: E501
    )


def test_a_stage_timeout_is_a_failure_and_grows_more_urgent(
    planned_run: Make, converse: Converse
) -> None:
    """Told politely at ten minutes, broken off after the grace, given up after another."""
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> +10m
        << stop eu politely: timed out after 10m
        >> +4m
        >> +1m
        << stop eu now: timed out after 10m
        >> +5m
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: timed out after 10m: it was broken off and did not report how it ended; rolling back us and eu
        """,  # noqa: E501
    )


def test_a_run_timeout_is_a_failure_too(planned_run: Make, converse: Converse) -> None:
    check(
        converse,
        planned_run(("us",), timeout=timedelta(minutes=5)),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +5m
        << stop us politely: timed out after 5m
        >> us cancelled: 1 of 2 pods ready
        << start rollback on us
        == rolling_back: the run timed out after 5m in K8S_CANARY_ROLLOUT; rolling back us
        """,
    )


def test_the_rollback_has_a_deadline_of_its_own(planned_run: Make, converse: Converse) -> None:
    run = planned_run(rollback_timeout=timedelta(minutes=3), timeout=timedelta(minutes=1))
    check(
        converse,
        run,
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu failed: boom
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: boom; rolling back us and eu
        >> us succeeded
        >> +2m
        >> +1m
        << stop eu politely: timed out after 3m
        >> eu cancelled: 0 of 2 pods ready
        << release
        == failed: K8S_CANARY_ROLLOUT failed: eu: boom; not proven back: eu (timed out after 3m: 0 of 2 pods ready)
        """,  # noqa: E501
    )


def test_an_unreachable_cluster_fails_the_stage_by_default(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu unreachable untouched: connection refused
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: connection refused; rolling back us
        """,
    )


def test_an_unreachable_cluster_may_be_left_out_but_the_run_does_not_succeed(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(on_unreachable=state.OnUnreachable.CONTINUE_WITHOUT),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> eu unreachable untouched: connection refused
        >> us succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        >> us succeeded
        << release
        == failed: every stage is done on us, but the run went on without eu (unreachable: connection refused)
        """,  # noqa: E501
    )


def test_a_polite_cancel_waits_for_the_write_and_keeps_what_is_there(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us",)),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> cancel keep
        << stop us politely: cancelled by ana
        >> us cancelled: stopped after the write
        << release
        == cancelled: cancelled by ana; us stays as it is
        """,
    )


def test_a_second_cancel_breaks_off(planned_run: Make, converse: Converse) -> None:
    check(
        converse,
        planned_run(("us",)),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> cancel keep
        << stop us politely: cancelled by ana
        >> cancel keep now
        << stop us now: cancelled by ana
        >> us cancelled: broken off
        << release
        == cancelled: cancelled by ana; us stays as it is
        """,
    )


def test_a_cancel_can_roll_back_and_the_rollback_is_not_cancelled_politely(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us",)),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> cancel rollback
        << stop us politely: cancelled by ana
        >> us cancelled: stopped after the write
        << start rollback on us
        == rolling_back: cancelled by ana; rolling back us
        >> cancel keep
        << no: the rollback goes on; cancel now to break it off
        >> cancel keep now
        << stop us now: broken off by ana
        >> us cancelled: broken off
        << release
        == failed: cancelled by ana; not proven back: us (broken off)
        """,
    )


def test_a_planned_run_can_be_cancelled_and_a_final_one_takes_nothing(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(),
        """
        >> cancel keep
        << release
        == cancelled: cancelled by ana; nothing was changed
        >> start
        << no: a run that is cancelled cannot be started
        >> us succeeded
        >> +1h
        """,
    )


def test_a_paused_run_starts_nothing_and_says_what_still_finishes(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> pause
        == waiting: paused by ana; still finishing: eu
        >> pause
        << no: the run is already paused by ana
        >> eu succeeded
        >> +9h
        >> resume
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        == running: stage 2 of 2, K8S_PRIMARY_ROLLOUT
        >> +19m
        >> +1m
        << stop us politely: timed out after 20m
        << stop eu politely: timed out after 20m
        """,
    )


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (
            state.OnFailure.ROLLBACK,
            "<< start rollback on us\n"
            "== rolling_back: K8S_CANARY_ROLLOUT failed: us: boom; rolling back us",
        ),
        (
            state.OnFailure.STOP,
            "<< release\n== failed: K8S_CANARY_ROLLOUT failed: us: boom; us stays as it is",
        ),
    ],
)
def test_a_failure_ends_the_pause(
    planned_run: Make, converse: Converse, policy: state.OnFailure, answer: str
) -> None:
    talk = converse(
        planned_run(("us",), on_failure=policy), ">> start\n>> pause\n>> us failed: boom"
    )

    assert talk.endswith(f">> us failed: boom\n{answer}")


def test_a_held_run_is_tried_again_where_it_failed_and_where_it_was_stopped(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us", "eu", "asia"), on_failure=state.OnFailure.HOLD),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        << start 1-K8S_CANARY_ROLLOUT on asia
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu failed: boom
        << stop asia politely: stopped: K8S_CANARY_ROLLOUT failed: eu: boom
        >> retry eu
        << no: a run that is running cannot be tried again
        >> asia cancelled: stopped
        == waiting: K8S_CANARY_ROLLOUT failed: eu: boom; retry, skip or cancel
        >> retry us
        << no: there is nothing to try again on us
        >> +8h
        >> retry eu
        << start 1-K8S_CANARY_ROLLOUT on eu again (2)
        << start 1-K8S_CANARY_ROLLOUT on asia again (2)
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +9m
        >> eu succeeded
        >> asia succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        << start 2-K8S_PRIMARY_ROLLOUT on asia
        """,
    )


def test_skipping_the_failing_cluster_of_a_held_run_goes_on_without_it(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(on_failure=state.OnFailure.HOLD),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> us succeeded
        >> eu failed: boom
        == waiting: K8S_CANARY_ROLLOUT failed: eu: boom; retry, skip or cancel
        >> skip mars
        << no: mars is not a cluster of this run
        >> skip eu
        << start 2-K8S_PRIMARY_ROLLOUT on us
        == running: stage 2 of 2, K8S_PRIMARY_ROLLOUT
        >> us succeeded
        << release
        == failed: every stage is done on us, but the run went on without eu (skipped by ana: on fire)
        """,  # noqa: E501
    )


def test_a_running_cluster_is_skipped_after_its_write(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> skip eu
        << stop eu politely: skipped by ana: on fire
        >> us succeeded
        >> eu cancelled: stopped
        << start 2-K8S_PRIMARY_ROLLOUT on us
        """,
    )


def test_skipping_the_last_cluster_fails_the_run(planned_run: Make, converse: Converse) -> None:
    check(
        converse,
        planned_run(("us",)),
        """
        >> skip us
        >> start
        << release
        == failed: K8S_CANARY_ROLLOUT failed: no cluster is left to go on with; nothing was changed
        """,
    )


WAVES = (
    plan.Group(("us",), "first"),
    plan.Group(("eu",), "rest", approval=state.ApprovalRule(2, ("ana", "bo"), timedelta(hours=1))),
)


def test_a_group_waits_for_the_group_before_and_for_its_approvals(
    planned_run: Make, converse: Converse
) -> None:
    """The stage's limit stands still meanwhile."""
    check(
        converse,
        planned_run(groups=WAVES),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> approve ana
        << no: a run that is running cannot be approved
        >> us succeeded
        == waiting: stage 1 of 2, K8S_CANARY_ROLLOUT: waiting for approval (2 of ana and bo)
        >> approve cy
        << no: cy is not one of the approvers: ana and bo
        >> approve ana
        >> approve ana
        << no: ana has approved already
        >> +59m
        >> approve bo
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +9m
        >> +1m
        << stop eu politely: timed out after 10m
        """,
    )


def test_a_rejection_and_an_expired_approval_are_failures(
    planned_run: Make, converse: Converse
) -> None:
    begun = ">> start\n>> us succeeded\n"
    rejected = converse(planned_run(groups=WAVES), f"{begun}>> reject bo")
    expired = converse(planned_run(groups=WAVES), f"{begun}>> +1h")

    assert rejected.endswith(
        "== rolling_back: K8S_CANARY_ROLLOUT failed: rejected by bo: too risky; rolling back us"
    )
    assert expired.endswith(
        "== rolling_back: K8S_CANARY_ROLLOUT failed: not approved within 1h; rolling back us"
    )


def test_skipping_all_that_wait_for_approval_fails_what_is_touched_back(
    planned_run: Make, converse: Converse
) -> None:
    talk = converse(planned_run(groups=WAVES), ">> start\n>> us succeeded\n>> skip us\n>> skip eu")

    assert talk.endswith(
        "<< start rollback on us\n== rolling_back: K8S_CANARY_ROLLOUT failed: "
        "no cluster is left to go on with; rolling back us"
    )


def test_a_stage_visits_only_its_own_clusters(planned_run: Make, converse: Converse) -> None:
    stages = (
        stage.Stage(stage.StageName.CANARY_ROLLOUT, stage.VariantRolloutOptions(), targets=("eu",)),
        stage.Stage(stage.StageName.PRIMARY_ROLLOUT, stage.PrimaryRolloutOptions()),
    )
    check(
        converse,
        planned_run(stages=stages),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> eu succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        """,
    )


def test_an_executor_that_lies_is_a_failure(planned_run: Make, converse: Converse) -> None:
    stopped = converse(planned_run(("us",)), ">> start\n>> us cancelled: felt like it")
    running = converse(planned_run(("us",)), ">> start\n>> us running: still at it")

    assert "us: it stopped without being asked to: felt like it" in stopped
    assert "us: the stage reported running, which is no end" in running


def test_all_that_is_wrong_with_a_plan_is_said_at_once() -> None:
    stages = (
        stage.Stage(
            stage.StageName.WAIT,
            stage.WaitOptions(timedelta()),
            timeout=timedelta(),
            targets=("mars",),
        ),
    )
    made = plan.Plan("shop", "new", (plan.Group(("us", "us"), "all", -1),), stages)

    with pytest.raises(errors.UserError) as caught:
        plan.new_run("run-1", made, BEGINNING)

    assert [each.message for each in caught.value.problems] == [
        "target us is named twice",
        "stage WAIT is limited to mars, which is not a target of the run",
        "the timeout of stage WAIT must be positive",
        "the concurrency of group all is negative",
    ]


def test_what_a_new_process_takes_over_is_what_was_running(
    planned_run: Make, converse: Converse
) -> None:
    run = planned_run()
    from_events = machine.advance(run, events.Start(BEGINNING))

    taken_over = machine.outstanding(from_events.run)

    assert taken_over == from_events.commands


def test_limits_stand_still_during_a_pause_in_the_middle_of_a_stage(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(concurrency=1),
        """
        >> start
        << start 1-K8S_CANARY_ROLLOUT on us
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +4m
        >> pause
        == waiting: paused by ana; still finishing: us
        >> us succeeded
        >> +9h
        >> resume
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +5m
        >> +1m
        << stop eu politely: timed out after 6m
        """,
    )


def test_a_report_of_an_earlier_attempt_is_stale(planned_run: Make, converse: Converse) -> None:
    run = planned_run(("us",), on_failure=state.OnFailure.HOLD)
    talk = converse(run, ">> start\n>> us failed: boom\n>> retry\n>> us succeeded")
    assert talk.endswith("<< start 2-K8S_PRIMARY_ROLLOUT on us")

    for event in (
        events.Start(BEGINNING),
        finished(1, TaskStatus.FAILED),
        events.Retry(BEGINNING, "ana"),
        finished(1, TaskStatus.SUCCEEDED),
    ):
        run = machine.advance(run, event).run

    assert run.position == 0
    assert [task.attempt for task in run.current.running] == [2]


def finished(attempt: int, status: TaskStatus) -> events.TaskFinished:
    told = outcome.Outcome(status, "boom", touched=True)
    return events.TaskFinished(BEGINNING, "1-K8S_CANARY_ROLLOUT", "us", attempt, told)


def test_skipping_all_of_a_run_that_stays_as_it_is(planned_run: Make, converse: Converse) -> None:
    run = planned_run(groups=WAVES, on_failure=state.OnFailure.STOP)
    talk = converse(run, ">> start\n>> us succeeded\n>> skip us\n>> skip eu")

    assert talk.endswith(
        "== failed: K8S_CANARY_ROLLOUT failed: no cluster is left to go on with; us stays as it is"
    )


MEASURED = (
    stage.Stage(
        stage.StageName.ANALYSIS,
        stage.AnalysisOptions(timedelta(minutes=5)),
        timeout=timedelta(minutes=10),
    ),
    stage.Stage(
        stage.StageName.PRIMARY_ROLLOUT,
        stage.PrimaryRolloutOptions(),
        timeout=timedelta(minutes=20),
    ),
)


def test_an_analysis_is_skipped_on_every_cluster_and_the_run_goes_on(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(stages=MEASURED),
        """
        >> start
        << start 1-ANALYSIS on us
        << start 1-ANALYSIS on eu
        == running: stage 1 of 2, ANALYSIS
        >> skip-stage 2-K8S_PRIMARY_ROLLOUT
        << no: the run is at 1-ANALYSIS, not at 2-K8S_PRIMARY_ROLLOUT
        >> us succeeded
        >> skip-stage 1-ANALYSIS
        << stop eu politely: skipped by ana: enough
        >> eu cancelled: stopped
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        >> skip-stage 2-K8S_PRIMARY_ROLLOUT
        << no: only ANALYSIS and WAIT can be skipped
        >> us succeeded
        >> eu succeeded
        << release
        == succeeded: every stage is done on us and eu
        """,
    )


def test_an_analysis_that_failed_cannot_be_skipped_any_more(
    planned_run: Make, converse: Converse
) -> None:
    check(
        converse,
        planned_run(("us",), stages=MEASURED, on_failure=state.OnFailure.HOLD),
        """
        >> start
        << start 1-ANALYSIS on us
        == running: stage 1 of 2, ANALYSIS
        >> us failed: errors
        == waiting: ANALYSIS failed: us: errors; retry, skip or cancel
        >> skip-stage 1-ANALYSIS
        << no: the stage has failed already; try it again, or cancel
        """,
    )
