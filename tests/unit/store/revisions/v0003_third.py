"""A revision of tests: nobody needs notes any more."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add nothing."""


def contract() -> None:
    """Take away what nobody needs."""
    op.drop_table("notes")
