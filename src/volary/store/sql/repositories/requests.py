"""What people asked for, in a database."""

from typing import Any

import sqlalchemy as sa

from volary.model import clocks
from volary.model.runs import run_records
from volary.store import pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, tables


class Requests:
    """See `protocol.Requests`."""

    def __init__(
        self, base: database.Database, limits: records.Limits, clock: clocks.Clock
    ) -> None:
        self._base = base
        self._limits = limits
        self._clock = clock

    @database.finished
    async def ask(self, request: records.RequestRecord) -> bool:
        """Keep a request."""
        names = ("id", "kind", "at", "application", "run_id", "document", "answered", "refusal")
        values = {name: getattr(request, name) for name in names}
        async with self._base.writing() as connection:
            done = await connection.execute(
                database.upsert(connection, tables.requests, update=()),
                values | {"actor": request.by},
            )
            return done.rowcount == 1

    @database.finished
    async def unanswered(self, *, limit: int = 100) -> tuple[records.RequestRecord, ...]:
        """Return requests that wait for an answer, the oldest first."""
        requests = tables.requests.c
        query = (
            sa.select(tables.requests)
            .where(requests.answered.is_(None))
            .order_by(requests.at, requests.id)
            .limit(pagination.bounded(limit, self._limits.page))
        )
        async with self._base.reading() as connection:
            return tuple(map(_record, await connection.execute(query)))

    @database.finished
    async def answer(
        self, request_id: str, *, refusal: str, fence: run_records.Fence | None
    ) -> None:
        """Say that it was taken or why not; a second answer is ignored."""
        requests = tables.requests
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(
                sa.update(requests)
                .where(requests.c.id == request_id, requests.c.answered.is_(None))
                .values(answered=self._clock.now(), refusal=refusal)
            )

    @database.finished
    async def get(self, request_id: str) -> records.RequestRecord | None:
        """Return it."""
        query = sa.select(tables.requests).where(tables.requests.c.id == request_id)
        async with self._base.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return _record(row) if row else None


def _record(row: sa.Row[Any]) -> records.RequestRecord:
    values = row._asdict()
    return records.RequestRecord(by=values.pop("actor"), **values)
