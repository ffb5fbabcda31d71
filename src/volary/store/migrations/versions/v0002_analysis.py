"""What analyses measured, and what tasks and applications remember."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: Sorted by code points in every database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
#: Counts up by itself.
POSITION = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _findings()
    _task_states()
    _application_states()


def _findings() -> None:
    op.create_table(
        "findings",
        sa.Column("position", POSITION, sa.Identity(always=False), nullable=False),
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, server_default="", nullable=False),
        sa.Column("target", TEXT, server_default="", nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("metric", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position"),
        sqlite_autoincrement=True,
    )
    op.create_index("findings_by_run", "findings", ["run_id", "position"], unique=False)
    columns = ["run_id", "stage_id", "target", "number"]
    op.create_index("findings_by_task", "findings", columns, unique=True)
    op.create_index("findings_by_time", "findings", ["at"], unique=False)


def _task_states() -> None:
    op.create_table(
        "task_states",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "stage_id", "target"),
    )


def _application_states() -> None:
    op.create_table(
        "application_states",
        sa.Column("application", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("application", "target", "name"),
    )
