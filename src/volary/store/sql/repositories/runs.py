"""Runs in a database."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

#: What lists show; no documents.
_SUMMARY: tuple[sa.Column[Any], ...] = tuple(
    tables.runs.c[name] for name in (*rows.names(run_records.RunHead), "version", "origin")
)


class Runs:
    """Runs as they were kept last; `Store.keep_transition` changes them."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def load(self, run_id: str) -> run_records.StoredRun | None:
        """Return the whole run at one moment; None when there is none."""
        stages, tasks = tables.stages, tables.tasks
        async with self._base.reading() as connection:
            run = (
                await connection.execute(sa.select(tables.runs).where(tables.runs.c.id == run_id))
            ).one_or_none()
            if run is None:
                return None
            of_stages = await connection.execute(
                sa.select(stages).where(stages.c.run_id == run_id).order_by(stages.c.position)
            )
            own_stage = sa.and_(tasks.c.run_id == stages.c.run_id, tasks.c.stage == stages.c.id)
            of_tasks = await connection.execute(
                sa.select(tasks)
                .join(stages, own_stage)
                .where(tasks.c.run_id == run_id)
                .order_by(stages.c.position, tasks.c.position)
            )
            return run_records.StoredRun(
                head=rows.read(run_records.RunHead, run),
                version=run.version,
                last_event=run.last_event,
                document=run.document,
                origin=run.origin,
                clusters=run.clusters,
                stages=tuple(rows.read(run_records.StageRecord, row) for row in of_stages),
                tasks=tuple(rows.read(run_records.TaskRecord, row) for row in of_tasks),
            )

    async def manifests(self, run_id: str) -> bytes:
        """Return what the run was planned to apply, as it was packed; empty: it is not kept."""
        kept = tables.run_manifests
        row = await self._base.row(sa.select(kept.c.body).where(kept.c.run_id == run_id))
        return bytes(row.body) if row else b""

    async def summary(self, run_id: str) -> records.RunSummary | None:
        """Return what lists show of a run; None when there is none."""
        row = await self._base.row(sa.select(*_SUMMARY).where(tables.runs.c.id == run_id))
        return _summary(row) if row else None

    async def list(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.RunSummary]:
        """Return runs, the newest first."""
        runs = tables.runs.c
        limit = pagination.bounded(limit, self._limits.page)
        query = sa.select(*_SUMMARY).where(*_conditions(wanted))
        if after := pagination.by_time(cursor):
            query = query.where(sa.tuple_(runs.created, runs.id) < sa.tuple_(*after))
        query = query.order_by(runs.created.desc(), runs.id.desc()).limit(limit + 1)
        summaries = [_summary(row) for row in await self._base.rows(query)]
        return pagination.cut(summaries, limit, lambda item: (item.head.created, item.head.id))

    async def unfinished(self) -> tuple[str, ...]:
        """Return the ids of runs that have not ended, the oldest first."""
        runs = tables.runs.c
        query = sa.select(runs.id).where(runs.finished.is_(None)).order_by(runs.created, runs.id)
        return tuple(row.id for row in await self._base.rows(query))

    async def approvals(self, run_id: str) -> tuple[run_records.ApprovalRecord, ...]:
        """Return who approved or rejected what, in order."""
        approvals = tables.approvals
        query = (
            sa.select(approvals).where(approvals.c.run_id == run_id).order_by(approvals.c.position)
        )
        decisions = await self._base.rows(query)
        return tuple(rows.read(run_records.ApprovalRecord, row) for row in decisions)


def _summary(row: sa.Row[Any]) -> records.RunSummary:
    return records.RunSummary(rows.read(run_records.RunHead, row), row.version, row.origin)


def _conditions(wanted: records.RunFilter) -> Sequence[sa.ColumnElement[bool]]:
    runs = tables.runs.c
    conditions = rows.matching(tables.runs, commit=wanted.commit)
    if wanted.applications is not None:
        conditions.append(runs.application.in_(sorted(wanted.applications)))
    if wanted.statuses:
        conditions.append(runs.status.in_(sorted(wanted.statuses)))
    return conditions
