"""The clusters as they were seen last, in a database."""

from collections.abc import Sequence

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import answers as request_answers
from volary.store.sql.schema import fences, rows, tables

#: Clusters named in one statement.
_TOGETHER = 500


class Clusters:
    """The clusters as they were seen last. There are as many as the fleet has, and no more."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def keep(
        self,
        clusters: Sequence[records.ClusterRecord],
        *,
        fence: run_records.Fence | None,
        answers: Sequence[run_records.RequestAnswer] = (),
    ) -> None:
        """Keep clusters, new or changed, and answer what led to it, all of them or none.

        With answers this is safe to repeat: what was kept with the very same answers is not kept
        again.

        Raises:
            fencing.RequestAnswered: A request has another answer, so nothing is kept.
            fencing.LeaseLost: Another process took the lease over.
        """
        unique = {cluster.name: cluster for cluster in clusters}
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            if not await request_answers.take(connection, answers):
                return
            if unique:
                put = database.upsert(connection, tables.clusters)
                await connection.execute(put, [rows.values(cluster) for cluster in unique.values()])

    async def list(self) -> tuple[records.ClusterRecord, ...]:
        """Return all that are known, by name."""
        known = await self._base.rows(sa.select(tables.clusters).order_by(tables.clusters.c.name))
        return tuple(rows.read(records.ClusterRecord, row) for row in known)

    @database.finished
    async def forget(self, names: Sequence[str], *, fence: run_records.Fence | None) -> None:
        """Delete clusters; names that are not known are ignored."""
        clusters = tables.clusters
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            for start in range(0, len(names), _TOGETHER):
                some = list(names[start : start + _TOGETHER])
                await connection.execute(sa.delete(clusters).where(clusters.c.name.in_(some)))
