"""From nothing to today's schema, once, whoever comes first."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import config, script
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import store_fixtures as given
from volary.model import errors
from volary.store import factory, migrator
from volary.store.sql.database import database
from volary.store.sql.schema import tables


def open_base(address: str) -> database.Database:
    return database.Database(factory.parse(address), busy=timedelta(seconds=20))


def test_the_newest_revision_is_the_one_the_scripts_lead_to() -> None:
    settings = config.Config()
    settings.set_main_option("script_location", str(Path(migrator.__file__).parent / "migrations"))
    settings.set_main_option("path_separator", "os")

    assert script.ScriptDirectory.from_config(settings).get_heads() == [migrator.HEAD]


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


async def test_a_migration_that_breaks_leaves_the_schema_as_it_was(
    empty_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = open_base(empty_address)
    async with base.writing() as connection:
        # In the way of a table that is made in the middle.
        await connection.execute(sa.text("CREATE TABLE stages (x INTEGER)"))
    with pytest.raises(errors.PermanentError, match="refused a statement"):
        await migrator.migrate(base)
    async with base.reading() as connection:
        present = await connection.run_sync(lambda sync: sa.inspect(sync).get_table_names())
    await base.close()

    assert present == ["stages"]
