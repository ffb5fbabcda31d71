"""The clusters as they were seen last."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

#: Sorted by code points in every database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table; nothing that is there changes."""
    op.create_table(
        "clusters",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("state", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
