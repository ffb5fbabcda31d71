"""A run that waits for a cluster goes on the moment somebody sees that the cluster answers."""

from datetime import UTC, datetime, timedelta

import pytest

from machine_scripts import Converse, Make, check
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import deadlines, events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import TaskStatus

START = datetime(2026, 1, 1, tzinfo=UTC)
WAIT = policies.OnUnreachable.WAIT
#: Far longer than any stage here takes, so that nothing is tried again because of the clock.
NEVER = timedelta(days=1)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)


def test_what_waits_for_a_cluster_is_tried_again_when_it_answers(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(on_unreachable=WAIT, again_after=NEVER),
        """
        >> us succeeded
        >> eu unreachable untouched: no answer
        >> answers us
        >> +1m
        >> answers eu
        << start 1-K8S_CANARY_ROLLOUT on eu again (2)
        >> eu succeeded
        << start 2-K8S_PRIMARY_ROLLOUT on us
        << start 2-K8S_PRIMARY_ROLLOUT on eu
        """,
    )


def test_a_cluster_that_answers_means_nothing_to_a_task_that_does_not_wait_for_it(
    begun: Make, converse: Converse
) -> None:
    check(
        converse,
        begun(on_unreachable=WAIT, again_after=NEVER),
        """
        >> answers us
        >> answers mars
        >> us succeeded
        >> answers us
        >> eu unreachable untouched: no answer
        >> answers eu
        << start 1-K8S_CANARY_ROLLOUT on eu again (2)
        >> answers eu
        >> eu unreachable untouched: no answer
        >> answers eu
        << start 1-K8S_CANARY_ROLLOUT on eu again (3)
        """,
    )


def test_in_a_pause_it_waits_for_the_resume(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(on_unreachable=WAIT, again_after=NEVER),
        """
        >> us succeeded
        >> eu unreachable untouched: no answer
        >> pause
        == waiting: paused by ana
        >> answers eu
        >> resume
        << start 1-K8S_CANARY_ROLLOUT on eu again (2)
        == running: stage 1 of 2, K8S_CANARY_ROLLOUT
        """,
    )


def test_one_that_fails_for_good_is_not_brought_back(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(),
        """
        >> us succeeded
        >> eu unreachable untouched: no answer
        << start rollback on us
        == rolling_back: K8S_CANARY_ROLLOUT failed: eu: no answer; rolling back us
        >> answers eu
        """,
    )


def in_a_wave(limit: timedelta) -> state.Run:
    """Given a wave that waits for eu, which did not answer a second after START."""
    rule = policies.WaveRule("all", ("us", "eu"), unreachable=1, on_unreachable=WAIT)
    group = run_builder.Group(("us", "eu"), "all", progress_deadline=limit)
    step = run_builder.WaveStep(SYNC, group, "all")
    made = run_builder.RunSpec(
        "shop",
        "new",
        (run_builder.Group(("us", "eu")),),
        (SYNC,),
        policy=policies.Policy(again_after=NEVER),
        waves=(rule,),
        steps=(step,),
    )
    run = machine.advance(run_builder.new_run("run", made, START), events.Start(START)).run
    told = statuses.Outcome(TaskStatus.UNREACHABLE, "no answer")
    at = START + timedelta(seconds=1)
    return machine.advance(run, events.TaskFinished(at, "all/1-K8S_SYNC", "eu", 1, told)).run


def task(run: state.Run) -> state.TaskState:
    of_eu = run.stages[0].task("eu")
    assert of_eu is not None
    return of_eu


def test_a_second_try_has_what_is_left_of_the_time_since_the_first() -> None:
    at = START + timedelta(seconds=20)
    run = machine.advance(in_a_wave(timedelta(seconds=50)), events.ClusterReachable(at, "eu")).run

    assert (task(run).status, task(run).attempt) == (TaskStatus.RUNNING, 2)
    assert task(run).deadline == START + timedelta(seconds=50)


@pytest.mark.parametrize("late", [0, 5])
def test_one_whose_time_is_over_has_no_second_try(late: int) -> None:
    run = in_a_wave(timedelta(seconds=50))
    at = START + timedelta(seconds=50 + late)
    step = machine.advance(run, events.ClusterReachable(at, "eu"))

    assert step.run is run
    assert deadlines.next_time(run) == START + timedelta(seconds=50)
    after = machine.advance(run, events.TimePassed(at)).run
    assert task(after).status is TaskStatus.UNREACHABLE


def test_as_many_as_may_run_at_once_are_tried(begun: Make, converse: Converse) -> None:
    check(
        converse,
        begun(("us", "eu", "asia"), concurrency=1, on_unreachable=WAIT, again_after=NEVER),
        """
        >> us unreachable untouched: no answer
        << start 1-K8S_CANARY_ROLLOUT on eu
        >> answers us
        >> eu succeeded
        << start 1-K8S_CANARY_ROLLOUT on us again (2)
        >> us succeeded
        << start 1-K8S_CANARY_ROLLOUT on asia
        """,
    )
