"""Runs in a database."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from volary.model import statuses
from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import rows, tables

Part = TypeVar("Part")
#: Of what cannot be read.
_MOST_TOLD = 3
#: Ids and names in one query: databases bound how many values it may have.
_AT_ONCE = 500

#: What lists show; no documents.
_SUMMARY: tuple[sa.Column[Any], ...] = tuple(
    tables.runs.c[name] for name in (*rows.names(run_records.RunHead), "version", "origin")
)

# Made once: that takes longer than sending them.
_RUN = sa.select(tables.runs).where(tables.runs.c.id == sa.bindparam("run_id"))
_STAGES = (
    sa.select(tables.stages)
    .where(tables.stages.c.run_id == sa.bindparam("run_id"))
    .order_by(tables.stages.c.position)
)
_TASKS = (
    sa.select(tables.tasks)
    .join(
        tables.stages,
        sa.and_(
            tables.tasks.c.run_id == tables.stages.c.run_id,
            tables.tasks.c.stage == tables.stages.c.id,
        ),
    )
    .where(tables.tasks.c.run_id == sa.bindparam("run_id"))
    .order_by(tables.stages.c.position, tables.tasks.c.position)
)
#: The stage in which a run takes back what it did.
_ROLLBACK = "rollback"
#: What figures are made of.
_ENDED = (
    sa.select(
        *(
            tables.runs.c[name]
            for name in ("id", "application", "status", "commit", "created", "started", "finished")
        ),
        sa.type_coerce(tables.runs.c.origin, sa.Text()).label("origin"),
        sa.literal("").label("kind"),
        tables.commits.c.seen,
        tables.stages.c.started.label("rolled_back_from"),
    )
    .outerjoin(
        tables.commits,
        sa.and_(
            tables.commits.c.application == tables.runs.c.application,
            tables.commits.c.commit == tables.runs.c.commit,
        ),
    )
    .outerjoin(
        tables.stages,
        sa.and_(tables.stages.c.run_id == tables.runs.c.id, tables.stages.c.id == _ROLLBACK),
    )
    .order_by(tables.runs.c.finished.desc(), tables.runs.c.created.desc(), tables.runs.c.id.desc())
)
_NEWEST_END = (
    sa.select(tables.runs.c.finished, sa.func.count().label("number"))
    .where(
        tables.runs.c.finished
        == sa.select(sa.func.max(tables.runs.c.finished)).select_from(tables.runs).scalar_subquery()
    )
    .group_by(tables.runs.c.finished)
)
_UNFINISHED = (
    sa.select(tables.runs.c.id)
    .where(tables.runs.c.finished.is_(None))
    .order_by(tables.runs.c.created, tables.runs.c.id)
)


class Runs:
    """Runs as they were kept last; `Store.keep_transition` changes them."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def load(self, run_id: str) -> run_records.StoredRun | None:
        """Return the whole run at one moment; None when there is none."""
        named = {"run_id": run_id}
        async with self._base.reading() as connection:
            run = (await connection.execute(_RUN, named)).one_or_none()
            if run is None:
                return None
            of_stages = await connection.execute(_STAGES, named)
            of_tasks = await connection.execute(_TASKS, named)
            head, trouble = _head(run)
            (document, origin, clusters), broken = rows.documents(
                run, "document", "origin", "clusters"
            )
            stages, of_a_stage = _parts(run_records.StageRecord, of_stages)
            tasks, of_a_task = _parts(run_records.TaskRecord, of_tasks)
            return run_records.StoredRun(
                head=head,
                version=run.version,
                last_event=run.last_event,
                document=document,
                origin=origin,
                clusters=clusters,
                stages=stages,
                tasks=tasks,
                unreadable=rows.joined(trouble, broken, of_a_stage, of_a_task),
            )

    async def manifests(self, run_id: str) -> bytes:
        """Return what the run was planned to apply, as it was packed; empty: it is not kept."""
        kept = tables.run_manifests
        row = await self._base.row(sa.select(kept.c.body).where(kept.c.run_id == run_id))
        return bytes(row.body) if row else b""

    async def has_target(self, run_id: str, target: str) -> bool:
        """Say whether a cluster is a target of a run."""
        targets = tables.run_targets.c
        query = sa.select(targets.target).where(targets.run_id == run_id, targets.target == target)
        return await self._base.row(query) is not None

    async def has_task_under_way(self, run_id: str, stage: str, target: str, attempt: int) -> bool:
        """Say whether this attempt at a task is being carried out now."""
        tasks = tables.tasks.c
        query = sa.select(tasks.target).where(
            tasks.run_id == run_id,
            tasks.stage == stage,
            tasks.target == target,
            tasks.attempt == attempt,
            tasks.status == statuses.TaskStatus.RUNNING,
        )
        return await self._base.row(query) is not None

    async def summary(self, run_id: str) -> records.RunSummary | None:
        """Return what lists show of a run; None when there is none."""
        row = await self._base.row(sa.select(*_SUMMARY).where(tables.runs.c.id == run_id))
        return _summary(row) if row else None

    async def summaries(self, run_ids: Collection[str]) -> dict[str, records.RunSummary]:
        """Return what lists show of some runs, by id; those that there are not are left out."""
        runs, wanted = tables.runs.c, sorted(run_ids)
        found: dict[str, records.RunSummary] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            ids = wanted[first : first + _AT_ONCE]
            for row in await self._base.rows(sa.select(*_SUMMARY).where(runs.id.in_(ids))):
                found[row.id] = _summary(row)
        return found

    async def last_good_ends(self, applications: Collection[str]) -> dict[str, datetime]:
        """Return when the last run of each application ended well; where none did is left out."""
        runs, wanted = tables.runs.c, sorted(applications)
        found: dict[str, datetime] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            query = (
                sa.select(runs.application, sa.func.max(runs.finished).label("finished"))
                .where(
                    runs.application.in_(wanted[first : first + _AT_ONCE]),
                    runs.status.in_(sorted(statuses.GOOD_ENDS)),
                )
                .group_by(runs.application)
            )
            ends = {row.application: row.finished for row in await self._base.rows(query)}
            found |= {name: end for name, end in ends.items() if isinstance(end, datetime)}
        return found

    async def list(
        self, wanted: records.RunFilter, *, cursor: str = "", limit: int = 50
    ) -> records.Page[records.RunSummary]:
        """Return runs, the newest first."""
        runs = tables.runs.c
        limit = pagination.bounded(limit, self._limits.page)
        query = sa.select(*_SUMMARY).where(*_conditions(wanted))
        place: tuple[sa.Column[Any], sa.Column[Any]] = (runs.created, runs.id)
        if wanted.target:
            # Along the cluster's own index: of a cluster with few runs no others are looked at.
            of_target = tables.run_targets
            query = query.join(of_target, of_target.c.run_id == runs.id)
            query = query.where(of_target.c.target == wanted.target)
            place = (of_target.c.created, of_target.c.run_id)
        if after := pagination.by_time(cursor):
            query = query.where(sa.tuple_(*place) < sa.tuple_(*after))
        query = query.order_by(*(column.desc() for column in place)).limit(limit + 1)
        summaries = [_summary(row) for row in await self._base.rows(query)]
        return pagination.cut(summaries, limit, lambda item: (item.head.created, item.head.id))

    async def unfinished(self) -> tuple[str, ...]:
        """Return the ids of runs that have not ended, the oldest first."""
        return tuple(row.id for row in await self._base.rows(_UNFINISHED))

    async def ended(
        self, since: datetime, *, applications: Collection[str] | None = None, most: int
    ) -> tuple[tuple[records.EndedRun, ...], int]:
        """Return the newest `most` runs that ended since then, in the order they ended.

        Also returns how many older ones there are besides. What cannot be read is left out.

        Args:
            since: The earliest end.
            applications: Only runs of these; None: of every one.
            most: How many at most.
        """
        runs = tables.runs.c
        conditions = [runs.finished >= since]
        if applications is not None:
            conditions.append(runs.application.in_(sorted(applications)))
        found = await self._base.rows(_ENDED.where(*conditions).limit(most))
        omitted = 0
        if len(found) == most:
            count = sa.select(sa.func.count()).select_from(tables.runs).where(*conditions)
            row = await self._base.row(count)
            omitted = (row[0] if row else most) - most
        ended = (_ended(row) for row in reversed(found))
        return tuple(run for run in ended if run is not None), omitted

    async def newest_end(self) -> tuple[datetime, int] | None:
        """Return when a run ended last, and how many did then; None: none has ended."""
        row = await self._base.row(_NEWEST_END)
        return (row.finished, row.number) if row else None

    async def approvals(self, run_id: str) -> tuple[run_records.ApprovalRecord, ...]:
        """Return who approved or rejected what, in order."""
        approvals = tables.approvals
        query = (
            sa.select(approvals).where(approvals.c.run_id == run_id).order_by(approvals.c.position)
        )
        decisions = await self._base.rows(query)
        return rows.read_all(run_records.ApprovalRecord, decisions, self._base.set_aside)


