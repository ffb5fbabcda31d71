"""Who did what, in a database: there is no method that changes an entry.

Each entry has the hash of the one before. Both are written in one transaction that holds the
chain's head from its beginning, so of several processes that write one waits for the other.
"""

import dataclasses
from datetime import UTC

import sqlalchemy as sa

from volary.model import audit_chain, json
from volary.store import encoding, pagination, records
from volary.store.sql.database import connections, database
from volary.store.sql.schema import rows, tables

#: The one row of the chain's head.
_NAME = "audit"
_HEAD = sa.select(tables.audit_head.c.position, tables.audit_head.c.hash).where(
    tables.audit_head.c.name == _NAME
)


class Audit:
    """Append-only: who did what."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def write(self, entry: records.AuditRecord) -> None:
        """Keep one entry, at the end of the chain."""
        async with self._base.writing() as connection:
            await append(connection, entry)

    async def head(self) -> records.AuditHead:
        """Return where the chain ends."""
        row = await self._base.row(_HEAD)
        return records.AuditHead() if row is None else rows.read(records.AuditHead, row)

    async def list(
        self,
        wanted: records.AuditFilter,
        *,
        oldest_first: bool = False,
        cursor: str = "",
        limit: int = 50,
    ) -> records.Page[records.AuditRecord]:
        """Return entries, the newest first unless the oldest is wanted first."""
        position = tables.audit.c.position
        limit = pagination.bounded(limit, self._limits.page)
        words = dataclasses.asdict(wanted)
        projects = words.pop("projects")
        query = sa.select(tables.audit).where(*rows.matching(tables.audit, **words))
        if projects is not None:
            query = query.where(tables.audit.c.project.in_(sorted(projects)))
        if (last := pagination.by_position(cursor)) is not None:
            query = query.where(position > last if oldest_first else position < last)
        order = position.asc() if oldest_first else position.desc()
        entries = await self._base.rows(query.order_by(order).limit(limit + 1))
        items = [rows.read(records.AuditRecord, row) for row in entries]
        return pagination.cut(items, limit, lambda item: (item.position,))


async def append(connection: connections.Connection, entry: records.AuditRecord) -> None:
    """Add an entry to the chain, in a transaction that writes."""
    head = await _hold_head(connection)
    position = head.position + 1
    content = _as_stored(await _of_its_project(connection, entry))
    shown = {**content, "position": position, "run": content["run_id"]}
    digest = audit_chain.digest(head.hash, shown)
    named = content["document"].get("cluster")
    values = {
        **content,
        "cluster": named if isinstance(named, str) else "",
        "position": position,
        "previous": head.hash,
        "hash": digest,
    }
    await connection.execute(sa.insert(tables.audit), values)
    await connection.execute(
        sa.update(tables.audit_head)
        .where(tables.audit_head.c.name == _NAME)
        .values(position=position, hash=digest)
    )


async def _of_its_project(
    connection: connections.Connection, entry: records.AuditRecord
) -> records.AuditRecord:
    """Return an entry with the project that its application belongs to now, unless it has one."""
    if entry.project or not entry.application:
        return entry
    known = tables.applications.c
    found = await connection.execute(
        sa.select(known.project).where(known.name == entry.application)
    )
    return dataclasses.replace(entry, project=found.scalar() or "")


async def _hold_head(connection: connections.Connection) -> records.AuditHead:
    """Return where the chain ends; nobody else adds to it before the transaction's end."""
    held = _HEAD.with_for_update()
    row = (await connection.execute(held)).first()
    if row is not None:
        return records.AuditHead(row.position, row.hash)
    # The first entry of all; whoever else makes the row at the same time is waited for.
    made = database.insert_once(connection, tables.audit_head, key="name")
    await connection.execute(made, {"name": _NAME})
    made_row = (await connection.execute(held)).one()
    return records.AuditHead(made_row.position, made_row.hash)


def _as_stored(entry: records.AuditRecord) -> rows.Values:
    """Return an entry's own fields exactly as they will be read: that is what is hashed."""
    values = rows.values(entry)
    for name in ("position", "previous", "hash"):
        del values[name]
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = encoding.clean(value)
        elif isinstance(value, dict):
            values[name] = json.decode(encoding.encode(value))
    values["at"] = entry.at.astimezone(UTC)
    return values
