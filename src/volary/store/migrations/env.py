"""What Alembic runs: our scripts on the connection that `migrator` hands over."""

from alembic import context

from volary.store.sql.schema import tables

context.configure(
    connection=context.config.attributes["connection"], target_metadata=tables.METADATA
)
context.run_migrations()
