"""Applications in a database."""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.schema import fences, rows, tables

_Write = fences.Fenced[records.ApplicationRecord]


class Applications:
    """The applications that are known."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group_commit.GroupCommit(
            self._keep_all, lambda write: write.item.name, most=limits.group
        )

    async def keep(
        self, application: records.ApplicationRecord, *, fence: run_records.Fence | None
    ) -> int:
        """Keep it, new or changed, and return its new version.

        What is the same as before, apart from `updated`, keeps its version.
        """
        return await self._group.keep(fences.Fenced(application, fence))

    async def _keep_all(self, writes: Sequence[_Write]) -> list[int | Exception]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, writes)
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

    async def get(self, name: str) -> records.ApplicationRecord | None:
        """Return it; None when it was never known."""
        query = sa.select(tables.applications).where(tables.applications.c.name == name)
        row = await self._base.row(query)
        return rows.read(records.ApplicationRecord, row) if row else None

    async def list(
        self, wanted: records.ApplicationFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.ApplicationRecord]:
        """Return applications by name."""
        limit = pagination.bounded(limit, self._limits.page)
        name = tables.applications.c.name
        query = sa.select(tables.applications).where(*_conditions(wanted))
        if after := pagination.by_name(cursor):
            query = query.where(name > after)
        known = await self._base.rows(query.order_by(name).limit(limit + 1))
        items = [rows.read(records.ApplicationRecord, row) for row in known]
        return pagination.cut(items, limit, lambda item: (item.name,))

    @database.finished
    async def forget(self, name: str, *, fence: run_records.Fence | None) -> None:
        """Delete it with its commits and task state; its runs are history and stay.

        A name that is not known is ignored.
        """
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
    known = await connection.execute(
        sa.select(applications)
        .where(applications.c.name.in_(sorted(names)))
        .order_by(applications.c.name)  # locked in the same order by everybody
        .with_for_update()
    )
    return {row.name: rows.read(records.ApplicationRecord, row) for row in known}


async def _write(
    connection: sa_async.AsyncConnection, changed: Sequence[records.ApplicationRecord]
) -> None:
    labels = tables.application_labels
    await connection.execute(
        database.upsert(connection, tables.applications),
        [rows.values(application, labels=dict(application.labels)) for application in changed],
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
    conditions += rows.matching(
        tables.applications, status=wanted.status, repository=wanted.repository
    )
    if not wanted.with_removed:
        conditions.append(applications.removed.is_(None))
    return conditions
