"""Brings a database's schema to the one this version knows, forward only.

Done at every start, under a lock: of several processes that start at once one migrates,
and the others find it done. All of a migration is one transaction in both databases, so a
process killed in its middle leaves the schema as it was.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import errors
from volary.store.sql.database import database

#: The newest revision; `migrations/versions` holds one file for each.
HEAD = "0001"

#: Held in PostgreSQL while migrating; any number that nobody else uses.
_LOCK = 0x766F6C617279

_MIGRATIONS = Path(__file__).parent / "migrations"


async def migrate(base: database.Database, *, revision: str = HEAD) -> None:
    """Bring the schema to `revision`; does nothing when it is there already.

    Raises:
        errors.UserError: The database was written by a newer version.
    """
    async with base.reading() as connection:
        if await connection.run_sync(_present) == revision:
            return
    async with base.writing() as connection:
        if not base.is_sqlite:  # SQLite's transaction holds the only lock there is
            await connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        present = await connection.run_sync(_present)
        if present == revision:
            return
        if present > HEAD:
            raise errors.user_error(
                f"the database was written by a newer version of Volary (schema {present}, "
                f"this version knows up to {HEAD})",
                hint="run that version, or restore a backup of this one",
            )
        await _upgrade(connection, revision)


async def _upgrade(connection: sa_async.AsyncConnection, revision: str) -> None:
    # Imported late: most starts have nothing to migrate, and it takes as long as the rest.
    from alembic import command, config

    def run(sync: sa.Connection) -> None:
        settings = config.Config(attributes={"connection": sync})
        settings.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        settings.set_main_option("path_separator", "os")
        command.upgrade(settings, revision)

    await connection.run_sync(run)


def _present(connection: sa.Connection) -> str:
    """Return the schema's revision; empty: there is no schema yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return ""
    revisions = (
        connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars().all()
    )
    return max(revisions, default="")
