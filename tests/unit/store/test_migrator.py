"""From every released schema to this one, once, whoever comes first."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import config, script
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import store_fixtures as given
from volary.engine.persistence import codec
from volary.engine.state_machine import machine
from volary.model import errors
from volary.store import factory, migrator, records
from volary.store.sql.database import database
from volary.store.sql.schema import tables

CASES = Path(__file__).parents[2] / "cases" / "store"
RELEASED = sorted(path.name for path in CASES.iterdir())


def open_base(address: str) -> database.Database:
    return database.Database(factory.parse(address), busy=timedelta(seconds=20))


async def put_in(base: database.Database, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Insert rows as an older version would have, by columns of its time."""
    async with base.writing() as connection:
        for table, values in rows.items():
            for row in values:
                names = ", ".join(row)
                marks = ", ".join(f":{name}" for name in row)
                types = {
                    name: tables.UtcTime()
                    for name in row
                    if isinstance(tables.METADATA.tables[table].c[name].type, tables.UtcTime)
                }
                statement = sa.text(f"INSERT INTO {table} ({names}) VALUES ({marks})")
                bound = statement.bindparams(
                    *(sa.bindparam(name, type_=kind) for name, kind in types.items())
                )
                await connection.execute(
                    bound,
                    {
                        name: given.datetime.fromisoformat(value) if name in types else value
                        for name, value in row.items()
                    },
                )


def test_every_released_schema_has_a_case() -> None:
    """A new revision without rows of its time would not be proven to be left behind safely."""
    settings = config.Config()
    settings.set_main_option("script_location", str(Path(migrator.__file__).parent / "migrations"))
    settings.set_main_option("path_separator", "os")
    scripts = script.ScriptDirectory.from_config(settings)

    assert scripts.get_heads() == [migrator.HEAD]
    assert sorted(each.revision for each in scripts.walk_revisions()) == RELEASED


@pytest.mark.parametrize("revision", RELEASED)
async def test_what_a_released_version_wrote_is_read(empty_address: str, revision: str) -> None:
    base = open_base(empty_address)
    await migrator.migrate(base, revision=revision)
    await put_in(base, json.loads((CASES / revision / "rows.json").read_text()))
    await base.close()

    async with factory.open_store(empty_address, clock=given.TurnedClock()) as store:
        stored = await store.runs.load("run-1")
        assert stored is not None
        run = codec.read_run(stored)
        [application] = (await store.applications.list(records.ApplicationFilter())).items
        commits = await store.commits.list("shop")
        lease = await store.leases.acquire("drive", "new", timedelta(minutes=1))

        assert run.reason == stored.head.reason
        assert len(machine.outstanding(run)) == len(stored.commands)
        assert len(await store.events.after("run-1", 0)) == stored.last_event
        assert len(await store.events.journal("run-1")) == 3
        assert [each.line.text for each in await store.logs.after("run-1", 0)] == ["hello"]
        assert [each.by for each in await store.runs.approvals("run-1")] == ["ana"]
        assert application.labels == {"team": "web"}
        assert [each.commit for each in commits.items] == ["new"]
        assert len(await store.inventory.list("shop", "us")) == 1
        assert len(await store.requests.unanswered()) == 1
        assert len((await store.audit.list(records.AuditFilter())).items) == 1
        assert lease is not None
        assert lease.number == 8
        findings = await store.findings.after("run-1", 0)
        stage = stored.tasks[0].stage
        remembered = await store.memories.load(records.TaskKey("run-1", stage, "us", 1))
        recalled = await store.memories.recall("shop", "us", "analysis")
        since = revision >= "0002"
        assert [each.finding.metric for each in findings] == (["errors"] if since else [])
        assert remembered == ({"looks": 3} if since else {})
        assert recalled == ({"started": 1} if since else {})
        clusters = await store.clusters.list()
        assert [each.name for each in clusters] == (["us"] if revision >= "0003" else [])


async def test_the_schema_is_the_one_the_queries_know(empty_address: str) -> None:
    base = open_base(empty_address)
    await migrator.migrate(base)

    def differences(connection: sa.Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": _differs})
        return list(compare_metadata(context, tables.METADATA))

    async with base.reading() as connection:
        found = await connection.run_sync(differences)
    await base.close()

    assert found == []


def _differs(context: object, inspected: object, column: object, present: Any, wanted: Any) -> bool:
    """Say whether a column has another type than the queries think, apart from its length."""
    families = (sa.Text, sa.DateTime, sa.Boolean, sa.Integer)
    wanted = wanted.impl if isinstance(wanted, sa.types.TypeDecorator) else wanted
    return [isinstance(present, each) for each in families] != [
        isinstance(wanted, each) for each in families
    ]


async def test_several_processes_that_start_at_once_migrate_once(empty_address: str) -> None:
    async def start(number: int) -> int:
        async with factory.open_store(empty_address, clock=given.TurnedClock()) as store:
            new = given.first(f"run-{number}")
            return (await store.keep_transition(new, fence=None)).version

    assert await asyncio.gather(*(start(number) for number in range(4))) == [1] * 4


async def test_a_database_of_a_newer_version_is_refused(database_address: str) -> None:
    base = open_base(database_address)
    async with base.writing() as connection:
        await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        with pytest.raises(errors.UserError, match=r"newer version of Volary \(schema 9999"):
            async with factory.open_store(database_address, clock=given.TurnedClock()):
                pass
    finally:
        async with base.writing() as connection:
            await connection.execute(
                sa.text("UPDATE alembic_version SET version_num = :head"), {"head": migrator.HEAD}
            )
        await base.close()


async def test_a_migration_that_breaks_leaves_the_schema_as_it_was(
    empty_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = open_base(empty_address)
    async with base.writing() as connection:
        # In the way of a table that is made in the middle.
        await connection.execute(sa.text("CREATE TABLE stages (x INTEGER)"))
    with pytest.raises(sa.exc.DBAPIError):
        await migrator.migrate(base)
    async with base.reading() as connection:
        present = await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())
    await base.close()

    assert present == ["stages"]
