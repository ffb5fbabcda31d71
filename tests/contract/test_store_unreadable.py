"""What cannot be read is set aside with its reason: every table, both databases.

The rows are damaged in the database itself; others beside them are read as ever.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import pytest

import damaged_rows
import store_fixtures as given
from volary.model import errors, statuses
from volary.model.runs import run_records
from volary.store import factory, records, stores, unreadable

_NO_DOCUMENT = "its document is not a JSON object that can be read"
_KINDS = tuple(damaged_rows.DOCUMENTS)
_HALF = damaged_rows.DOCUMENTS["half a text"]


@dataclass(frozen=True)
class Stored:
    """A database with a store."""

    address: str
    store: stores.Store

    async def damage(self, table: str, column: str, value: object, **where: object) -> None:
        await damaged_rows.damage(self.address, table, column, value, **where)


@pytest.fixture
async def kept(database_address: str, turned_clock: given.TurnedClock) -> AsyncIterator[Stored]:
    async with factory.open_store(
        database_address, clock=turned_clock, limits=given.LIMITS
    ) as store:
        yield Stored(database_address, store)


def request(name: str) -> records.RequestRecord:
    return records.RequestRecord(name, "sync", "ana", given.at(1), "shop")


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_request_is_there_and_says_why(kept: Stored, kind: str) -> None:
    requests = kept.store.requests
    for name in ("q1", "q2"):
        await requests.ask(request(name))
    await kept.damage("requests", "document", damaged_rows.DOCUMENTS[kind], id="q1")

    first, second = await requests.unanswered()

    assert (first.id, first.application, first.document) == ("q1", "shop", {})
    assert first.unreadable == _NO_DOCUMENT
    assert second == request("q2")
    assert await requests.answer_of("q1") is None
    await requests.answer("q1", refusal="it cannot be read", fence=None)
    answered = await requests.answer_of("q1")
    assert answered is not None
    assert answered.refusal == "it cannot be read"
    assert await requests.unanswered() == (request("q2"),)


@pytest.mark.parametrize("digits", [4301, 5000])
async def test_a_request_that_could_not_be_read_again_is_not_taken(
    kept: Stored, digits: int
) -> None:
    hopeless = replace(request("q1"), document={"wave": 10 ** (digits - 1)})

    with pytest.raises(errors.UserError, match="too many digits"):
        await kept.store.requests.ask(hopeless)
    assert await kept.store.requests.get("q1") is None


@pytest.mark.parametrize("kind", _KINDS)
async def test_an_application_is_there_says_why_and_is_not_written_over(
    kept: Stored, kind: str
) -> None:
    known = kept.store.applications
    for name in ("cart", "shop"):
        await known.keep(replace(given.SHOP, name=name), fence=None)
    damaged = damaged_rows.DOCUMENTS[kind]
    await kept.damage("applications", "document", damaged, name="cart")

    page = await known.list(records.ApplicationFilter())
    assert [(each.name, each.unreadable) for each in page.items] == [
        ("cart", _NO_DOCUMENT),
        ("shop", ""),
    ]
    with pytest.raises(unreadable.UnreadableError, match="application cart cannot be read"):
        await known.keep(replace(given.SHOP, name="cart", reason="new"), fence=None)
    assert await known.keep(replace(given.SHOP, reason="new"), fence=None) == 2
    row = await damaged_rows.stored(kept.address, "applications", "document", name="cart")
    assert row == damaged
    await known.forget("cart", fence=None)
    assert await known.keep(replace(given.SHOP, name="cart"), fence=None) == 1


async def test_labels_that_are_no_texts_cannot_be_read(kept: Stored) -> None:
    await kept.store.applications.keep(given.SHOP, fence=None)
    await kept.damage("applications", "labels", '{"team": 5}', name="shop")

    found = await kept.store.applications.get("shop")

    assert found is not None
    assert (found.labels, found.unreadable) == ({}, "its labels is of another type")


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(
    ("table", "where"),
    [
        ("runs", {"id": "run-1"}),
        ("stages", {"run_id": "run-1"}),
        ("tasks", {"run_id": "run-1", "target": "us"}),
    ],
)
async def test_a_run_says_why_and_can_be_ended(
    kept: Stored, table: str, where: Mapping[str, str], kind: str
) -> None:
    store, damaged = kept.store, damaged_rows.DOCUMENTS[kind]
    for name in ("run-1", "run-2"):
        changes = {"application": name}
        await store.keep_transition(given.first(name, **changes), fence=None)
    await kept.damage(table, "document", damaged, **where)

    found, other = await store.runs.load("run-1"), await store.runs.load("run-2")

    assert found is not None
    assert _NO_DOCUMENT in found.unreadable
    assert other is not None
    assert not other.unreadable
    listed = await store.runs.list(records.RunFilter())
    assert {each.head.id for each in listed.items} == {"run-1", "run-2"}
    ended = replace(found.head, status=statuses.RunStatus.CANCELLED, finished=given.at(5))
    await store.keep_transition(
        run_records.Transition(ended, found.version, given.at(5)), fence=None
    )
    assert await store.runs.unfinished() == ("run-2",)
    assert await damaged_rows.stored(kept.address, table, "document", **where) == damaged


async def test_a_run_in_a_state_that_nobody_knows_has_not_ended(kept: Stored) -> None:
    await kept.store.keep_transition(given.first(), fence=None)
    await kept.damage("runs", "status", "exploded", id="run-1")
    await kept.damage("runs", "origin", _HALF, id="run-1")

    found = await kept.store.runs.summary("run-1")

    assert found is not None
    assert (found.head.application, found.head.finished) == ("shop", None)
    assert found.unreadable == (
        "its status is a word that is not known; its origin is not a JSON object that can be read"
    )


@pytest.mark.parametrize("kind", _KINDS)
async def test_an_event_is_shown_in_its_place(kept: Stored, kind: str) -> None:
    await kept.store.keep_transition(given.first(), fence=None)
    await kept.damage("events", "document", damaged_rows.DOCUMENTS[kind], run_id="run-1", number=1)

    first, second = await kept.store.events.after("run-1", 0)

    assert (first.record.event, first.record.document) == ("unreadable", {"reason": _NO_DOCUMENT})
    assert second.record.event == "task-started"
    assert [each.number for each in await kept.store.events.all_after(0)] == [1, 2]


async def _finding(kept: Stored) -> list[object]:
    await kept.store.keep_transition(given.first(), fence=None)
    await kept.store.findings.append([given.finding(1), given.finding(2)], fence=None)
    await kept.damage("findings", "document", _HALF, number=1)
    return [each.number for each in await kept.store.findings.after("run-1", 0, limit=1)]


async def _notification(kept: Stored) -> list[object]:
    sent = [run_records.OutboxMessage(name, "ops", {"text": name}) for name in ("n1", "n2")]
    await kept.store.notifications.change(sent, (), fence=None)
    await kept.damage("notifications", "body", _HALF, id="n1")
    return [each.id for each in await kept.store.notifications.waiting()]


@pytest.mark.parametrize(
    ("put", "what", "left"),
    [(_finding, "finding", [2]), (_notification, "notification n1", ["n2"])],
)
async def test_what_nobody_waits_for_is_left_out_and_logged_once(
    kept: Stored,
    put: Callable[[Stored], Awaitable[list[object]]],
    what: str,
    left: list[object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await put(kept) == left
    await kept.store.notifications.waiting()
    await kept.store.findings.after("run-1", 0)

    [said] = [each.getMessage() for each in caplog.records if "set aside" in each.getMessage()]
    assert said.startswith(what)


@pytest.mark.parametrize("kind", _KINDS)
async def test_what_tasks_and_applications_remember_is_refused_by_name(
    kept: Stored, kind: str
) -> None:
    memories, damaged = kept.store.memories, damaged_rows.DOCUMENTS[kind]
    await kept.store.keep_transition(given.first(), fence=None)
    key = records.TaskKey("run-1", "1-K8S_SYNC", "us", 1)
    await memories.save(key, {"weight": 5}, fence=None)
    await memories.keep("shop", "us", "primary", {"replicas": 2}, fence=None)
    await kept.damage("task_states", "document", damaged, run_id="run-1")
    await kept.damage("application_states", "document", damaged, application="shop")

    with pytest.raises(unreadable.UnreadableError, match="state run-1/1-K8S_SYNC/us cannot be"):
        await memories.load(key)
    with pytest.raises(unreadable.UnreadableError, match="state shop/us/primary cannot be read"):
        await memories.recall("shop", "us", "primary")


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_cluster_and_an_entry_of_the_audit_say_why(kept: Stored, kind: str) -> None:
    damaged = damaged_rows.DOCUMENTS[kind]
    both = [records.ClusterRecord(name, "ready", {"reason": ""}) for name in ("eu", "us")]
    await kept.store.clusters.keep(both, fence=None)
    for action in ("run.approve", "run.cancel"):
        await kept.store.audit.write(records.AuditRecord(given.at(1), "ana", action, "ok"))
    await kept.damage("clusters", "document", damaged, name="eu")
    await kept.damage("audit", "document", damaged, action="run.approve")

    eu, us = await kept.store.clusters.list()
    cancel, approve = (await kept.store.audit.list(records.AuditFilter())).items

    assert (eu.name, eu.state, eu.unreadable) == ("eu", "ready", _NO_DOCUMENT)
    assert us == both[1]
    assert (approve.by, approve.action, approve.unreadable) == ("ana", "run.approve", _NO_DOCUMENT)
    assert not cancel.unreadable


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_workspace_says_why_and_hides_no_other(kept: Stored, kind: str) -> None:
    both = [records.WorkspaceRecord(name, name, {"workspace": {}}) for name in ("a", "b")]
    await kept.store.workspaces.keep(both, fence=None)
    await kept.damage("workspaces", "document", damaged_rows.DOCUMENTS[kind], name="a")

    first, second = await kept.store.workspaces.list()

    assert (first.name, first.project, first.unreadable) == ("a", "a", _NO_DOCUMENT)
    assert second == both[1]


async def test_times_that_are_none_are_as_if_before_everything(tmp_path: object) -> None:
    """PostgreSQL takes no such row; SQLite's columns take any text."""
    address = f"sqlite:{tmp_path}/volary.db"
    async with factory.open_store(address, clock=given.TurnedClock()) as store:
        commit = records.CommitRecord("shop", "abc", given.at(1), "a title")
        await store.applications.keep(given.SHOP, commits=[commit], fence=None)
        await store.requests.ask(request("q1"))
        await damaged_rows.damage(address, "commits", "seen", "yesterday", commit="abc")
        await damaged_rows.damage(address, "requests", "at", "noon", id="q1")
        await damaged_rows.damage(address, "applications", "version", "third", name="shop")

        [found] = (await store.commits.list("shop")).items
        [waiting] = await store.requests.unanswered()
        known = await store.applications.get("shop")

    assert (found.subject, found.unreadable) == ("a title", "its seen is not a time")
    assert waiting.unreadable == "its at is not a time"
    assert known is not None
    assert known.unreadable == "its version is of another type"
