"""What analyses measured and concluded, in a database."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database, group_commit
from volary.store.sql.schema import fences, numbering, tables


class Findings:
    """See `protocol.Findings`."""

    def __init__(self, base: database.Database, limits: records.Limits) -> None:
        self._base = base
        self._limits = limits
        self._group = group_commit.GroupCommit(self._append_all, id, most=limits.group)

    async def append(
        self, findings: Sequence[records.Finding], *, fence: run_records.Fence | None
    ) -> None:
        """Keep findings in order; those of unknown runs are left out."""
        if findings:
            await self._group.keep(fences.Fenced(findings, fence))

    async def _append_all(
        self, writes: Sequence[fences.Fenced[Sequence[records.Finding]]]
    ) -> list[Exception | None]:
        async with self._base.writing() as connection:
            refused = await fences.refusals(connection, [write.fence for write in writes])
            rows = [
                _values(finding)
                for write, refusal in zip(writes, refused, strict=True)
                if refusal is None
                for finding in write.item
            ]
            most = self._limits.findings_per_task
            await numbering.append(connection, tables.findings, rows, most=most)
            return list(refused)

    @database.finished
    async def after(
        self,
        run_id: str,
        position: int,
        *,
        wanted: records.FindingFilter | None = None,
        limit: int = 500,
    ) -> tuple[records.StoredFinding, ...]:
        """Return a run's findings after `position`, those that are wanted, in order."""
        findings = tables.findings
        query = (
            sa.select(findings)
            .where(findings.c.run_id == run_id, findings.c.position > position)
            .order_by(findings.c.position)
            .limit(pagination.bounded(limit, self._limits.page))
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


def _values(finding: records.Finding) -> dict[str, Any]:
    return {
        "run_id": finding.run_id,
        "stage_id": finding.stage,
        "target": finding.target,
        "attempt": finding.attempt,
        "at": finding.at,
        "kind": finding.kind,
        "metric": finding.metric,
        "document": finding.document,
    }


def _kept(row: sa.Row[Any]) -> records.StoredFinding:
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
    return records.StoredFinding(row.position, row.number, finding)
