"""The machine under a pause, and a run that is held after a failure."""

from datetime import timedelta

import pytest

from machine_scripts import Converse, Make, check
from volary.engine.runs import policies, run_builder


def test_a_paused_run_starts_nothing_and_says_what_still_finishes(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(),
        """
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
        << stop us gracefully: timed out after 20m
        << stop eu gracefully: timed out after 20m
        """,
    )


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (
            policies.OnFailure.ROLLBACK,
            "<< start rollback on us\n"
            "== rolling_back: K8S_CANARY_ROLLOUT failed: us: boom; rolling back us",
        ),
        (
            policies.OnFailure.STOP,
            "<< release\n== failed: K8S_CANARY_ROLLOUT failed: us: boom; us stays as it is",
        ),
    ],
)
def test_a_failure_ends_the_pause(
    planned_run: Make, converse: Converse, policy: policies.OnFailure, answer: str
) -> None:
    talk = converse(
        planned_run(("us",), on_failure=policy), ">> start\n>> pause\n>> us failed: boom"
    )

    assert talk.endswith(f">> us failed: boom\n{answer}")


def test_a_held_run_is_tried_again_where_it_failed_and_where_it_was_stopped(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us", "eu", "asia"), on_failure=policies.OnFailure.HOLD),
        """
        >> us succeeded
        >> eu failed: boom
        << stop asia gracefully: stopped: K8S_CANARY_ROLLOUT failed: eu: boom
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
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(on_failure=policies.OnFailure.HOLD),
        """
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
        == succeeded_with_exceptions: every stage is done on us, but the run went on without eu (skipped by ana: on fire)
        """,  # noqa: E501
    )


def test_a_running_cluster_is_skipped_after_its_write(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(),
        """
        >> skip eu
        << stop eu gracefully: skipped by ana: on fire
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
    run_builder.Group(("us",), "first"),
    run_builder.Group(
        ("eu",), "rest", approval=policies.ApprovalRule(2, ("ana", "bo"), timedelta(hours=1))
    ),
)


def test_limits_stand_still_during_a_pause_in_the_middle_of_a_stage(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(concurrency=1),
        """
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
        << stop eu gracefully: timed out after 6m
        """,
    )


def test_skipping_all_of_a_run_that_stays_as_it_is(planned_run: Make, converse: Converse) -> None:
    run = planned_run(groups=WAVES, on_failure=policies.OnFailure.STOP)
    talk = converse(run, ">> start\n>> us succeeded\n>> skip us\n>> skip eu")

    assert talk.endswith(
        "== failed: K8S_CANARY_ROLLOUT failed: no cluster is left to go on with; us stays as it is"
    )
