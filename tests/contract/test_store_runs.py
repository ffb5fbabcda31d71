"""Runs of every store: memory, SQLite, PostgreSQL."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

import store_fixtures as given
from volary.model.runs import run_records
from volary.model.statuses import RunStatus, TaskStatus
from volary.store import fencing, stores


async def test_a_new_run_comes_back_whole(store: stores.Store) -> None:
    kept = await store.keep_transition(given.first(), fence=None)

    assert kept == run_records.KeptTransition(version=1, last_event=2)
    assert await store.runs.load("run-1") == run_records.StoredRun(
        head=given.head(),
        version=1,
        last_event=2,
        document={"schema": 1},
        origin={"by": "ana"},
        stages=(given.stage(),),
        tasks=(given.task("us", 0), given.task("eu", 1)),
    )


async def test_what_a_run_was_planned_to_apply_is_kept_with_its_first_step(
    store: stores.Store,
) -> None:
    manifests = bytes(range(256))
    planned = replace(given.first(), manifests=manifests)
    kept = await store.keep_transition(planned, fence=None)

    assert await store.keep_transition(planned, fence=None) == kept, "it may be repeated"
    assert await store.runs.manifests("run-1") == manifests
    assert await store.runs.manifests("run-2") == b""


async def test_what_a_transition_does_not_name_stays(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    done = given.task("us", 0, status=TaskStatus.SUCCEEDED, ready=3)
    step = run_records.Transition(
        head=given.head(status=RunStatus.WAITING),
        expected_version=1,
        at=given.at(1),
        tasks=(done,),
        feed=(given.told("task-finished", 1),),
    )

    kept = await store.keep_transition(step, fence=None)
    run = await store.runs.load("run-1")

    assert kept == run_records.KeptTransition(version=2, last_event=3)
    assert run is not None
    assert run.head.status is RunStatus.WAITING
    assert run.document == {"schema": 1}
    assert run.origin == {"by": "ana"}
    assert run.tasks == (done, given.task("eu", 1))


async def test_a_document_is_replaced_as_a_whole(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    step = run_records.Transition(
        given.head(), 1, given.at(1), document={"schema": 1, "held": True}
    )

    await store.keep_transition(step, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.document == {"schema": 1, "held": True}


async def test_stages_and_tasks_come_in_their_order(store: stores.Store) -> None:
    """A rollback comes last though its name sorts anywhere; the tenth stage after the second."""
    names = [*(f"{number}-WAIT" for number in range(1, 12)), "a-rollback"]
    new = replace(
        given.first(),
        stages=tuple(given.stage(name, index) for index, name in enumerate(names)),
        tasks=tuple(
            given.task(target, index, stage=name)
            for name in reversed(names)
            for index, target in enumerate(("us", "eu"))
        ),
    )
    await store.keep_transition(new, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert [each.id for each in run.stages] == names
    assert [(each.stage, each.target) for each in run.tasks] == [
        (name, target) for name in names for target in ("us", "eu")
    ]


async def test_a_repeated_transition_changes_nothing(store: stores.Store) -> None:
    """So that a caller whose connection broke in mid-commit just tries again."""
    kept = await store.keep_transition(given.first(), fence=None)
    again = await store.keep_transition(given.first(), fence=None)

    assert again == kept
    assert len(await store.events.after("run-1", 0)) == 2


@pytest.mark.parametrize("version", [0, 2, 7])
async def test_a_transition_from_another_version_is_refused(
    store: stores.Store, version: int
) -> None:
    await store.keep_transition(given.first(), fence=None)
    wrong = replace(given.first(), expected_version=version, document={"schema": 1, "mine": True})

    with pytest.raises(fencing.VersionConflict, match=f"at version 1, not at {version}"):
        await store.keep_transition(wrong, fence=None)

    run = await store.runs.load("run-1")
    assert run is not None
    assert (run.version, run.document) == (1, {"schema": 1})
    assert len(await store.events.after("run-1", 0)) == 2


async def test_of_two_who_saw_the_same_version_one_wins(store: stores.Store) -> None:
    await store.keep_transition(given.first(), fence=None)
    steps = [
        run_records.Transition(given.head(), 1, given.at(1), feed=(given.told(str(number)),))
        for number in range(5)
    ]

    results = await asyncio.gather(
        *(store.keep_transition(step, fence=None) for step in steps), return_exceptions=True
    )

    assert sum(isinstance(result, run_records.KeptTransition) for result in results) == 1
    assert sum(isinstance(result, fencing.VersionConflict) for result in results) == 4
    assert len(await store.events.after("run-1", 2)) == 1


async def test_many_runs_at_once_are_all_kept(store: stores.Store) -> None:
    """One that is refused does not harm those it is written with."""
    transitions = [given.first(f"run-{number:03}") for number in range(150)]
    transitions[70] = replace(transitions[70], expected_version=3)

    results = await asyncio.gather(
        *(store.keep_transition(each, fence=None) for each in transitions), return_exceptions=True
    )

    wrong = [
        number
        for number, each in enumerate(results)
        if not isinstance(each, run_records.KeptTransition)
    ]
    assert wrong == [70]
    assert isinstance(results[70], fencing.VersionConflict)
    assert len(await store.runs.unfinished()) == 149


async def test_an_unknown_run_is_none(store: stores.Store) -> None:
    assert await store.runs.load("nothing") is None
    assert await store.events.after("nothing", 0) == ()
    assert await store.logs.after("nothing", 0) == ()
    assert await store.runs.approvals("nothing") == ()


async def test_awkward_text_is_kept(store: stores.Store) -> None:
    """NUL and half surrogate pairs fit into no database; everything else comes back as it was."""
    awkward = "tab\t, ’, 🐤, \x1b[31m, nul \x00, half \ud83d."
    clean = "tab\t, ’, 🐤, \x1b[31m, nul �, half ���."
    new = replace(
        given.first(),
        head=replace(given.head(), reason=awkward),
        document={"text": awkward, "list": [awkward], awkward: None},
    )
    await store.keep_transition(new, fence=None)
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.head.reason == clean
    assert "🐤" in run.document["text"]
    assert "\ud83d" not in run.document["text"]


async def test_times_come_back_in_utc(store: stores.Store) -> None:
    from datetime import timezone

    there = given.at(0).astimezone(timezone(timedelta(hours=9)))
    there += timedelta(microseconds=123_456)
    await store.keep_transition(
        replace(given.first(), head=replace(given.head(), started=there)), fence=None
    )
    run = await store.runs.load("run-1")

    assert run is not None
    assert run.head.started == there
    assert run.head.started.utcoffset() == timedelta(0)


async def test_approvals_are_kept_in_order(store: stores.Store) -> None:
    given_by = [
        run_records.ApprovalRecord("1-K8S_SYNC", "rest", name, given.at(2), name != "cy", "why not")
        for name in ("zoe", "bo", "cy")
    ]
    await store.keep_transition(given.first(), fence=None)
    for version, approval in enumerate(given_by, 1):
        step = run_records.Transition(given.head(), version, given.at(2), approvals=(approval,))
        await store.keep_transition(step, fence=None)

    assert await store.runs.approvals("run-1") == tuple(given_by)


async def test_what_a_caller_does_to_its_values_does_not_reach_the_store(
    store: stores.Store,
) -> None:
    new = given.first()
    await store.keep_transition(new, fence=None)
    assert new.document is not None
    new.document["schema"] = "changed"
    run = await store.runs.load("run-1")
    assert run is not None
    run.document["schema"] = "changed too"
    again = await store.runs.load("run-1")

    assert again is not None
    assert again.document == {"schema": 1}
