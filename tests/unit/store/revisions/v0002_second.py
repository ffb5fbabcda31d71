"""A revision of tests: what commits are about moves from `subject` to `title`."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what new programs write."""
    op.add_column("commits", sa.Column("title", sa.Text(), nullable=True))
    op.create_table("notes", sa.Column("id", sa.Text(), primary_key=True))
    op.create_index("notes_by_id", "notes", ["id"], unique=True)


def contract() -> None:
    """Take away what only old programs needed."""
    op.execute("UPDATE commits SET title = subject WHERE title IS NULL")
    op.drop_column("commits", "subject")
