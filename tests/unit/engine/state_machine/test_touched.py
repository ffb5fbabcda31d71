"""Which clusters count as touched: those that were written to, and those nobody can vouch for."""

from datetime import UTC, datetime, timedelta

import pytest

from machine_scripts import Converse, Make, check
from volary.engine.state_machine import commands, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.statuses import TaskStatus

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
WAIT = pipelines.Stage(waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(minutes=1)))
CANARY = pipelines.Stage(rollout_stages.CANARY_ROLLOUT.name, rollout_stages.VariantRolloutOptions())


def test_a_cluster_is_touched_in_the_step_that_starts_its_task(begun: Make) -> None:
    run = begun(("us", "eu", "asia"), concurrency=2)

    assert run.touched == ("us", "eu")
    assert [cluster.provisional for cluster in run.clusters] == [True, True, False]
    started = [
        command.target
        for command in machine.outstanding(run)
        if isinstance(command, commands.StartTask)
    ]
    assert started == list(run.touched)


def test_only_the_task_that_is_taken_over_loses_who_can_vouch_for_its_cluster(begun: Make) -> None:
    taken, step = machine.advance_all(begun(), [events.TakenOver(BEGINNING, "us")])

    assert len(taken) == 1
    assert [cluster.provisional for cluster in step.run.clusters] == [False, True]
    assert step.run.touched == ("us", "eu")


def test_what_another_process_had_begun_is_rolled_back_whatever_it_finds(
    begun: Make, converse: Converse
) -> None:
    """The next one sees a broken version, and nothing that it would have to write."""
    check(
        converse,
        begun(),
        """
        >> taken-over
        >> us failed untouched: crash loop
        << stop eu gracefully: stopped: K8S_CANARY_ROLLOUT failed: us: crash loop
        >> eu cancelled untouched: stopped
        << start rollback on us
        << start rollback on eu
        == rolling_back: K8S_CANARY_ROLLOUT failed: us: crash loop; rolling back us and eu
        >> us succeeded
        >> eu succeeded
        << release
        == rolled_back: K8S_CANARY_ROLLOUT failed: us: crash loop; rollback verified on us and eu
        """,
    )


def test_of_a_hundred_clusters_none_keeps_what_a_lost_leader_wrote(
    begun: Make, converse: Converse
) -> None:
    names = tuple(f"c{number:02}" for number in range(100))
    script = ">> taken-over\n>> c00 failed untouched: no image\n"
    script += "\n".join(f">> {name} cancelled untouched: stopped" for name in names[1:])

    talk = converse(begun(names), script)

    assert talk.count("<< start rollback on") == len(names)


def test_cancelled_after_a_restart_it_does_not_say_that_nothing_was_changed(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(),
        """
        >> taken-over
        >> cancel
        << stop us gracefully: cancelled by ana
        << stop eu gracefully: cancelled by ana
        >> us cancelled untouched: stopped
        >> eu cancelled untouched: stopped
        << release
        == cancelled: cancelled by ana; us and eu stay as they are
        """,
    )


def test_what_was_begun_before_is_not_taken_back_by_a_later_stage(
    begun: Make, converse: Converse
) -> None:
    """The task that wrote nothing speaks for itself alone."""
    check(
        converse,
        begun(("us",)),
        """
        >> taken-over
        >> us succeeded untouched
        << start 2-K8S_PRIMARY_ROLLOUT on us
        >> us failed untouched: forbidden
        << start rollback on us
        == rolling_back: K8S_PRIMARY_ROLLOUT failed: us: forbidden; rolling back us
        """,
    )


def test_what_begins_after_a_restart_may_say_that_it_wrote_nothing(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us", "eu"), concurrency=1),
        """
        >> taken-over
        >> us succeeded untouched
        << start 1-K8S_CANARY_ROLLOUT on eu
        >> eu failed untouched: forbidden
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: forbidden; rolling back us
        """,
    )


@pytest.mark.parametrize("status", [TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.SKIPPED])
def test_a_stage_that_writes_nothing_touches_nothing(begun: Make, status: TaskStatus) -> None:
    """Also when it is lost, broken off, or carried on by another process."""
    run = machine.advance(begun(("us",), stages=(WAIT, CANARY)), events.TakenOver(BEGINNING)).run
    assert run.touched == ()
    said = statuses.Outcome(status, "broken off", touched=True)
    told = events.TaskFinished(BEGINNING, run.current.id, "us", 1, said)

    after = machine.advance(run, told).run

    # The next stage may write, and has begun.
    assert after.touched == (("us",) if status is TaskStatus.SKIPPED else ())
    assert after.clusters[0].provisional == (status is TaskStatus.SKIPPED)


def test_a_broken_off_wait_is_known_to_have_changed_nothing(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(("us",), stages=(WAIT, CANARY)),
        """
        >> cancel now
        << stop us now: cancelled by ana
        >> us cancelled: broken off
        << release
        == cancelled: cancelled by ana; nothing was changed
        """,
    )


def test_a_run_that_nobody_goes_on_with_names_what_may_have_been_changed(begun: Make) -> None:
    _, step = machine.abandon(
        begun(("us", "eu"), concurrency=1), "ana", "its files are gone", BEGINNING
    )

    assert step.run.touched == ("us",)
    assert step.run.reason == "cancelled by ana: its files are gone; us stays as it is"
