"""The first schema: the tables as `store.sql.schema` has them.

Whoever adds the second script writes this one out as `op.create_table` says it, for
`store.sql.schema` moves on then.
"""

from alembic import op

from volary.store.sql.schema import tables

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table."""
    tables.METADATA.create_all(op.get_bind(), checkfirst=False)
