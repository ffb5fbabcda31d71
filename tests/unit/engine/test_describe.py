"""One sentence on why a run waits, what comes next, and what a failure would lead to."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from volary.engine import describe, events, machine, plan, rules, state, wording
from volary.model import outcome, stage
from volary.model.status import TaskStatus

Make = Callable[..., state.Run]
AT = datetime(2026, 1, 1, tzinfo=UTC)
CANARY = "1-K8S_CANARY_ROLLOUT"


def after(run: state.Run, *happened: events.Event) -> state.Run:
    for event in happened:
        run = machine.advance(run, event).run
    return run


def test_the_cluster_that_is_most_behind_speaks_for_all(planned_run: Make) -> None:
    run = after(
        planned_run(("us", "eu", "asia")),
        events.Start(AT),
        events.TaskProgressed(AT, CANARY, "us", 1, state.Progress("2 of 2 pods ready", 2, 2)),
        events.TaskProgressed(AT, CANARY, "eu", 1, state.Progress("1 of 2 pods ready", 1, 2)),
    )

    assert describe.why_waiting(run) == (
        "stage 1 of 2, K8S_CANARY_ROLLOUT; eu: 1 of 2 pods ready (also us and asia)"
    )
    assert describe.what_next(run) == "K8S_PRIMARY_ROLLOUT"
    assert describe.if_failed(run) == "what the stage touches is rolled back"


def test_a_cluster_that_does_not_answer_is_named_while_it_is_waited_for(planned_run: Make) -> None:
    silence = outcome.Outcome(TaskStatus.UNREACHABLE, "connection refused")
    run = after(
        planned_run(("us", "eu"), on_unreachable=rules.OnUnreachable.WAIT),
        events.Start(AT),
        events.TaskFinished(AT, CANARY, "eu", 1, silence),
        events.TaskFinished(
            AT, CANARY, "us", 1, outcome.Outcome(TaskStatus.SUCCEEDED, "2 of 2 ready")
        ),
    )

    assert run.reason == "stage 1 of 2, K8S_CANARY_ROLLOUT: waiting for eu to answer"
    assert describe.why_waiting(run) == f"{run.reason}; eu: connection refused; trying again"


def test_a_run_that_ends_says_so(planned_run: Make) -> None:
    failed = outcome.Outcome(TaskStatus.FAILED, "boom", touched=True)
    run = after(planned_run(), events.Start(AT), events.TaskFinished(AT, CANARY, "us", 1, failed))

    assert describe.why_waiting(run) == (
        "K8S_CANARY_ROLLOUT failed: us: boom; still finishing: eu; waiting for eu"
    )
    assert describe.what_next(run) == "roll back us"


def test_waiting_for_a_person_and_the_end_are_the_runs_own_reason(planned_run: Make) -> None:
    paused = after(planned_run(), events.Start(AT), events.PauseAsked(AT, "ana", "lunch"))
    over = after(planned_run(), events.Cancel(AT, "ana"))

    assert describe.why_waiting(paused) == "paused by ana: lunch; still finishing: us and eu"
    assert describe.why_waiting(over) == "cancelled by ana; nothing was changed"
    assert describe.what_next(over) == ""


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (rules.OnFailure.HOLD, "the run waits for a person"),
        (rules.OnFailure.STOP, "the run fails and stays as it is"),
    ],
)
def test_what_a_failure_leads_to_is_the_policy(
    planned_run: Make, policy: rules.OnFailure, sentence: str
) -> None:
    assert describe.if_failed(planned_run(on_failure=policy)) == sentence


def test_what_a_failure_leads_to_is_what_the_wave_says() -> None:
    waves = (
        rules.WaveRule("first", ("us",)),
        rules.WaveRule("second", ("eu",), on_failure=rules.OnFailure.ROLLBACK_WAVE),
        rules.WaveRule("third", ("asia",), on_failure=rules.OnFailure.STOP),
    )
    sync = stage.Stage(stage.StageName.SYNC, stage.SyncOptions())
    steps = tuple(plan.Step(sync, plan.Group(each.targets, each.name), each.name) for each in waves)
    made = plan.Plan(
        "shop", "new", plan.one_group(("us", "eu", "asia")), (sync,), waves=waves, steps=steps
    )
    run = machine.advance(plan.new_run("run", made, AT), events.Start(AT)).run
    done = outcome.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
    said = []
    assert describe.what_next(run) == "K8S_SYNC in wave second"
    for name, each in (("us", "first"), ("eu", "second")):
        said.append(describe.if_failed(run))
        run = after(run, events.TaskFinished(AT, f"{each}/1-K8S_SYNC", name, 1, done))

    assert [*said, describe.if_failed(run)] == [
        "what the stage touches is rolled back",
        # Not us, which is of an earlier wave.
        "what the stage touches is rolled back",
        "the run fails and stays as it is",
    ]


def test_lists_of_clusters_stay_short() -> None:
    fleet = [f"c{number}" for number in range(100)]

    assert wording.names([]) == ""
    assert wording.names(fleet[:5]) == "c0, c1, c2, c3 and c4"
    assert wording.names(fleet) == "c0, c1, c2, c3 and 96 more"
