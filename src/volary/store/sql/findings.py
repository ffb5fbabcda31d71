"""What analyses measured and concluded, in a database."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model import record
from volary.store import pages, records
from volary.store.sql import database, fences, numbering, tables


class Findings:
    """See `protocol.Findings`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits

    @database.finished
    async def append(
        self, findings: Sequence[records.Finding], *, fence: record.Fence | None
    ) -> None:
        """Keep findings in order; those of unknown runs are left out."""
        if not findings:
            return
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            known = await numbering.known(connection, (each.run_id for each in findings))
            kept = [each for each in findings if each.run_id in known]
            if kept:
                await self._append(connection, kept)

    async def _append(
        self, connection: sa_async.AsyncConnection, findings: Sequence[records.Finding]
    ) -> None:
        tasks = dict.fromkeys(map(_task, findings))
        last = Counter(
            {task: await numbering.last(connection, tables.findings, task) for task in tasks}
        )
        values = []
        for each in findings:
            last[_task(each)] += 1
            values.append(_values(each, last[_task(each)]))
        await connection.execute(sa.insert(tables.findings), values)
        await numbering.trim(connection, tables.findings, last, self._limits.findings_per_task)

    @database.finished
    async def after(
        self,
        run_id: str,
        position: int,
        *,
        wanted: records.FindingFilter | None = None,
        limit: int = 500,
    ) -> tuple[records.KeptFinding, ...]:
        """Return a run's findings after `position`, those that are wanted, in order."""
        findings = tables.findings
        query = (
            sa.select(findings)
            .where(findings.c.run_id == run_id, findings.c.position > position)
            .order_by(findings.c.position)
            .limit(pages.bounded(limit, self._limits.page))
        )
        chosen = wanted or records.FindingFilter()
        for column, value in (
            (findings.c.stage_id, chosen.stage),
            (findings.c.target, chosen.target),
            (findings.c.metric, chosen.metric),
            (findings.c.kind, chosen.kind),
        ):
            if value:
                query = query.where(column == value)
        async with self._base.reading() as connection:
            return tuple(map(_kept, await connection.execute(query)))


def _values(finding: records.Finding, number: int) -> dict[str, Any]:
    return {
        "run_id": finding.run_id,
        "stage_id": finding.stage,
        "target": finding.target,
        "attempt": finding.attempt,
        "number": number,
        "at": finding.at,
        "kind": finding.kind,
        "metric": finding.metric,
        "document": finding.document,
    }


def _kept(row: sa.Row[Any]) -> records.KeptFinding:
    finding = records.Finding(
        run_id=row.run_id,
        stage=row.stage_id,
        target=row.target,
        attempt=row.attempt,
        at=row.at,
        kind=row.kind,
        metric=row.metric,
        document=row.document,
    )
    return records.KeptFinding(row.position, row.number, finding)


def _task(finding: records.Finding) -> numbering.Task:
    return finding.run_id, finding.stage, finding.target
