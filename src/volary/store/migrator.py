"""Brings a database's schema to the one this version knows, forward only, while others work.

Done at every start, under a lock: of several processes that start at once one migrates,
and the others find it done. All of a migration is one transaction in both databases, so a
process killed in its middle leaves the schema as it was.

A migration only expands (`schema_versions`): programs of the version before go on beside it. What
they needed is taken away by `contract`, once none of them was there for a while.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from volary.store import schema_versions
from volary.store.sql.database import database
from volary.store.sql.schema import schema_state, tables

#: The newest revision; `migrations/versions` holds one file for each.
HEAD = "0001"

_MIGRATIONS = Path(__file__).parent / "migrations"
_BOUND = "schema"


@dataclass(frozen=True, slots=True)
class KnownSchema:
    """What a program knows of the schema."""

    #: The newest revision.
    revision: str = HEAD
    #: Directories of further scripts, beside those of this package.
    scripts: tuple[Path, ...] = ()


#: What this program knows.
KNOWN = KnownSchema()


async def migrate(base: database.Database, known: KnownSchema = KNOWN) -> None:
    """Expand the schema to the revision that is known; does nothing when it is there already.

    Raises:
        errors.UserError: The database belongs to a newer version by now.
        errors.PermanentError: A script does more than to expand.
    """
    async with base.reading() as connection:
        if _is_ready(await schema_state.read(connection), known):
            return
    async with base.writing() as connection:
        await schema_state.lock(connection)
        if not _is_ready(await schema_state.read(connection), known):
            await connection.run_sync(_expand, known)


async def contract(
    base: database.Database, known: KnownSchema = KNOWN, *, since: datetime
) -> tuple[str, ...]:
    """Take away what only older programs needed, if none of them was there `since` then.

    Who registers does so under the same lock, so none comes in between.

    Returns:
        The revisions that were contracted.
    """
    async with base.writing() as connection:
        await schema_state.lock(connection)
        state = await schema_state.read(connection)
        servers = tables.servers.c
        seen = await connection.execute(
            sa.select(servers.revision).where(servers.seen > since).distinct()
        )
        there = [row.revision for row in seen]
        return await connection.run_sync(_contract, known, state, there)


def _is_ready(state: schema_versions.SchemaState, known: KnownSchema) -> bool:
    """Say whether nothing has to be done.

    Raises:
        errors.UserError: This program may not use the database.
    """
    if why := schema_versions.refusal(state, known.revision):
        raise why
    return state.present >= known.revision


def _expand(connection: sa.Connection, known: KnownSchema) -> None:
    # Imported late: most starts have nothing to migrate, and it takes as long as the rest.
    from alembic import command

    rule = schema_versions.ExpansionRule()

    def check(*sent: Any) -> None:
        rule.check(sent[2])

    sa.event.listen(connection, "before_cursor_execute", check)
    try:
        command.upgrade(_config(known, connection), known.revision)
    finally:
        sa.event.remove(connection, "before_cursor_execute", check)


def _contract(
    connection: sa.Connection,
    known: KnownSchema,
    state: schema_versions.SchemaState,
    seen: list[str],
) -> tuple[str, ...]:
    from alembic import operations, script
    from alembic.runtime import migration

    scripts = script.ScriptDirectory.from_config(_config(known, connection))
    by_revision = {each.revision: each.module for each in scripts.walk_revisions()}
    chosen = schema_versions.contractible(state, known.revision, seen, by_revision)
    with operations.Operations.context(migration.MigrationContext.configure(connection)):
        for revision in chosen:
            by_revision[revision].contract()
    if chosen:
        connection.execute(sa.delete(tables.schema_bounds))
        bound = {"name": _BOUND, "oldest": chosen[-1]}
        connection.execute(sa.insert(tables.schema_bounds).values(bound))
    return chosen


def _config(known: KnownSchema, connection: sa.Connection) -> Any:
    from alembic import config

    settings = config.Config(attributes={"connection": connection})
    places = (_MIGRATIONS / "versions", *known.scripts)
    for name, value in (
        ("script_location", str(_MIGRATIONS)),
        ("path_separator", "os"),
        ("version_locations", os.pathsep.join(str(place) for place in places)),
    ):
        settings.set_main_option(name, value.replace("%", "%%"))
    return settings