def _summary(row: sa.Row[Any]) -> records.RunSummary:
    head, trouble = _head(row)
    (origin,), broken = rows.documents(row, "origin")
    return records.RunSummary(head, row.version, origin, rows.joined(trouble, broken))


class _Origin(msgspec.Struct):
    """What figures need of an origin; the rest of it is passed over unread."""

    kind: str = ""


_read_origin = msgspec.json.Decoder(_Origin)


def _ended(row: sa.Row[Any]) -> records.EndedRun | None:
    """Return a run that has ended; None: it cannot be read."""
    try:
        kind = _read_origin.decode(row.origin).kind
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None
    run, why = rows.recover(records.EndedRun, row)
    return None if why else replace(run, kind=kind)


def _head(row: sa.Row[Any]) -> tuple[run_records.RunHead, str]:
    """Return the columns of a run, and why they cannot be read; empty: they can be.

    One whose state is not known has not ended, unless it says when that was.
    """
    is_over = row.finished is not None
    status = statuses.RunStatus.FAILED if is_over else statuses.RunStatus.RUNNING
    instead = {"status": status, "finished": rows.EPOCH if is_over else None}
    return rows.recover(run_records.RunHead, row, **instead)


def _parts(kind: type[Part], found: Iterable[sa.Row[Any]]) -> tuple[tuple[Part, ...], str]:
    """Return stages or tasks as far as they can be read, and why others cannot be."""
    parts, troubles = [], []
    for row in found:
        part, why = rows.recover(kind, row)
        parts.append(part)
        if why:
            troubles.append(str(rows.described(kind, row, why)))
    return tuple(parts), "; ".join(troubles[:_MOST_TOLD])


def _conditions(wanted: records.RunFilter) -> Sequence[sa.ColumnElement[bool]]:
    runs = tables.runs.c
    conditions = rows.matching(tables.runs, commit=wanted.commit, by=wanted.by)
    if wanted.applications is not None:
        conditions.append(runs.application.in_(sorted(wanted.applications)))
    if wanted.statuses:
        conditions.append(runs.status.in_(sorted(wanted.statuses)))
    return conditions
