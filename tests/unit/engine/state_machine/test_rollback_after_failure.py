"""The machine after a failure: what it rolls back, and what it leaves."""

from dataclasses import replace
from datetime import timedelta

from machine_scripts import Converse, Make, check
from volary.engine.runs import policies, run_builder


def test_a_failing_cluster_neither_breaks_off_nor_hides_the_others(
    begun: Make, converse: Converse
) -> None:
    """The failure shows at once; who runs finishes its write; who waits does not start."""
    check(
        converse,
        begun(("us", "eu", "asia"), concurrency=2),
        """
        >> eu failed: no image
        << stop us gracefully: stopped: K8S_CANARY_ROLLOUT failed: eu: no image
        >> us cancelled: stopped waiting
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: no image; rolling back us and eu
        >> us succeeded
        >> eu rolled_back
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: eu: no image; rollback verified on us and eu
        """,
    )


def test_only_touched_clusters_are_rolled_back(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(),
        """
        >> us succeeded
        >> eu failed untouched: forbidden
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: forbidden; rolling back us
        >> us succeeded
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: eu: forbidden; rollback verified on us
        """,
    )


def test_a_run_that_touched_nothing_fails_without_a_rollback(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us",)),
        """
        >> us failed untouched: forbidden
        << release
        == failed: K8S_CANARY_ROLLOUT failed: us: forbidden; nothing was changed
        """,
    )


def test_a_rollback_that_fails_somewhere_goes_on_elsewhere_and_names_what_is_left(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us", "eu", "asia"), concurrency=1),
        """
        >> us succeeded
        << start 1-K8S_CANARY_ROLLOUT on eu
        >> eu failed: crash
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: crash; rolling back us
        >> us unreachable: no route
        << start rollback on eu
        >> eu succeeded
        << release
        == failed: K8S_CANARY_ROLLOUT failed: eu: crash; rollback not verified: us (no route)
        """,
    )


def test_without_auto_rollback_everything_stays_as_it_is(begun: Make, converse: Converse) -> None:
    run = begun(on_failure=policies.OnFailure.STOP, stop_reason="autoRollback is off")
    check(
        converse,
        run,
        """
        >> us failed: boom
        << stop eu gracefully: stopped: K8S_CANARY_ROLLOUT failed: us: boom
        >> eu failed untouched: boom too
        << release
        == failed: K8S_CANARY_ROLLOUT failed: us: boom; eu: boom too; us stays as it is (autoRollback is off)
        """,  # noqa: E501
    )


def test_what_several_clusters_say_alike_is_said_once(begun: Make, converse: Converse) -> None:
    run = begun(on_failure=policies.OnFailure.STOP, stop_reason="autoRollback is off")
    check(
        converse,
        run,
        """
        >> us failed: errors over 2 clusters
        << stop eu gracefully: stopped: K8S_CANARY_ROLLOUT failed: us: errors over 2 clusters
        >> eu failed untouched: errors over 2 clusters
        << release
        == failed: K8S_CANARY_ROLLOUT failed: us and eu: errors over 2 clusters; us stays as it is (autoRollback is off)
        """,  # noqa: E501
    )


def test_the_rollback_has_a_deadline_of_its_own(begun: Make, converse: Converse) -> None:
    run = begun(rollback_timeout=timedelta(minutes=3), timeout=timedelta(minutes=1))
    check(
        converse,
        run,
        """
        >> us succeeded
        >> eu failed: boom
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: boom; rolling back us and eu
        >> us succeeded
        >> +2m
        >> +1m
        << stop eu gracefully: timed out after 3m
        >> eu cancelled: 0 of 2 pods ready
        << release
        == failed: K8S_CANARY_ROLLOUT failed: eu: boom; rollback not verified: eu (timed out after 3m: 0 of 2 pods ready)
        """,  # noqa: E501
    )


def test_an_unreachable_cluster_fails_the_stage_by_default(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(),
        """
        >> us succeeded
        >> eu unreachable untouched: connection refused
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: connection refused; rolling back us
        """,
    )


def test_an_unreachable_cluster_may_be_left_out_and_is_an_exception_of_the_run(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(on_unreachable=policies.OnUnreachable.CONTINUE_WITHOUT),
        """
        >> eu unreachable untouched: connection refused
        >> us succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        >> us succeeded
        << release
        == succeeded_with_exceptions: every stage is done on us, but the run went on without eu (unreachable: connection refused)
        """,  # noqa: E501
    )


def test_a_run_that_succeeds_says_who_was_left_out_from_the_start(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        replace(begun(), absent="ap (cordoned by ana: 1.36)"),
        """
        >> us succeeded
        >> eu succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        >> us succeeded
        >> eu succeeded
        << release
        == succeeded: every stage is done on us and eu; left out: ap (cordoned by ana: 1.36)
        """,
    )


WAVES = (
    run_builder.Group(("us",), "first"),
    run_builder.Group(
        ("eu",), "rest", approval=policies.ApprovalRule(2, ("ana", "bo"), timedelta(hours=1))
    ),
)


def test_skipping_all_that_wait_for_approval_fails_what_is_touched_back(
    planned_run: Make, converse: Converse
) -> None:
    talk = converse(planned_run(groups=WAVES), ">> start\n>> us succeeded\n>> skip us\n>> skip eu")

    assert talk.endswith(
        "<< start rollback on us\n== rolling_back: K8S_CANARY_ROLLOUT failed: "
        "no cluster is left to go on with; rolling back us"
    )
