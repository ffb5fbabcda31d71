"""One sentence on why a run waits, what comes next, and what a failure would lead to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from volary.engine.observers import explanations
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.statuses import TaskStatus

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

    assert explanations.waiting_reason(run) == (
        "stage 1 of 2, K8S_CANARY_ROLLOUT; eu: 1 of 2 pods ready (also us and asia)"
    )
    assert explanations.what_next(run) == "K8S_PRIMARY_ROLLOUT"
    assert explanations.if_failed(run) == "what the stage touches is rolled back"


def test_a_cluster_that_does_not_answer_is_named_while_it_is_waited_for(planned_run: Make) -> None:
    silence = statuses.Outcome(TaskStatus.UNREACHABLE, "connection refused")
    run = after(
        planned_run(("us", "eu"), on_unreachable=policies.OnUnreachable.WAIT),
        events.Start(AT),
        events.TaskFinished(AT, CANARY, "eu", 1, silence),
        events.TaskFinished(
            AT, CANARY, "us", 1, statuses.Outcome(TaskStatus.SUCCEEDED, "2 of 2 ready")
        ),
    )

    assert run.reason == "stage 1 of 2, K8S_CANARY_ROLLOUT: waiting for eu to answer"
    assert explanations.waiting_reason(run) == f"{run.reason}; eu: connection refused; trying again"


def test_a_run_that_ends_says_so(planned_run: Make) -> None:
    failed = statuses.Outcome(TaskStatus.FAILED, "boom", touched=True)
    run = after(planned_run(), events.Start(AT), events.TaskFinished(AT, CANARY, "us", 1, failed))

    assert explanations.waiting_reason(run) == (
        "K8S_CANARY_ROLLOUT failed: us: boom; still finishing: eu; waiting for eu"
    )
    assert explanations.what_next(run) == "roll back us"


def test_waiting_for_a_person_and_the_end_are_the_runs_own_reason(planned_run: Make) -> None:
    paused = after(planned_run(), events.Start(AT), events.PauseAsked(AT, "ana", "lunch"))
    over = after(planned_run(), events.Cancel(AT, "ana"))

    assert explanations.waiting_reason(paused) == "paused by ana: lunch; still finishing: us and eu"
    assert explanations.waiting_reason(over) == "cancelled by ana; nothing was changed"
    assert explanations.what_next(over) == ""


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (policies.OnFailure.HOLD, "the run waits for a person"),
        (policies.OnFailure.STOP, "the run fails and stays as it is"),
    ],
)
def test_what_a_failure_leads_to_is_the_policy(
    planned_run: Make, policy: policies.OnFailure, sentence: str
) -> None:
    assert explanations.if_failed(planned_run(on_failure=policy)) == sentence


def test_what_a_failure_leads_to_is_what_the_wave_says() -> None:
    waves = (
        policies.WaveRule("first", ("us",)),
        policies.WaveRule("second", ("eu",), on_failure=policies.OnFailure.ROLLBACK_WAVE),
        policies.WaveRule("third", ("asia",), on_failure=policies.OnFailure.STOP),
    )
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    steps = tuple(
        run_builder.WaveStep(sync, run_builder.Group(each.targets, each.name), each.name)
        for each in waves
    )
    made = run_builder.RunSpec(
        "shop",
        "new",
        run_builder.one_group(("us", "eu", "asia")),
        (sync,),
        waves=waves,
        steps=steps,
    )
    run = machine.advance(run_builder.new_run("run", made, AT), events.Start(AT)).run
    done = statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
    said = []
    assert explanations.what_next(run) == "K8S_SYNC in wave second"
    for name, each in (("us", "first"), ("eu", "second")):
        said.append(explanations.if_failed(run))
        run = after(run, events.TaskFinished(AT, f"{each}/1-K8S_SYNC", name, 1, done))

    assert [*said, explanations.if_failed(run)] == [
        "what the stage touches is rolled back",
        # Not us, which is of an earlier wave.
        "what the stage touches is rolled back",
        "the run fails and stays as it is",
    ]


def test_nothing_comes_after_a_rollback(planned_run: Make) -> None:
    bad = statuses.Outcome(TaskStatus.FAILED, "no image", touched=True)
    run = after(
        planned_run(("us",)), events.Start(AT), events.TaskFinished(AT, CANARY, "us", 1, bad)
    )

    assert run.rollback is not None
    assert explanations.what_next(run) == ""


def test_what_a_person_may_type_follows_from_what_the_run_waits_for(planned_run: Make) -> None:
    failed = statuses.Outcome(TaskStatus.FAILED, "a crash loop", touched=True)
    started = after(planned_run(("us", "eu")), events.Start(AT))
    held = after(
        planned_run(("us", "eu"), on_failure=policies.OnFailure.HOLD),
        events.Start(AT),
        events.TaskFinished(AT, CANARY, "eu", 1, failed),
        events.TaskFinished(AT, CANARY, "us", 1, failed),
    )
    name = started.id
    skip = f"volary skip {name} --cluster us --reason TEXT"

    assert explanations.next_commands(started) == (f"volary cancel {name}", skip)
    assert held.held
    retry = f"volary retry {name} --stage {CANARY} --seen {held.revision}"
    assert explanations.next_commands(held) == (retry, skip, f"volary cancel {name}")
    paused = after(started, events.PauseAsked(AT, "ana", "lunch"))
    assert explanations.next_commands(paused)[0] == f"volary resume {name}"
    kept = after(held, events.Cancel(AT, "ana", rollback=False, now=False))
    assert kept.is_final
    assert explanations.next_commands(kept) == (
        f"volary sync {kept.application}",
        f"volary rollback {kept.application}",
    )
    refused = run_builder.refused_run("r9", "shop", "c1", "", "it has errors", AT)
    assert explanations.next_commands(refused) == ("volary sync shop",)


def test_of_a_run_that_is_over_it_is_said_what_is_possible_instead_of_a_retry(
    planned_run: Make,
) -> None:
    def ended(status: statuses.RunStatus) -> state.Run:
        return replace(planned_run(("us", "eu")), status=status)

    sync = "volary sync shop"
    succeeded = ended(statuses.RunStatus.SUCCEEDED)
    assert explanations.next_commands(succeeded) == ()
    assert explanations.instead_of_retry(succeeded)[0] == sync
    back = ended(statuses.RunStatus.ROLLED_BACK)
    assert explanations.next_commands(back)[0] == explanations.instead_of_retry(back)[0] == sync


def test_of_a_run_that_is_ending_it_is_said_how_to_watch_it(planned_run: Make) -> None:
    run = after(
        planned_run(("us", "eu")),
        events.Start(AT),
        events.Cancel(AT, "ana", rollback=False, now=False),
    )

    assert explanations.next_commands(run) == (f"volary watch {run.id}",)
