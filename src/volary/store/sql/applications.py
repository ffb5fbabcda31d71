"""Applications in a database."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from volary.model import record
from volary.store import pages, records
from volary.store.sql import database, fences, tables

_COLUMNS = tuple(column.name for column in tables.applications.columns if not column.primary_key)


class Applications:
    """See `protocol.Applications`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def keep(
        self, application: records.ApplicationRecord, *, fence: record.Fence | None
    ) -> int:
        """Keep it, new or changed, and return its new version."""
        applications, labels = tables.applications, tables.application_labels
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            row = (
                await connection.execute(
                    sa.select(applications)
                    .where(applications.c.name == application.name)
                    .with_for_update()
                )
            ).one_or_none()
            version = row.version if row else 0
            if row and records.is_same(_record(row), application):
                return int(version)
            await connection.execute(
                database.upsert(connection, applications, update=_COLUMNS),
                _values(replace(application, version=version + 1)),
            )
            await connection.execute(
                sa.delete(labels).where(labels.c.application == application.name)
            )
            if application.labels:
                await connection.execute(
                    sa.insert(labels),
                    [
                        {"application": application.name, "label": label, "value": value}
                        for label, value in application.labels.items()
                    ],
                )
            return int(version) + 1

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
        limit = pages.bounded(limit, self._limits.page)
        name = tables.applications.c.name
        query = sa.select(tables.applications).where(*_conditions(wanted))
        if after := pages.by_name(cursor):
            query = query.where(name > after)
        async with self._base.reading() as connection:
            found = await connection.execute(query.order_by(name).limit(limit + 1))
            items = [_record(row) for row in found]
        return pages.cut(items, limit, lambda item: (item.name,))


def _conditions(wanted: records.ApplicationFilter) -> Sequence[sa.ColumnElement[bool]]:
    applications, labels = tables.applications.c, tables.application_labels.c
    found: list[sa.ColumnElement[bool]] = [
        sa.exists().where(
            labels.application == applications.name, labels.label == label, labels.value == value
        )
        for label, value in wanted.labels.items()
    ]
    if wanted.status:
        found.append(applications.status == wanted.status)
    if wanted.repository:
        found.append(applications.repository == wanted.repository)
    if not wanted.with_removed:
        found.append(applications.removed.is_(None))
    return found


def _values(application: records.ApplicationRecord) -> dict[str, Any]:
    values = {name: getattr(application, name) for name in ("name", *_COLUMNS)}
    return values | {"labels": dict(application.labels)}


def _record(row: sa.Row[Any]) -> records.ApplicationRecord:
    return records.ApplicationRecord(**row._asdict())
