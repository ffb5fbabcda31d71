"""What a step leaves behind for the store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from volary.engine.observers import observer_events
from volary.engine.persistence import transitions
from volary.engine.runs import policies, run_builder, state
from volary.engine.state_machine import events, machine
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_records
from volary.model.statuses import RunStatus

AT = datetime(2026, 1, 1, tzinfo=UTC)
SYNC = pipelines.Stage(
    rollout_stages.SYNC.name, rollout_stages.SyncOptions(), timeout=timedelta(minutes=10)
)
GROUP = run_builder.Group(("us", "eu"), "all", approval=policies.ApprovalRule(2))


def planned() -> state.Run:
    made = run_builder.RunSpec("shop", "new", (GROUP,), (SYNC, SYNC), "old")
    return run_builder.new_run("run-1", made, AT)


def step(
    before: state.Run, event: events.Event, version: int = 4
) -> tuple[state.Run, run_records.Transition]:
    after = machine.advance(before, event).run
    told = observer_events.between(before, after, event.at)
    return after, transitions.step_transition(before, (event,), after, told, version)


def test_a_new_run_is_kept_whole_with_its_origin() -> None:
    made = transitions.first_transition(planned(), {"kind": "commit"}, AT)

    assert (made.expected_version, made.version, made.at) == (0, 1, AT)
    assert made.origin == {"kind": "commit"}
    assert (made.head.id, made.head.status) == ("run-1", RunStatus.PLANNED)
    assert [(stage.position, stage.id) for stage in made.stages] == [
        (0, "1-K8S_SYNC"),
        (1, "2-K8S_SYNC"),
    ]
    assert [(task.stage, task.target, task.position) for task in made.tasks] == [
        (stage, target, place)
        for stage in ("1-K8S_SYNC", "2-K8S_SYNC")
        for place, target in enumerate(("us", "eu"))
    ]
    assert (made.feed, made.approvals) == ((), ())
    assert made.document is not None


def test_a_step_names_only_what_changed() -> None:
    asked, begun = step(planned(), events.Start(AT))
    assert (begun.expected_version, begun.origin) == (4, {})
    assert begun.document is not None
    assert ([stage.id for stage in begun.stages], begun.tasks) == (["1-K8S_SYNC"], ())
    assert [(each.event, each.stage, each.target) for each in begun.feed] == [
        ("run-started", "", ""),
        ("stage-waiting", "1-K8S_SYNC", ""),
        ("run-changed", "", ""),
    ]
    assert {each.at for each in begun.feed} == {AT}
    assert all("number" not in each.document for each in begun.feed)

    once, first = step(asked, events.Approve(AT, "ana", "fine"))
    assert first.document is None, "only the stage changed, and the head's columns"
    assert first.approvals == (
        run_records.ApprovalRecord("1-K8S_SYNC", "all", "ana", AT, True, "fine"),
    )
    _, second = step(once, events.Approve(AT, "bo"))
    assert [(task.target, task.attempt) for task in second.tasks] == [("us", 1), ("eu", 1)]
    assert ("task-started", "1-K8S_SYNC", "us") in [
        (each.event, each.stage, each.target) for each in second.feed
    ]


def test_decisions_of_people_are_kept_with_their_words() -> None:
    asked, _ = step(planned(), events.Start(AT))
    once, _ = step(asked, events.Approve(AT, "ana"))
    for comment, said in (("", "withdrawn"), ("why", "withdrawn: why")):
        _, back = step(once, events.Withdraw(AT, "ana", comment))
        (record,) = back.approvals
        assert (record.by, record.approved, record.comment) == ("ana", False, said)
    _, no = step(once, events.Reject(AT, "bo", "no"))
    (record,) = no.approvals
    assert (record.by, record.approved, record.comment) == ("bo", False, "no")

    after, refused = step(once, events.Approve(AT, "ana"))
    assert (after, refused.approvals) == (once, ()), "nothing came of it"
    paused = machine.advance(once, events.PauseAsked(AT, "ana")).run
    both = (events.Approve(AT, "bo"), events.PauseAsked(AT, "ana"))
    lot = transitions.step_transition(once, both, replace(paused), (), 4)
    assert lot.approvals == ()
