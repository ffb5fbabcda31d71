"""What a database says of its schema, and the lock that changes of it take."""

import sqlalchemy as sa

from volary.store import schema_versions
from volary.store.sql.database import connections
from volary.store.sql.schema import tables

#: Held in PostgreSQL while migrating; any number that nobody else uses.
_LOCK = 0x766F6C617279


async def lock(connection: connections.Connection) -> None:
    """Keep others from migrating, contracting and registering until the transaction ends."""
    if connection.dialect.name != "sqlite":  # SQLite's transaction holds the only lock there is
        await connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


async def read(connection: connections.Connection) -> schema_versions.SchemaState:
    """Return what the database says of its schema."""
    return await connection.run_sync(_read)


def _read(connection: sa.Connection) -> schema_versions.SchemaState:
    if not sa.inspect(connection).has_table("alembic_version"):
        return schema_versions.SchemaState()
    revisions = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalars()
    present = max(revisions.all(), default="")
    oldest = connection.execute(sa.select(tables.schema_bounds.c.oldest)).scalar()
    return schema_versions.SchemaState(present, oldest or schema_versions.FIRST)
