"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

#: Sorted by code points in every database.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
#: Counts up by itself.
POSITION = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make every table."""
    _applications()
    _audit()
    _commits()
    _inventory()
    _leases()
    _requests()
    _runs()
    _application_labels()
    _approvals()
    _commands()
    _events()
    _logs()
    _stages()
    _tasks()
    _transitions()


def _applications() -> None:
    op.create_table(
        "applications",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("repository", TEXT, server_default="", nullable=False),
        sa.Column("path", TEXT, server_default="", nullable=False),
        sa.Column("branch", TEXT, server_default="", nullable=False),
        sa.Column("labels", sa.Text(), server_default="{}", nullable=False),
        sa.Column("status", TEXT, server_default="", nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("running_commit", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("position", POSITION, sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", TEXT, server_default="", nullable=False),
        sa.Column("action", TEXT, server_default="", nullable=False),
        sa.Column("result", TEXT, server_default="", nullable=False),
        sa.Column("source", TEXT, server_default="", nullable=False),
        sa.Column("application", TEXT, server_default="", nullable=False),
        sa.Column("run_id", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("position"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_actor", "audit", ["actor", "position"], unique=False)
    op.create_index("audit_by_application", "audit", ["application", "position"], unique=False)
    op.create_index("audit_by_time", "audit", ["at"], unique=False)


def _commits() -> None:
    op.create_table(
        "commits",
        sa.Column("application", TEXT, nullable=False),
        sa.Column("commit_hash", TEXT, nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("subject", TEXT, server_default="", nullable=False),
        sa.Column("author", TEXT, server_default="", nullable=False),
        sa.Column("status", TEXT, server_default="", nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("run_id", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("application", "commit_hash"),
    )
    op.create_index(
        "commits_by_time", "commits", ["application", "seen", "commit_hash"], unique=False
    )


def _inventory() -> None:
    op.create_table(
        "inventory",
        sa.Column("application", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("api_group", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("namespace", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("api_version", TEXT, server_default="", nullable=False),
        sa.Column("commit_hash", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("application", "target", "api_group", "kind", "namespace", "name"),
    )


def _leases() -> None:
    op.create_table(
        "leases",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("owner", TEXT, server_default="", nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _requests() -> None:
    op.create_table(
        "requests",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("actor", TEXT, server_default="", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("application", TEXT, server_default="", nullable=False),
        sa.Column("run_id", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.Column("answered", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refusal", TEXT, server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("requests_by_answer", "requests", ["answered", "at", "id"], unique=False)


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("application", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("commit_hash", TEXT, server_default="", nullable=False),
        sa.Column("running_commit", TEXT, server_default="", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_event", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("digest", TEXT, server_default="", nullable=False),
        sa.Column("origin", sa.Text(), server_default="{}", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("runs_by_application", "runs", ["application", "created", "id"], unique=False)
    op.create_index("runs_by_creation", "runs", ["created", "id"], unique=False)
    op.create_index("runs_by_end", "runs", ["finished", "created", "id"], unique=False)
    op.create_index("runs_by_status", "runs", ["status", "created", "id"], unique=False)


def _application_labels() -> None:
    op.create_table(
        "application_labels",
        sa.Column("application", TEXT, nullable=False),
        sa.Column("label", TEXT, nullable=False),
        sa.Column("value", TEXT, server_default="", nullable=False),
        sa.ForeignKeyConstraint(["application"], ["applications.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("application", "label"),
    )
    op.create_index(
        "application_labels_by_label",
        "application_labels",
        ["label", "value", "application"],
        unique=False,
    )


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("position", POSITION, sa.Identity(always=False), nullable=False),
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, server_default="", nullable=False),
        sa.Column("group_name", TEXT, server_default="", nullable=False),
        sa.Column("actor", TEXT, server_default="", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=False),
        sa.Column("comment", TEXT, server_default="", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position"),
        sqlite_autoincrement=True,
    )
    op.create_index("approvals_by_run", "approvals", ["run_id", "position"], unique=False)


def _commands() -> None:
    op.create_table(
        "commands",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("command_key", TEXT, nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "command_key"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("position", POSITION, sa.Identity(always=False), nullable=False),
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("application", TEXT, server_default="", nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, server_default="", nullable=False),
        sa.Column("target", TEXT, server_default="", nullable=False),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_application", "events", ["application", "position"], unique=False)
    op.create_index("events_by_run", "events", ["run_id", "number"], unique=True)
    op.create_index("events_by_time", "events", ["at"], unique=False)


def _logs() -> None:
    op.create_table(
        "logs",
        sa.Column("position", POSITION, sa.Identity(always=False), nullable=False),
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, server_default="", nullable=False),
        sa.Column("target", TEXT, server_default="", nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("level", TEXT, server_default="", nullable=False),
        sa.Column("line", TEXT, server_default="", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position"),
        sqlite_autoincrement=True,
    )
    op.create_index("logs_by_run", "logs", ["run_id", "position"], unique=False)
    op.create_index("logs_by_task", "logs", ["run_id", "stage_id", "target", "number"], unique=True)
    op.create_index("logs_by_time", "logs", ["at"], unique=False)


def _stages() -> None:
    op.create_table(
        "stages",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("position", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("name", TEXT, server_default="", nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "id"),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("stage_id", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("position", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("reason", TEXT, server_default="", nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.Column("document", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "stage_id", "target"),
    )
    op.create_index("tasks_by_target", "tasks", ["target", "status"], unique=False)


def _transitions() -> None:
    op.create_table(
        "transitions",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "version"),
    )
