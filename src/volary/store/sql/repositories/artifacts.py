"""What agents are sent for the tasks of runs, in a database."""

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, rows, tables


class Artifacts:
    """Sealed artifacts by the hash of their bytes. They go soon after their runs have ended."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    @database.finished
    async def keep(
        self, artifact: records.ArtifactRecord, body: bytes, *, fence: run_records.Fence | None
    ) -> None:
        """Keep an artifact; the same one twice is one.

        Raises:
            fencing.LeaseLost: Another process took the lease over.
        """
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            put = database.upsert(connection, tables.artifacts)
            await connection.execute(put, rows.values(artifact, body=body))

    async def body(self, digest: str, target: str) -> bytes | None:
        """Return the bytes of an artifact for a cluster; None: there is no such one."""
        table = tables.artifacts.c
        query = sa.select(table.body).where(table.digest == digest, table.target == target)
        row = await self._base.row(query)
        return None if row is None else bytes(row.body)

    async def newest(self, run_id: str, target: str) -> records.ArtifactRecord | None:
        """Return the artifact of a run for a cluster that was kept last; None: there is none."""
        table = tables.artifacts
        query = (
            sa.select(*(table.c[name] for name in rows.names(records.ArtifactRecord)))
            .where(table.c.run_id == run_id, table.c.target == target)
            .order_by(table.c.created.desc(), table.c.digest)
            .limit(1)
        )
        row = await self._base.row(query)
        return None if row is None else rows.read(records.ArtifactRecord, row)
