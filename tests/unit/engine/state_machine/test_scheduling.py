"""The machine from stage to stage, from group to group, and what it refuses."""

from datetime import UTC, datetime, timedelta

import pytest

from machine_scripts import Converse, Make, check
from volary.engine.runs import policies, run_builder
from volary.engine.state_machine import events, machine
from volary.model import errors, statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.statuses import TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


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


def test_a_stage_timeout_is_a_failure_and_grows_more_urgent(
    begun: Make, converse: Converse
) -> None:
    """Told gracefully at ten minutes, broken off after the grace, given up after another."""
    check(
        converse,
        begun(),
        """
        >> us succeeded
        >> +10m
        << stop eu gracefully: timed out after 10m
        >> +4m
        >> +1m
        << stop eu now: timed out after 10m
        >> +5m
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: timed out after 10m: it was broken off and did not report how it ended; rolling back us and eu
        """,  # noqa: E501
    )


def test_a_run_timeout_is_a_failure_too(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(("us",), timeout=timedelta(minutes=5)),
        """
        >> +5m
        << stop us gracefully: timed out after 5m
        >> us cancelled: 1 of 2 pods ready
        << start rollback on us
        == rolling_back: the run timed out after 5m in K8S_CANARY_ROLLOUT; rolling back us
        """,
    )


WAVES = (
    run_builder.Group(("us",), "first"),
    run_builder.Group(
        ("eu",), "rest", approval=policies.ApprovalRule(2, ("al", "bo"), timedelta(hours=1))
    ),
)


def test_a_group_waits_for_the_group_before_and_for_its_approvals(
    begun: Make, converse: Converse
) -> None:
    """The stage's limit stands still meanwhile."""
    check(
        converse,
        begun(groups=WAVES),
        """
        >> approve al
        << no: a run that is running cannot be approved
        >> us succeeded
        == waiting: stage 1 of 2, K8S_CANARY_ROLLOUT: awaiting approval: 0 of 2 (approvers: al and bo)
        >> approve cy
        << no: cy is not one of the approvers: al and bo
        >> approve al
        >> approve al
        << no: al has approved already
        >> +59m
        >> approve bo
        << start 1-K8S_CANARY_ROLLOUT on eu
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        >> +9m
        >> +1m
        << stop eu gracefully: timed out after 10m
        """,  # noqa: E501
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


def test_a_stage_visits_only_its_own_clusters(begun: Make, converse: Converse) -> None:
    stages = (
        pipelines.Stage(
            rollout_stages.CANARY_ROLLOUT.name,
            rollout_stages.VariantRolloutOptions(),
            targets=("eu",),
        ),
        pipelines.Stage(
            rollout_stages.PRIMARY_ROLLOUT.name, rollout_stages.PrimaryRolloutOptions()
        ),
    )
    check(
        converse,
        begun(stages=stages),
        """
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
        pipelines.Stage(
            waiting_stages.WAIT.name,
            waiting_stages.WaitOptions(timedelta()),
            timeout=timedelta(),
            targets=("mars",),
        ),
    )
    made = run_builder.RunSpec("shop", "new", (run_builder.Group(("us", "us"), "all", -1),), stages)

    with pytest.raises(errors.UserError) as caught:
        run_builder.new_run("run-1", made, BEGINNING)

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


def test_a_report_of_an_earlier_attempt_is_stale(planned_run: Make, converse: Converse) -> None:
    run = planned_run(("us",), on_failure=policies.OnFailure.HOLD)
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
    told = statuses.Outcome(status, "boom", touched=True)
    return events.TaskFinished(BEGINNING, "1-K8S_CANARY_ROLLOUT", "us", attempt, told)


MEASURED = (
    pipelines.Stage(
        waiting_stages.ANALYSIS.name,
        waiting_stages.AnalysisOptions(timedelta(minutes=5)),
        timeout=timedelta(minutes=10),
    ),
    pipelines.Stage(
        rollout_stages.PRIMARY_ROLLOUT.name,
        rollout_stages.PrimaryRolloutOptions(),
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
        << stop eu gracefully: skipped by ana: enough
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
        planned_run(("us",), stages=MEASURED, on_failure=policies.OnFailure.HOLD),
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
