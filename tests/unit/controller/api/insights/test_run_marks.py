"""What happened in a run as marks of its time line."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.controller.api.insights import run_marks
from volary.model import json
from volary.model.runs import run_records
from volary.store import records

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, name: str, target: str = "us", **document: object) -> records.FeedEvent:
    stage = "1-STAGE" if target else ""
    record = run_records.EventRecord(AT + timedelta(seconds=number), name, document, stage, target)
    return records.FeedEvent(number, "run", "shop", number, record)


def traffic(number: int, target: str, canary: int) -> records.FeedEvent:
    weights: json.JsonObject = {"primary": 100 - canary, "canary": canary}
    return event(number, "task-traffic", target, wantedWeights=weights, observedWeights={})


def told(*events: records.FeedEvent) -> list[tuple[str, str]]:
    made = run_marks.marks("run", run_marks.go_on(run_marks.Story(), events), (), (), ())
    return [(mark.kind, mark.sentence) for mark in made.items]


def test_weights_that_move_together_are_one_mark_and_reading_them_back_is_none() -> None:
    assert told(
        traffic(1, "us", 10), traffic(2, "eu", 10), traffic(3, "us", 10), traffic(70, "us", 50)
    ) == [
        ("weights", "traffic of us and eu: canary 10, primary 90"),
        ("weights", "traffic of us: canary 50, primary 50"),
    ]


def test_a_cluster_is_lost_once_and_comes_back() -> None:
    assert told(
        event(1, "task-started"),
        event(2, "task-progressed", sentence="no answer for 30 s"),
        event(3, "task-progressed", sentence="no answer for 60 s"),
        event(4, "task-finished", "eu", status="unreachable", reason="no answer"),
        event(5, "task-finished", "asia", status="failed", reason="no image"),
        event(6, "task-started"),
        event(7, "rollback-started", "", reason="eu was lost"),
    ) == [
        ("lost", "us does not answer: no answer for 30 s"),
        ("lost", "eu does not answer: no answer"),
        ("back", "us answers again"),
        ("rollback", "the rollback began: eu was lost"),
    ]


def test_reading_goes_on_where_it_ended() -> None:
    first = run_marks.go_on(run_marks.Story(), [event(1, "task-progressed", sentence="silent")])
    second = run_marks.go_on(first, [event(2, "task-started"), traffic(3, "us", 10)])

    assert (first.number, second.number) == (1, 3)
    assert [one.kind for one in second.told] == ["lost", "back", "weights"]


def test_what_people_decided_has_their_words_and_what_was_refused_is_no_mark() -> None:
    def entry(seconds: int, action: str, result: str = "ok", **document: object) -> object:
        return records.AuditRecord(
            AT + timedelta(seconds=seconds), "ana", action, result, document=document
        )

    approvals = [
        run_records.ApprovalRecord("2-WAIT", "rest", "bo", AT, approved=True, comment="fine"),
        run_records.ApprovalRecord("2-WAIT", "", "eve", AT, approved=False),
    ]
    decisions = [
        entry(3, "run.pause", reason="lunch"),
        entry(4, "application.resume"),
        entry(5, "run.skip", target="eu", reason="its registry is down"),
        entry(6, "run.skip", stage="3-WAIT", reason="enough"),
        entry(7, "run.pause", "denied"),
        entry(8, "run.approve"),
    ]

    made = run_marks.marks("run", run_marks.Story(), approvals, decisions, ())

    assert [(mark.kind, mark.sentence) for mark in made.items] == [
        ("approved", "bo approved rest: fine"),
        ("rejected", "eve rejected"),
        ("paused", "ana paused the run: lunch"),
        ("resumed", "ana resumed the application"),
        ("decision", "ana went on without eu: its registry is down"),
        ("decision", "ana ended the stage early: enough"),
    ]


def mark_of(document: dict[str, object]) -> run_marks.RunMark:
    finding = records.Finding("run", "3-ANALYSIS", "eu", 1, AT, "verdict", "errors", document)
    [mark] = run_marks.marks("run", run_marks.Story(), (), (), [finding]).items
    return mark


@pytest.mark.parametrize(
    ("document", "result"),
    [
        ({"result": "fail", "isFinal": True}, "failure"),
        ({"result": "pass", "isFinal": True}, "success"),
        ({"result": "pass", "isFinal": False}, "running"),
        ({"result": "inconclusive"}, "inconclusive"),
    ],
)
def test_a_verdict_has_its_result(document: dict[str, object], result: str) -> None:
    mark = mark_of({"sentence": "errors on eu: canary 2.6 %", **document})

    assert (mark.kind, mark.result) == ("verdict", result)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("errors on eu: canary 2.6 %", "errors on eu: canary 2.6 %"),
        ("errors over 2 clusters: canary 2.6 %", "errors over 2 clusters: canary 2.6 % (eu)"),
        ("", "errors failure (eu)"),
    ],
)
def test_a_verdict_says_of_what_and_where_once(said: str, shown: str) -> None:
    assert mark_of({"sentence": said, "result": "fail", "isFinal": True}).sentence == shown


def test_there_are_never_more_than_the_bound_and_what_is_left_out_is_counted() -> None:
    story = run_marks.Story()
    for start in range(0, 3000, 100):
        story = run_marks.go_on(
            story, [traffic(61 * number, "us", number % 2) for number in range(start, start + 100)]
        )
    made = run_marks.marks("run", story, (), (), ())

    assert (len(made.items), made.omitted) == (2000, 1000)
    assert made.items[0].at == AT
    assert made.items[-1].at == AT + timedelta(seconds=61 * 2999)
