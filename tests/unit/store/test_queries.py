"""What a page or a restart asks for is found by an index, however much there is."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import store_fixtures as given
from volary.model.statuses import RunStatus
from volary.store import factory, records, stores

ONE = frozenset({"shop"})
CURSOR_OF_RUNS = "WyIyMDI2LTAxLTAxVDEyOjAwOjAwWiIsICJydW4tNSJd"


async def ask_everything(store: stores.Store) -> None:
    """Every question of a list, a stream or a start."""
    await store.runs.list(records.RunFilter(), cursor=CURSOR_OF_RUNS)
    await store.runs.list(records.RunFilter(ONE), cursor=CURSOR_OF_RUNS)
    await store.runs.list(records.RunFilter(statuses=frozenset({RunStatus.FAILED})))
    await store.runs.list(records.RunFilter(by="ana"), cursor=CURSOR_OF_RUNS)
    await store.runs.list(records.RunFilter(target="us"), cursor=CURSOR_OF_RUNS)
    await store.runs.load("run-1")
    await store.runs.unfinished()
    await store.runs.newest_end()
    await store.runs.approvals("run-1")
    await store.runs.ended(given.at(0), most=10)
    await store.findings.newest("run-1", records.FindingFilter(stage="1-K8S_SYNC"), 0)
    await store.events.after("run-1", 5, names=("task-traffic",))
    await store.events.after("run-1", 5)
    await store.events.all_after(5)
    await store.events.all_after(5, applications={"shop"})
    await store.events.position()
    await store.logs.after("run-1", 5)
    await store.logs.append([given.line("more")], fence=None)
    await store.commits.list("shop")
    await store.applications.list(records.ApplicationFilter())
    await store.requests.unanswered()
    await store.audit.list(records.AuditFilter())
    await store.audit.list(records.AuditFilter(by="ana"))
    await store.audit.list(records.AuditFilter(application="shop"))
    await store.audit.list(records.AuditFilter(cluster="us"))


async def test_lists_neither_scan_nor_sort(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "volary.db"
    path.write_bytes(migrated_file.read_bytes())
    said: list[tuple[str, object]] = []

    def listen(_: object, __: object, statement: str, parameters: object, *___: object) -> None:
        if statement.startswith(("SELECT", "DELETE", "UPDATE")):
            said.append((statement, parameters))

    limits = records.Limits(busy=timedelta(seconds=5))
    async with factory.open_store(
        f"sqlite:{path}", clock=given.TurnedClock(), limits=limits
    ) as store:
        await store.keep_transition(given.first(), fence=None)
        for engine in (store._base._reader, store._base._writer):  # type: ignore[attr-defined]
            sa.event.listen(engine.sync, "before_cursor_execute", listen)
        await ask_everything(store)

    assert len(said) >= 20
    with sqlite3.connect(path) as connection:
        wrong = {
            statement: detail
            for statement, parameters in said
            for *_, detail in connection.execute(
                f"EXPLAIN QUERY PLAN {statement}", _first(parameters)
            )
            if _is_slow(statement, detail)
        }
    connection.close()
    assert wrong == {}


def _first(parameters: object) -> object:
    """The values of one row, when a statement was sent for many."""
    return parameters[0] if isinstance(parameters, list) else parameters


def _is_slow(statement: str, detail: str) -> bool:
    if "TEMP B-TREE" in detail:
        # The stages and tasks of one run are few, and in their own order.
        return "FROM tasks" not in statement and "FROM stages" not in statement
    # A walk along an index, or along the table's own order, until the page is full.
    ordered = "USING" in detail or "ORDER BY audit.position" in statement
    return detail.startswith("SCAN") and not ordered and "max(events.position)" not in statement


@pytest.mark.parametrize("word", ["SCAN runs", "USE TEMP B-TREE FOR ORDER BY"])
def test_a_slow_plan_would_be_noticed(word: str) -> None:
    assert _is_slow("SELECT * FROM runs ORDER BY runs.reason", word)
