"""Removes old records from a database, in small transactions so that nobody waits for long."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from volary.model import audit_chain, clocks, statuses
from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.repositories import audit
from volary.store.sql.schema import fences, tables

#: Rows deleted in one transaction.
_ROWS = 2_000
#: Runs deleted in one transaction, after their logs and events.
_RUNS = 20
#: Within that time after its end, clusters let go of what they keep for a way back.
_CONCLUDED_AFTER = timedelta(hours=1)


class Retention:
    """Removes old records; create one per `prune`."""

    def __init__(
        self, base: database.Database, fence: run_records.Fence | None, clock: clocks.Clock
    ) -> None:
        self._base = base
        self._fence = fence
        self._clock = clock

    async def prune(self, rule: records.Retention) -> records.Pruned:
        """Remove what `rule` allows, and give the space back."""
        runs, events, logs = await self._prune_runs(rule)
        # Of a run that nobody rolls back any more, also when its history stays.
        kept = tables.run_manifests
        await self._delete(kept, kept.c.run_id.in_(_old_runs(rule, of_any_age=True)))
        # Of a run that has ended nobody is sent anything any more, once it is concluded.
        concluded = self._clock.now() - _CONCLUDED_AFTER
        ended = sa.select(tables.runs.c.id).where(tables.runs.c.finished < concluded)
        await self._delete(tables.artifacts, tables.artifacts.c.run_id.in_(ended))
        entries = 0
        if rule.audit_before is not None:
            # Not what is written here about what was removed, whatever the clock says.
            newest = await self._base.row(sa.select(sa.func.max(tables.audit.c.position)))
            through = (newest[0] if newest else None) or 0
            while removed := await self._prune_audit(rule.audit_before, through):
                entries += removed
        pruned = records.Pruned(
            runs=runs,
            events=events,
            logs=logs,
            commits=await self._prune_commits(rule),
            requests=await self._delete(tables.requests, tables.requests.c.answered < rule.before),
            audit=entries,
        )
        await self._base.give_back_space()
        return pruned

    async def _prune_runs(self, rule: records.Retention) -> tuple[int, int, int]:
        runs = events = logs = 0
        old = [row.id for row in await self._base.rows(_old_runs(rule))]
        for start in range(0, len(old), _RUNS):
            chunk = old[start : start + _RUNS]
            # The large tables first: a cascade over all of it at once would take long.
            logs += await self._delete(tables.logs, tables.logs.c.run_id.in_(chunk))
            events += await self._delete(tables.events, tables.events.c.run_id.in_(chunk))
            await self._delete(tables.findings, tables.findings.c.run_id.in_(chunk))
            runs += await self._delete(tables.runs, tables.runs.c.id.in_(chunk))
        return runs, events, logs

    @database.finished
    async def _prune_audit(self, before: datetime, through: int) -> int:
        """Remove the oldest entries of the audit, a bounded number; returns how many.

        Only from its beginning, up to the first that is young enough. The entry that says so has
        the hash of the last one that went: with it the rest is still known to be whole.
        """
        entry = tables.audit.c
        kept = sa.select(entry.position).where(entry.at >= before).order_by(entry.position)
        async with self._base.writing() as connection:
            await fences.check(connection, self._fence)
            first_kept = (await connection.execute(kept.limit(1))).scalar()
            old = (
                sa.select(entry.position, entry.hash)
                .where(entry.position <= through)
                .order_by(entry.position)
                .limit(_ROWS)
            )
            if first_kept is not None:
                old = old.where(entry.position < first_kept)
            found = (await connection.execute(old)).all()
            if not found:
                return 0
            last = found[-1]
            await connection.execute(sa.delete(tables.audit).where(entry.position <= last.position))
            document = audit_chain.pruned_document(len(found), last.position, last.hash)
            noted = records.AuditRecord(
                self._clock.now(),
                audit_chain.PRUNED_BY,
                audit_chain.PRUNED,
                "ok",
                document=document,
            )
            await audit.append(connection, noted)
            return len(found)

    async def _prune_commits(self, rule: records.Retention) -> int:
        commits, applications = tables.commits.c, tables.applications.c
        ranked = sa.select(
            commits.application,
            commits.commit,
            commits.seen,
            commits.run_id,
            _rank(commits.application, commits.seen, commits.commit).label("rank"),
        ).subquery()
        running = sa.exists().where(
            applications.name == ranked.c.application,
            applications.running_commit == ranked.c.commit,
        )
        has_run = sa.exists().where(tables.runs.c.id == ranked.c.run_id)
        old = (
            sa.select(ranked.c.application, ranked.c.commit)
            .where(
                ranked.c.rank > rule.keep_runs_per_application,
                ranked.c.seen < rule.before,
                ~running,
                ~has_run,
            )
            .order_by(ranked.c.application, ranked.c.commit)
        )
        key = sa.tuple_(commits.application, commits.commit)
        return await self._delete(tables.commits, key.in_(old))

    async def _delete(self, table: sa.Table, condition: sa.ColumnElement[bool]) -> int:
        """Delete the rows in question, a bounded number in each transaction."""
        keys = list(table.primary_key.columns)
        some = sa.select(*keys).where(condition).limit(_ROWS)
        key = keys[0] if len(keys) == 1 else sa.tuple_(*keys)
        deleted = 0
        while True:
            count = await self._write(sa.delete(table).where(key.in_(some)))
            deleted += count
            if count < _ROWS:
                return deleted

    @database.finished
    async def _write(self, statement: sa.Delete) -> int:
        async with self._base.writing() as connection:
            await fences.check(connection, self._fence)
            return int((await connection.execute(statement)).rowcount)


def _rank(
    application: sa.ColumnElement[str],
    at: sa.ColumnElement[object],
    name: sa.ColumnElement[str],
) -> sa.ColumnElement[int]:
    """Count an application's rows from its newest, which is 1."""
    return sa.func.row_number().over(partition_by=application, order_by=(at.desc(), name.desc()))


def _old_runs(rule: records.Retention, *, of_any_age: bool = False) -> sa.Select[tuple[str]]:
    """Return runs that have ended, but for those that every application keeps."""
    runs = tables.runs.c
    succeeded = sa.case((runs.status == statuses.RunStatus.SUCCEEDED, 1), else_=0)
    ranked = sa.select(
        runs.id,
        runs.finished,
        runs.status,
        _rank(runs.application, runs.created, runs.id).label("rank"),
        # Counts the successes up to this run, from the newest: the first one has 1.
        sa.func.sum(succeeded)
        .over(partition_by=runs.application, order_by=(runs.created.desc(), runs.id.desc()))
        .label("successes"),
    ).subquery()
    newest_success = sa.and_(
        ranked.c.status == statuses.RunStatus.SUCCEEDED, ranked.c.successes == 1
    )
    return (
        sa.select(ranked.c.id)
        .where(
            ranked.c.finished.is_not(None) if of_any_age else ranked.c.finished < rule.before,
            ranked.c.rank > rule.keep_runs_per_application,
            ~newest_success,
        )
        .order_by(ranked.c.id)
    )
