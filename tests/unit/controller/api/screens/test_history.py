"""What a run that has ended says about the clusters it was for."""

from dataclasses import replace
from datetime import timedelta

from machine_simulation import BEGINNING, STAGES
from volary.controller.api.screens import history
from volary.engine.runs import policies, rollback, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses

FAILED, SUCCEEDED = statuses.TaskStatus.FAILED, statuses.TaskStatus.SUCCEEDED


def started(*, hold: bool = False) -> state.Run:
    """Begun on us and eu, which ran different commits; asia has its turn later."""
    groups = (run_builder.Group(("us", "eu", "asia"), concurrency=2),)
    policy = policies.Policy(
        on_failure=policies.OnFailure.HOLD if hold else policies.OnFailure.ROLLBACK
    )
    made = run_builder.RunSpec(
        "shop", "new7777", groups, STAGES, "old1111", policy, running_commits={"eu": "older22"}
    )
    planned = run_builder.new_run("run-1", made, BEGINNING)
    return machine.advance(planned, events.Start(BEGINNING)).run


def until_the_end(run: state.Run, *failing: str) -> state.Run:
    """Have each task end, badly on `failing` until the run goes back."""
    for _ in range(100):
        if run.is_final:
            return run
        task = run.current.running[0]
        is_bad = task.target in failing and run.rollback is None
        how = statuses.Outcome(FAILED if is_bad else SUCCEEDED, "said", touched=True)
        ended = events.TaskFinished(
            BEGINNING + timedelta(minutes=1), run.current.id, task.target, task.attempt, how
        )
        run = machine.advance(run, ended).run
    raise AssertionError(run)


def test_a_run_that_succeeded_left_its_commit_everywhere() -> None:
    assert history.commits_after(until_the_end(started())) == dict.fromkeys(
        ("us", "eu", "asia"), "new7777"
    )


def test_a_run_that_went_back_left_each_cluster_what_it_ran() -> None:
    run = until_the_end(started(), "us")

    assert run.status is statuses.RunStatus.ROLLED_BACK
    assert history.commits_after(run) == {"us": "old1111", "eu": "older22", "asia": "old1111"}


def test_a_cluster_that_was_gone_on_without_is_not_said_to_have_the_commit() -> None:
    run = started(hold=True)
    [us, eu] = run.current.running
    for task, how in ((us, FAILED), (eu, SUCCEEDED)):
        outcome = statuses.Outcome(how, "said", touched=True)
        run = machine.advance(
            run,
            events.TaskFinished(BEGINNING, run.current.id, task.target, task.attempt, outcome),
        ).run
    step = machine.advance(run, events.SkipCluster(BEGINNING, "ana", "us", "its registry is down"))
    assert not step.refusal, step.refusal
    run = until_the_end(step.run)

    assert run.status is statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS
    # Half of it may be there.
    assert history.commits_after(run) == {"eu": "new7777", "asia": "new7777"}


def test_a_run_that_takes_another_one_back_leaves_what_ran_before() -> None:
    done = until_the_end(started())
    back = rollback.rollback_run(done, "run-2", "ana", BEGINNING)
    run = until_the_end(machine.advance(back, events.Start(BEGINNING)).run)

    assert (run.status, run.commit) == (statuses.RunStatus.SUCCEEDED, "new7777")
    assert history.commits_after(run) == {"us": "old1111", "eu": "older22", "asia": "old1111"}
    assert history.commits_after(replace(run, rollback=None)) == {}
