"""The project files of a repository, as they were read last, in a database."""

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, rows, tables


class ProjectFiles:
    """The project files of the repository that has them; of no other anything is kept."""

    def __init__(self, base: database.Database) -> None:
        self._base = base

    async def get(self, source: str) -> records.ProjectFilesRecord | None:
        """Return what is kept of a source; None: nothing."""
        files = tables.project_files
        row = await self._base.row(sa.select(files).where(files.c.source == source))
        return rows.read(records.ProjectFilesRecord, row) if row else None

    @database.finished
    async def keep(
        self, found: records.ProjectFilesRecord, *, fence: run_records.Fence | None
    ) -> None:
        """Keep the files of a source, and nothing of others any more.

        Raises:
            fencing.LeaseLost: Another process took the lease over.
        """
        files = tables.project_files
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(sa.delete(files).where(files.c.source != found.source))
            await connection.execute(database.upsert(connection, files), [rows.values(found)])
