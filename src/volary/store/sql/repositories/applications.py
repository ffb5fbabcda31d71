"""Applications in a database."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import pagination, records, unreadable
from volary.store.sql.database import connections, database, group_commit
from volary.store.sql.repositories import commits as commit_rows
from volary.store.sql.schema import answers as request_answers
from volary.store.sql.schema import fences, rows, tables


@dataclass(frozen=True, slots=True)
class _Change:
    """An application as it is to be kept, with what is kept in the same transaction."""

    record: records.ApplicationRecord
    commits: Sequence[records.CommitRecord]
    answers: Sequence[run_records.RequestAnswer]


_Write = fences.Fenced[_Change]

# Made once: they are sent with every change of an application.
_ONE = sa.select(tables.applications).where(tables.applications.c.name == sa.bindparam("of_name"))
_KNOWN = (
    sa.select(tables.applications)
    .where(tables.applications.c.name.in_(sa.bindparam("names", expanding=True)))
    .order_by(tables.applications.c.name)  # locked in the same order by everybody
    .with_for_update()
)
_WITHOUT_LABELS = sa.delete(tables.application_labels).where(
    tables.application_labels.c.application == sa.bindparam("of_application")
)


class Applications:
    """The applications that are known."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group_commit.GroupCommit(
            self._keep_all, lambda write: write.item.record.name, most=limits.group
        )

    async def keep(
        self,
        application: records.ApplicationRecord,
        *,
        fence: run_records.Fence | None,
        commits: Sequence[records.CommitRecord] = (),
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> int:
        """Keep it with commits of it, new or changed, and answer what led to it.

        Returns its new version. The time a commit was seen first stays.

        What is the same as before, apart from `updated`, keeps its version. With answers this is
        safe to repeat: what was kept with the very same answers is not kept again.

        Raises:
            fencing.RequestAnswered: A request has another answer, so nothing is kept.
            fencing.LeaseLost: Another process took the lease over.
            unreadable.UnreadableError: What is there cannot be read, so it is not written over.
        """
        return await self._group.keep(fences.Fenced(_Change(application, commits, answers), fence))

    async def _keep_all(self, writes: Sequence[_Write]) -> list[int | Exception]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, writes)
            known = await _known(connection, [write.item.record.name for write in writes])
            given = await request_answers.given(
                connection, [answer.request for write in writes for answer in write.item.answers]
            )
            results: list[int | Exception] = []
            changed: list[records.ApplicationRecord] = []
            commits: list[records.CommitRecord] = []
            answered: list[run_records.RequestAnswer] = []
            for write, lost in zip(writes, refused, strict=True):
                record, answers = write.item.record, write.item.answers
                before = known.get(record.name)
                version = before.version if before else 0
                is_repeated = request_answers.is_repeated(answers, given)
                refusal = (
                    lost
                    or _why_kept(before)
                    or (None if is_repeated else request_answers.refusal(answers, given))
                )
                if refusal is None and not is_repeated:
                    answered += answers
                    commits += write.item.commits
                    given |= {answer.request: answer for answer in answers}
                    if before is None or not records.is_same(before, record):
                        version += 1
                        changed.append(replace(record, version=version))
                results.append(refusal or version)
            if changed:
                await _write(connection, changed)
            await commit_rows.write(connection, commits)
            await request_answers.keep(connection, answered)
            return results

    async def get(self, name: str) -> records.ApplicationRecord | None:
        """Return it; None when it was never known."""
        row = await self._base.row(_ONE, {"of_name": name})
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
    async def forget(
        self,
        name: str,
        *,
        fence: run_records.Fence | None,
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> None:
        """Delete it with its commits and task state, and answer what led to that.

        Its runs are history and stay, and so do the requests about it. A name that is not known
        is ignored. With answers this is safe to repeat, as `keep` is.

        Raises:
            fencing.RequestAnswered: A request has another answer, so nothing is deleted.
            fencing.LeaseLost: Another process took the lease over.
        """
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            if not await request_answers.take(connection, answers):
                return
            for table in (tables.commits, tables.application_states):
                await connection.execute(sa.delete(table).where(table.c.application == name))
            applications = tables.applications
            await connection.execute(sa.delete(applications).where(applications.c.name == name))


async def _known(
    connection: connections.Connection, names: Sequence[str]
) -> dict[str, records.ApplicationRecord]:
    known = await connection.execute(_KNOWN, {"names": sorted(names)})
    return {row.name: rows.read(records.ApplicationRecord, row) for row in known}


def _why_kept(before: records.ApplicationRecord | None) -> unreadable.UnreadableError | None:
    """Return why what is there must not be written over; None: it may be."""
    if before is None or not before.unreadable:
        return None
    row = unreadable.UnreadableRow("application", before.name, before.unreadable)
    return unreadable.UnreadableError(row)


async def _write(
    connection: connections.Connection, changed: Sequence[records.ApplicationRecord]
) -> None:
    labels = tables.application_labels
    await connection.execute(
        database.upsert(connection, tables.applications),
        [rows.values(application, labels=dict(application.labels)) for application in changed],
    )
    await connection.execute(
        _WITHOUT_LABELS,
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
        tables.applications,
        status=wanted.status,
        repository=wanted.repository,
        project=wanted.project,
    )
    if not wanted.with_removed:
        conditions.append(applications.removed.is_(None))
    return conditions
