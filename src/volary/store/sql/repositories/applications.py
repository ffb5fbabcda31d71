"""Applications in a database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.schema import fences, tables

_COLUMNS = tuple(column.name for column in tables.applications.columns if not column.primary_key)


_Write = fences.Fenced[records.ApplicationRecord]


class Applications:
    """See `protocol.Applications`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group_commit.GroupCommit(
            self._keep_all, lambda write: write.item.name, most=limits.group
        )

    async def keep(
        self, application: records.ApplicationRecord, *, fence: run_records.Fence | None
    ) -> int:
        """Keep it, new or changed, and return its new version."""
        return await self._group.keep(fences.Fenced(application, fence))

    async def _keep_all(self, writes: Sequence[_Write]) -> list[int | Exception]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, [write.fence for write in writes])
            known = await _known(connection, [write.item.name for write in writes])
            results: list[int | Exception] = []
            changed: list[records.ApplicationRecord] = []
            for write, refusal in zip(writes, refused, strict=True):
                before = known.get(write.item.name)
                version = before.version if before else 0
                if refusal is None and not (before and records.is_same(before, write.item)):
                    version += 1
                    changed.append(replace(write.item, version=version))
                results.append(refusal or version)
            if changed:
                await _write(connection, changed)
            return results

    @database.finished
    async def get(self, name: str) -> records.ApplicationRecord | None:
        """Return it."""
        query = sa.select(tables.applications).where(tables.applications.c.name == name)
        async with self._base.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return _record(row) if row else None

    @database.finished
    async def list(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.ApplicationRecord]:
        """Return applications by name."""
        limit = pagination.bounded(limit, self._limits.page)
        name = tables.applications.c.name
        query = sa.select(tables.applications).where(*_conditions(wanted))
        if after := pagination.by_name(cursor):
            query = query.where(name > after)
        async with self._base.reading() as connection:
            rows = await connection.execute(query.order_by(name).limit(limit + 1))
            items = [_record(row) for row in rows]
        return pagination.cut(items, limit, lambda item: (item.name,))

    @database.finished
    async def forget(self, name: str, *, fence: run_records.Fence | None) -> None:
        """Delete it with all that is stored under its name, but for its runs."""
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            for table in (tables.commits, tables.application_states):
                await connection.execute(sa.delete(table).where(table.c.application == name))
            applications = tables.applications
            await connection.execute(sa.delete(applications).where(applications.c.name == name))


async def _known(
    connection: sa_async.AsyncConnection, names: Sequence[str]
) -> dict[str, records.ApplicationRecord]:
    applications = tables.applications
    rows = await connection.execute(
        sa.select(applications)
        .where(applications.c.name.in_(sorted(names)))
        .order_by(applications.c.name)  # locked in the same order by everybody
        .with_for_update()
    )
    return {row.name: _record(row) for row in rows}


async def _write(
    connection: sa_async.AsyncConnection, changed: Sequence[records.ApplicationRecord]
) -> None:
    labels = tables.application_labels
    await connection.execute(
        database.upsert(connection, tables.applications, update=_COLUMNS),
        [_values(application) for application in changed],
    )
    await connection.execute(
        sa.delete(labels).where(labels.c.application == sa.bindparam("of_application")),
        [{"of_application": application.name} for application in changed],
    )
    values = [
        {"application": application.name, "label": label, "value": value}
        for application in changed
        for label, value in application.labels.items()
    ]
    if values:
        await connection.execute(sa.insert(labels), values)


def _conditions(wanted: records.ApplicationFilter) -> Sequence[sa.ColumnElement[bool]]:
    applications, labels = tables.applications.c, tables.application_labels.c
    conditions: list[sa.ColumnElement[bool]] = [
        sa.exists().where(
            labels.application == applications.name, labels.label == label, labels.value == value
        )
        for label, value in wanted.labels.items()
    ]
    if wanted.status:
        conditions.append(applications.status == wanted.status)
    if wanted.repository:
        conditions.append(applications.repository == wanted.repository)
    if not wanted.with_removed:
        conditions.append(applications.removed.is_(None))
    return conditions


def _values(application: records.ApplicationRecord) -> dict[str, Any]:
    values = {name: getattr(application, name) for name in ("name", *_COLUMNS)}
    return values | {"labels": dict(application.labels)}


def _record(row: sa.Row[Any]) -> records.ApplicationRecord:
    return records.ApplicationRecord(**row._asdict())
