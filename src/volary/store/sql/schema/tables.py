"""The tables, with column types that mean the same in both databases."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from volary.model import statuses
from volary.store import records
from volary.store.sql.schema.column_types import CleanText, Document, UtcTime, Word

#: A 64-bit number that counts up by itself; only INTEGER does so in SQLite.
POSITION = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

METADATA = sa.MetaData()


@sa.event.listens_for(METADATA, "before_create")
def _limit_indexes(_: sa.MetaData, connection: sa.Connection, **__: object) -> None:
    """Have PostgreSQL's indexes hold the rows that SQLite's hold.

    Not said where the indexes are: SQLAlchemy loads all of a database's dialect for an option of
    its own, and few have PostgreSQL.
    """
    if connection.dialect.name == "postgresql":
        for table in METADATA.tables.values():
            for index in table.indexes:
                held = index.dialect_options["sqlite"]["where"]
                index.dialect_options["postgresql"]["where"] = held


def _words(name: str, *, default: str | None = "") -> sa.Column[str]:
    return sa.Column(name, CleanText(), nullable=False, server_default=default)


def _status(kind: type[StrEnum]) -> sa.Column[StrEnum]:
    return sa.Column("status", Word(kind), nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")


def _document(name: str = "document") -> sa.Column[dict[str, object]]:
    return sa.Column(name, Document(), nullable=False, server_default="{}")


def _at(name: str) -> sa.Column[object]:
    return sa.Column(name, UtcTime(), nullable=False)


def _maybe(name: str) -> sa.Column[object]:
    return sa.Column(name, UtcTime())


def _run(*, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(
        "run_id",
        CleanText(),
        sa.ForeignKey("runs.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
    )


def _key(name: str) -> sa.Column[str]:
    return sa.Column(name, CleanText(), primary_key=True)


def _position() -> sa.Column[int]:
    # Never used again after a deletion: readers go on after the last one they saw.
    return sa.Column("position", POSITION, sa.Identity(), primary_key=True)


def _task_rows(name: str, *columns: sa.Column[Any]) -> sa.Table:
    """Return a table of many rows of each task, in which readers go on by position."""
    return sa.Table(
        name,
        METADATA,
        _position(),
        _run(),
        _words("stage"),
        _words("target"),
        _number("attempt"),
        _number("number"),
        _at("at"),
        *columns,
        sa.Index(f"{name}_by_task", "run_id", "stage", "target", "number", unique=True),
        sa.Index(f"{name}_by_run", "run_id", "position"),
        sqlite_autoincrement=True,
    )


applications = sa.Table(
    "applications",
    METADATA,
    _key("name"),
    _words("repository"),
    _words("path"),
    _words("branch"),
    _words("project"),
    _document("labels"),
    _words("status"),
    _words("reason"),
    _words("running_commit"),
    _document(),
    _maybe("updated"),
    _maybe("removed"),
    _number("version"),
)

#: Labels once more, to ask for them.
application_labels = sa.Table(
    "application_labels",
    METADATA,
    sa.Column(
        "application",
        CleanText(),
        sa.ForeignKey("applications.name", ondelete="CASCADE"),
        primary_key=True,
    ),
    _key("label"),
    _words("value"),
    sa.Index("application_labels_by_label", "label", "value", "application"),
)

runs = sa.Table(
    "runs",
    METADATA,
    _key("id"),
    _words("application", default=None),
    _status(statuses.RunStatus),
    _words("reason"),
    _words("commit"),
    _words("running_commit"),
    _at("created"),
    _maybe("started"),
    _maybe("finished"),
    _number("version"),
    _number("last_event"),
    #: The lease under which it was made: who holds that carries it out. None: nobody needs one.
    sa.Column("lease", CleanText()),
    #: Of the transition that was kept last, to know a repetition.
    _words("digest"),
    _document("origin"),
    _document("clusters"),
    _document(),
    #: Who asked for it, of `origin`.
    _words("by"),
    # The list of an application's runs, of all, by status, by whom; restart; retention.
    sa.Index("runs_by_application", "application", "created", "id"),
    sa.Index("runs_by_creation", "created", "id"),
    sa.Index("runs_by_status", "status", "created", "id"),
    sa.Index("runs_by_actor", "by", "created", "id"),
    sa.Index("runs_by_end", "finished", "created", "id"),
    # Of an application's runs under one lease at most one has not ended.
    sa.Index(
        "runs_one_unfinished",
        "application",
        "lease",
        unique=True,
        sqlite_where=sa.text("finished IS NULL"),
    ),
)

#: The clusters of each run, of its `origin`, in the order in which runs are listed.
run_targets = sa.Table(
    "run_targets",
    METADATA,
    _run(primary_key=True),
    _key("target"),
    _at("created"),
    sa.Index("run_targets_by_target", "target", "created", "run_id"),
)

#: What runs were planned to apply, packed by the caller.
run_manifests = sa.Table(
    "run_manifests",
    METADATA,
    _run(primary_key=True),
    sa.Column("body", sa.LargeBinary(), nullable=False),
)

#: What agents are sent for the tasks of runs, sealed for them.
artifacts = sa.Table(
    "artifacts",
    METADATA,
    _key("digest"),
    _run(),
    _words("target"),
    #: For which keys it is sealed.
    _words("recipients"),
    _at("created"),
    sa.Column("body", sa.LargeBinary(), nullable=False),
    sa.Index("artifacts_by_run", "run_id", "target"),
)

stages = sa.Table(
    "stages",
    METADATA,
    _run(primary_key=True),
    _key("id"),
    _number("position"),
    _words("name"),
    _status(statuses.TaskStatus),
    _words("reason"),
    _maybe("started"),
    _maybe("finished"),
    _document(),
)

tasks = sa.Table(
    "tasks",
    METADATA,
    _run(primary_key=True),
    _key("stage"),
    _key("target"),
    _number("position"),
    _status(statuses.TaskStatus),
    _words("reason"),
    _number("attempt"),
    _maybe("started"),
    _maybe("finished"),
    _document(),
    # What goes on in a cluster.
    sa.Index("tasks_by_target", "target", "status"),
)

#: What readers see of a run.
events = sa.Table(
    "events",
    METADATA,
    _position(),
    _run(),
    _words("application"),
    _number("number"),
    _at("at"),
    _words("event", default=None),
    _words("stage"),
    _words("target"),
    _document(),
    sa.Index("events_by_run", "run_id", "number", unique=True),
    sa.Index("events_by_application", "application", "position"),
    sqlite_autoincrement=True,
)

logs = _task_rows("logs", _words("level"), _words("text"))

#: What analyses measured and concluded.
findings = _task_rows(
    "findings", _words("kind", default=None), _words("metric"), _document(), _words("key")
)
sa.Index(
    "findings_by_key",
    findings.c.run_id,
    findings.c.stage,
    findings.c.target,
    findings.c.key,
    unique=True,
    sqlite_where=findings.c.key != "",
)

#: What tasks remember over a restart: of each the newest attempt.
task_states = sa.Table(
    "task_states",
    METADATA,
    _run(primary_key=True),
    _key("stage"),
    _key("target"),
    _number("attempt"),
    _document(),
)

#: What applications remember over their runs.
application_states = sa.Table(
    "application_states",
    METADATA,
    _key("application"),
    _key("target"),
    _key("name"),
    _document(),
)

approvals = sa.Table(
    "approvals",
    METADATA,
    _position(),
    _run(),
    _words("stage"),
    _words("group"),
    _words("by"),
    _at("at"),
    sa.Column("approved", sa.Boolean(), nullable=False),
    _words("comment"),
    sa.Index("approvals_by_run", "run_id", "position"),
    sqlite_autoincrement=True,
)

clusters = sa.Table(
    "clusters",
    METADATA,
    _key("name"),
    _words("state"),
    _document(),
    _maybe("updated"),
)

#: One row: of the repository that the settings name now.
project_files = sa.Table(
    "project_files",
    METADATA,
    _key("source"),
    _words("commit"),
    _words("problem"),
    _document(),
    _maybe("updated"),
)

workspaces = sa.Table(
    "workspaces",
    METADATA,
    _key("name"),
    _words("project"),
    _document(),
    _maybe("updated"),
    _maybe("removed"),
)

commits = sa.Table(
    "commits",
    METADATA,
    _key("application"),
    _key("commit"),
    _at("seen"),
    _words("subject"),
    _words("author"),
    _words("status"),
    _words("reason"),
    _words("run_id"),
    sa.Index("commits_by_time", "application", "seen", "commit"),
)

notifications = sa.Table(
    "notifications",
    METADATA,
    _position(),
    _words("id", default=None),
    _words("receiver"),
    _document("body"),
    _words("topic"),
    _words("reply"),
    sa.UniqueConstraint("id"),
    sqlite_autoincrement=True,
)

requests = sa.Table(
    "requests",
    METADATA,
    _position(),
    _words("id", default=None),
    _words("kind", default=None),
    _words("by"),
    _at("at"),
    _words("application"),
    _words("run_id"),
    _document(),
    _maybe("answered"),
    _words("refusal"),
    sa.Index("requests_by_id", "id", unique=True),
    sa.Index("requests_by_answer", "answered", "position"),
    sqlite_autoincrement=True,
)

leases = sa.Table(
    "leases",
    METADATA,
    _key("name"),
    #: Empty: it was given back.
    _words("owner"),
    _number("number"),
    _at("expires"),
)

#: Processes that serve, also those that ended a while ago: see `store.schema_versions`.
servers = sa.Table(
    "servers",
    METADATA,
    _key("id"),
    _words("name"),
    _words("address"),
    _words("version"),
    #: Of the schema: the newest that its program knows.
    _words("revision"),
    _at("started"),
    _at("seen"),
    _maybe("ended"),
)

#: One row: what a program has to know of the schema to use this database.
schema_bounds = sa.Table("schema_bounds", METADATA, _key("name"), _words("oldest"))

#: API tokens, as every server of the database has them; of the tokens there are only hashes.
api_tokens = sa.Table(
    "api_tokens",
    METADATA,
    _key("id"),
    _document(),
    _maybe("revoked"),
    _maybe("used"),
)

#: How often somebody said that a repository may have changed, to a server that stands by.
repository_refreshes = sa.Table(
    "repository_refreshes", METADATA, _key("repository"), _number("number")
)

#: Logins of browsers; of the secret that a browser keeps there is only the hash.
sessions = sa.Table(
    "sessions",
    METADATA,
    _key("id"),
    _words("hash", default=None),
    _words("previous"),
    _words("nonce"),
    _words("csrf_token"),
    _words("by"),
    _words("source"),
    _words("credential"),
    _words("issuer"),
    _document(),
    _at("created"),
    _at("rotated"),
    _at("seen"),
    _at("expires"),
    _maybe("previous_ends"),
    sa.Index("sessions_by_hash", "hash", unique=True),
    sa.Index("sessions_by_previous", "previous"),
    sa.Index("sessions_by_person", "by", "seen"),
)

#: Agents beside clusters, and workers; of their tokens there are hashes.
agents = sa.Table(
    "agents",
    METADATA,
    _key("name"),
    sa.Column("kind", Word(records.AgentKind), nullable=False),
    _words("hash", default=None),
    _words("previous"),
    _words("sealing_key"),
    _words("previous_sealing_key"),
    _words("cluster_uid"),
    _words("version"),
    _number("protocol"),
    _words("reason"),
    _at("created"),
    _at("rotated"),
    _maybe("seen"),
    _document(),
    sa.Index("agents_by_hash", "hash", unique=True),
    sa.Index("agents_by_previous", "previous"),
)

#: Each entry has the hash of the one before: `audit_chain`. Positions have no gaps.
audit = sa.Table(
    "audit",
    METADATA,
    sa.Column("position", POSITION, primary_key=True, autoincrement=False),
    _at("at"),
    _words("by"),
    _words("action"),
    _words("result"),
    _words("source"),
    _words("application"),
    _words("project"),
    _words("run_id"),
    _document(),
    _document("before"),
    _document("after"),
    #: Of `document`: what a list is narrowed by. Not part of what is hashed, for `document` is.
    _words("cluster"),
    _words("previous"),
    _words("hash", default=None),
    sa.Index("audit_by_time", "at"),
    sa.Index("audit_by_actor", "by", "position"),
    sa.Index("audit_by_application", "application", "position"),
    sa.Index("audit_by_project", "project", "position"),
    sa.Index("audit_by_cluster", "cluster", "position"),
)

#: One row: where the chain of the audit ends, so that it shows when its newest entries are gone.
audit_head = sa.Table(
    "audit_head",
    METADATA,
    _key("name"),
    _number("position"),
    _words("hash"),
)
