"""Two versions of the program on one database: one expands, both write, the last one contracts.

The revisions after the first are those of `revisions`, beside this file.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

import store_fixtures as given
from volary.model import errors
from volary.store import factory, migrator, records, schema_versions, stores
from volary.store.sql.database import database

_SCRIPTS = (Path(__file__).parent / "revisions",)
OLD = migrator.KNOWN
NEW = migrator.KnownSchema("0002", _SCRIPTS)
NEWEST = migrator.KnownSchema("0003", _SCRIPTS)
QUIET, SILENCE = timedelta(days=1), timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Opened:
    """A program that uses the database."""

    store: stores.Store
    base: database.Database

    async def sent(self, statement: str, **values: str) -> list[tuple[object, ...]]:
        """Return what a statement finds, as a program sends it that knows what it is about."""
        async with self.base.writing() as connection:
            found = await connection.execute(sa.text(statement), values)
            return [tuple(row) for row in found] if found.returns_rows else []


@asynccontextmanager
async def opened(
    address: str, known: migrator.KnownSchema, clock: given.TurnedClock
) -> AsyncIterator[Opened]:
    base = database.Database(factory.parse(address), busy=timedelta(seconds=20))
    async with factory.open_store(address, clock=clock, lease_clock=clock, known=known) as store:
        try:
            yield Opened(store, base)
        finally:
            await base.close()


def server(name: str) -> records.ServerRecord:
    return records.ServerRecord(
        name, name, f"http://{name}:8080", "1.0", "", given.BEGINNING, given.BEGINNING
    )


async def keep(program: Opened, commit: str) -> None:
    """Write as the old program does."""
    await program.store.applications.keep(
        given.SHOP,
        commits=(records.CommitRecord("shop", commit, given.BEGINNING, subject=f"about {commit}"),),
        fence=None,
    )


async def test_two_versions_write_side_by_side_until_the_older_one_is_gone(
    empty_address: str,
) -> None:
    clock = given.TurnedClock()
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(opened(empty_address, OLD, clock))
        await old.store.servers.register(server("old"), keep=QUIET)
        await keep(old, "first")

        new = await stack.enter_async_context(opened(empty_address, NEW, clock))
        await new.store.servers.register(server("new"), keep=QUIET)
        await new.sent("UPDATE commits SET title = subject WHERE title IS NULL")
        await new.sent(
            'INSERT INTO commits (application, "commit", seen, subject, title)'
            " SELECT application, 'second', seen, 'new', 'new' FROM commits"
        )
        await keep(old, "third")
        read_by_old = await old.store.commits.get("shop", "second")
        early = await new.store.contract(quiet=QUIET)
        standing = await old.store.servers.beat("old", silence=SILENCE)

        await old.store.servers.end("old")
        soon = await new.store.contract(quiet=QUIET)
        clock.turn(days=2)
        await new.store.servers.beat("new", silence=SILENCE)
        late = await new.store.contract(quiet=QUIET)

        titles = await new.sent('SELECT "commit", title FROM commits ORDER BY "commit"')
        with pytest.raises(errors.VolaryError):
            await keep(old, "fourth")
        with pytest.raises(errors.UserError, match="belongs to a newer version"):
            await old.store.servers.register(server("old"), keep=QUIET)
        with pytest.raises(errors.UserError, match="programs have to know from 0002 on"):
            await stack.enter_async_context(opened(empty_address, OLD, clock))
        again = await stack.enter_async_context(opened(empty_address, NEW, clock))
        await again.store.servers.register(server("again"), keep=QUIET)

    assert read_by_old is not None
    assert read_by_old.subject == "new"
    assert standing is not None
    assert [each.name for each in standing.live] == ["new", "old"]
    assert standing.schema == schema_versions.SchemaState("0002", "0001")
    assert (early, soon, late) == ((), (), ("0002",)), "a day after the old one was there last"
    assert titles == [("first", "about first"), ("second", "new"), ("third", "about third")]


async def test_each_revision_waits_for_those_that_do_not_know_it(empty_address: str) -> None:
    clock = given.TurnedClock()
    async with (
        opened(empty_address, NEW, clock) as new,
        opened(empty_address, NEWEST, clock) as newest,
    ):
        await new.store.servers.register(server("new"), keep=QUIET)
        await newest.store.servers.register(server("newest"), keep=QUIET)
        first = await newest.store.contract(quiet=QUIET)
        notes = await new.sent("SELECT * FROM notes")
        clock.turn(days=2)
        await newest.store.servers.beat("newest", silence=SILENCE)
        second = await newest.store.contract(quiet=QUIET)
        with pytest.raises(errors.UserError, match="belongs to a newer version"):
            await new.store.servers.beat("new", silence=SILENCE)

    assert (first, notes, second) == (("0002",), [], ("0003",))


async def test_who_registers_while_another_contracts_is_counted_or_refused(
    empty_address: str,
) -> None:
    clock = given.TurnedClock()
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(opened(empty_address, OLD, clock))
        new = await stack.enter_async_context(opened(empty_address, NEW, clock))
        await new.store.servers.register(server("new"), keep=QUIET)

        contracted, registered = await asyncio.gather(
            new.store.contract(quiet=QUIET),
            old.store.servers.register(server("old"), keep=QUIET),
            return_exceptions=True,
        )

    is_refused = isinstance(registered, errors.UserError)
    assert contracted == (("0002",) if is_refused else ())


async def test_a_server_takes_the_place_of_the_one_before_it(store: stores.Store) -> None:
    first, second = server("a"), server("a")
    await store.servers.register(first, keep=QUIET)
    await store.servers.register(replace(second, id="later"), keep=QUIET)

    assert [each.id for each in await store.servers.live(silence=SILENCE)] == ["later"]
    assert await store.servers.beat("a", silence=SILENCE) is None


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE commits DROP COLUMN subject",
        "ALTER TABLE commits RENAME COLUMN subject TO title",
        "ALTER TABLE commits ADD COLUMN title TEXT NOT NULL",
        "ALTER TABLE commits ALTER COLUMN subject SET NOT NULL",
        "CREATE UNIQUE INDEX one ON commits (subject)",
        "DROP TABLE commits",
        "UPDATE commits SET subject = ''",
        "DELETE FROM commits",
    ],
)
def test_an_expansion_takes_nothing_away(statement: str) -> None:
    rule = schema_versions.ExpansionRule()
    rule.check("CREATE TABLE notes (id TEXT)")
    rule.check("CREATE UNIQUE INDEX notes_by_id ON notes (id)")
    rule.check("CREATE INDEX commits_by_title ON commits (title)")
    rule.check("ALTER TABLE commits ADD COLUMN title TEXT NOT NULL DEFAULT ''")
    rule.check("\nUPDATE alembic_version SET version_num='0002'")

    with pytest.raises(errors.PermanentError, match="belongs into the contraction"):
        rule.check(statement)


async def test_a_script_that_does_more_than_expand_changes_nothing(
    empty_address: str, tmp_path: Path
) -> None:
    (tmp_path / "v0002_broken.py").write_text(
        "from alembic import op\nrevision, down_revision = '0002', '0001'\n\n\n"
        "def upgrade():\n    op.drop_table('commits')\n"
    )
    clock = given.TurnedClock()
    async with opened(empty_address, OLD, clock) as old:
        with pytest.raises(errors.PermanentError, match="belongs into the contraction"):
            await migrator.migrate(old.base, migrator.KnownSchema("0002", (tmp_path,)))
        await keep(old, "first")
