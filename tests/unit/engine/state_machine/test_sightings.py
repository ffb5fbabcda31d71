"""A request acts on what the person saw, and on nothing that came after."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine, sightings
from volary.model import statuses
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, waiting_stages
from volary.model.statuses import RunStatus, TaskStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = AT + timedelta(minutes=5)
PEOPLE = ("ana", "bo", "cy")
FIRST, SECOND, LAST = "1-WAIT_APPROVAL", "2-WAIT_APPROVAL", "3-K8S_SYNC"


def gate(count: int = 1) -> pipelines.Stage:
    options = waiting_stages.ApprovalOptions(PEOPLE, count)
    return pipelines.Stage(waiting_stages.WAIT_APPROVAL.name, options)


def two_gates(count: int = 1) -> state.Run:
    """Given: a run that waits at the first of two gates in a row."""
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    made = run_builder.RunSpec(
        "shop",
        "new",
        run_builder.one_group(("us", "eu")),
        (gate(count), gate(count), sync),
        "old",
        policies.Policy(on_failure=policies.OnFailure.HOLD),
    )
    run = machine.advance(run_builder.new_run("run-1", made, AT), events.Start(AT)).run
    return passed(run)


def passed(run: state.Run) -> state.Run:
    """Let the tasks of a gate that is open come to their end."""
    for task in run.current.running:
        told = statuses.Outcome(TaskStatus.SUCCEEDED, "approved")
        event = events.TaskFinished(AT, run.current.id, task.target, task.attempt, told)
        run = machine.advance(run, event).run
    return run


def approve(run: state.Run, by: str, seen: state.Sighting) -> machine.Step:
    return machine.advance(run, events.Approve(NOW, by, seen=seen))


def test_one_approval_passes_one_gate_however_often_it_comes() -> None:
    run = two_gates()
    seen = sightings.of_run(run)
    assert seen.stage == FIRST

    once = approve(run, "ana", seen)
    assert once.refusal == ""
    at_second = passed(once.run)
    assert at_second.current.id == SECOND
    for by in PEOPLE:
        again = approve(at_second, by, seen)

        assert again.run is at_second
        assert again.refusal == (
            f"stage {FIRST} was approved by ana at 2026-01-01T00:05:00Z; the run is at {SECOND},"
            f" version {at_second.revision}: {at_second.reason}"
        )
    assert approve(at_second, "ana", sightings.of_run(at_second)).refusal == ""


def test_people_who_saw_the_same_question_count_together() -> None:
    run = two_gates(2)
    seen = sightings.of_run(run)

    one = approve(run, "ana", seen).run
    assert sightings.of_run(one) == seen
    both = approve(one, "bo", seen)

    assert both.refusal == ""
    late = approve(passed(both.run), "cy", seen)
    assert late.refusal.startswith(f"stage {FIRST} was approved by ana and bo at ")


def test_what_is_asked_anew_is_another_question() -> None:
    """Rejected, tried again, asked again: the same stage and group, and not the same to decide."""
    run = two_gates(2)
    seen = sightings.of_run(run)
    held = machine.advance(run, events.Reject(NOW, "bo", seen=seen)).run
    assert held.held
    later = NOW + timedelta(minutes=1)
    retry = events.Retry(later, "ana", seen=sightings.of_run(held))
    asked = machine.advance(held, retry).run

    assert asked.current.id == FIRST
    stale = approve(asked, "cy", seen)
    assert stale.refusal.startswith(f"stage {FIRST} has changed since version {seen.version}")
    assert machine.advance(asked, retry).refusal.startswith(f"stage {FIRST} has changed")
    assert approve(asked, "cy", sightings.of_run(asked)).refusal == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stage": SECOND}, f"stage {SECOND} is not due; the run is at {FIRST}, version "),
        ({"stage": "nothing"}, f"the run has no stage nothing; the run is at {FIRST}"),
        ({"group": "eu"}, f"it is not eu that waits; the run is at {FIRST}"),
        ({"version": 99}, f"stage {FIRST} has changed since version 99, which you saw"),
    ],
)
def test_what_is_not_there_cannot_be_approved(changes: dict[str, object], said: str) -> None:
    run = two_gates()
    seen = replace(sightings.of_run(run), **changes)  # type: ignore[arg-type]

    step = approve(run, "ana", seen)

    assert (step.run is run, step.refusal.startswith(said)) == (True, True), step.refusal


def test_what_only_stops_a_run_is_not_too_late() -> None:
    run = two_gates()
    seen = sightings.of_run(run)
    at_second = passed(approve(run, "ana", seen).run)

    paused = machine.advance(at_second, events.PauseAsked(NOW, "bo", seen=seen))
    cancelled = machine.advance(at_second, events.Cancel(NOW, "bo", now=True, seen=seen))

    assert (paused.refusal, cancelled.refusal) == ("", "")
    assert cancelled.run.status is RunStatus.CANCELLED


def test_a_cancel_that_was_meant_for_the_way_forward_does_not_break_off_the_way_back() -> None:
    run = two_gates()
    for _ in range(2):
        run = passed(approve(run, "ana", sightings.of_run(run)).run)
    seen = sightings.of_run(run)
    for task in run.current.running:
        wrote = statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
        event = events.TaskFinished(AT, LAST, task.target, task.attempt, wrote)
        back = machine.advance(run, events.Cancel(NOW, "ana", rollback=True, seen=seen)).run
        run = machine.advance(back, event).run
    assert run.rollback is not None

    stale = machine.advance(run, events.Cancel(NOW, "bo", now=True, seen=seen))
    blind = machine.advance(run, events.Cancel(NOW, "bo", now=True, seen=sightings.NOTHING))
    meant = events.Cancel(NOW, "bo", now=True, seen=sightings.of_run(run))

    assert (
        stale.refusal
        == blind.refusal
        == (
            "the run began to roll back at 2026-01-01T00:00:00Z,"
            " and cancelling now would break that off"
        )
    )
    assert machine.advance(run, meant).refusal == ""


def test_a_resume_ends_the_pause_that_was_seen() -> None:
    paused = machine.advance(two_gates(), events.PauseAsked(NOW, "ana")).run
    seen = sightings.of_run(paused)
    resumed = machine.advance(paused, events.Resume(NOW, "bo", seen=seen)).run
    again = machine.advance(resumed, events.PauseAsked(NOW + timedelta(minutes=1), "cy")).run

    assert resumed.pause is None
    late = machine.advance(again, events.Resume(NOW, "bo", seen=seen))
    assert late.run.pause is not None
    assert "has changed since version" in late.refusal


def test_reports_of_clusters_change_nothing_to_decide() -> None:
    run = two_gates()
    for _ in range(2):
        run = passed(approve(run, "ana", sightings.of_run(run)).run)
    before = sightings.of_run(run)
    task = run.current.running[0]
    done = statuses.Outcome(TaskStatus.SUCCEEDED, "done", touched=True)
    event = events.TaskFinished(NOW, LAST, task.target, task.attempt, done)

    assert sightings.of_run(machine.advance(run, event).run) == before
