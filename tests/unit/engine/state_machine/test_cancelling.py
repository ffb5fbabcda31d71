"""The machine when somebody cancels."""

from machine_scripts import Converse, Make, check


def test_a_polite_cancel_waits_for_the_write_and_keeps_what_is_there(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us",)),
        """
        >> cancel keep
        << stop us gracefully: cancelled by ana
        >> us cancelled: stopped after the write
        << release
        == cancelled: cancelled by ana; us stays as it is
        """,
    )


def test_a_second_cancel_breaks_off(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(("us",)),
        """
        >> cancel keep
        << stop us gracefully: cancelled by ana
        >> cancel keep now
        << stop us now: cancelled by ana
        >> us cancelled: broken off
        << release
        == cancelled: cancelled by ana; us stays as it is
        """,
    )


def test_a_cancel_can_roll_back_and_the_rollback_is_not_cancelled_politely(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us",)),
        """
        >> cancel rollback
        << stop us gracefully: cancelled by ana
        >> us cancelled: stopped after the write
        << start rollback on us
        == rolling_back: cancelled by ana; rolling back us
        >> cancel keep
        << no: the rollback goes on; cancel now to break it off
        >> cancel keep now
        << stop us now: broken off by ana
        >> us cancelled: broken off
        << release
        == failed: cancelled by ana; rollback not verified: us (broken off)
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


def test_a_planned_run_has_nothing_to_roll_back(planned_run: Make, converse: Converse) -> None:
    check(
        converse,
        planned_run(),
        """
        >> cancel rollback
        << release
        == cancelled: cancelled by ana; nothing was changed
        """,
    )
