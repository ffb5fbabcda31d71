"""What people asked for, in a database."""

from datetime import datetime

import sqlalchemy as sa

from volary.model import clocks, errors
from volary.model.runs import run_records
from volary.store import encoding, pagination, records
from volary.store.sql.database import database
from volary.store.sql.schema import fences, rows, tables

#: What a leader asks for every few seconds; made once.
_UNANSWERED = (
    sa.select(tables.requests)
    .where(tables.requests.c.answered.is_(None), tables.requests.c.position > sa.bindparam("after"))
    .order_by(tables.requests.c.position)
    .limit(sa.bindparam("most", type_=sa.Integer))
)


class Requests:
    """What people asked for, through whichever process, for the leader."""

    def __init__(
        self, base: database.Database, limits: records.Limits, clock: clocks.Clock
    ) -> None:
        self._base = base
        self._limits = limits
        self._clock = clock

    @database.finished
    async def ask(self, request: records.RequestRecord) -> bool:
        """Keep a request; False when one with its id is there already (a repetition).

        It comes after those that were kept before, by whichever clock they were taken in.

        Raises:
            errors.UserError: It could not be read again.
        """
        if not encoding.is_readable(request.document):
            raise errors.user_error(
                "the request cannot be kept: a number in it has too many digits, or it is nested"
                " too deeply",
                hint="a number has at most 4300 digits",
            )
        async with self._base.writing() as connection:
            put = database.insert_once(connection, tables.requests, key="id")
            values = rows.values(request)
            del values["position"]
            return (await connection.execute(put, values)).rowcount == 1

    async def unanswered(
        self, *, after: int = 0, limit: int = 100
    ) -> tuple[records.RequestRecord, ...]:
        """Return requests that wait for an answer, in the order in which they were kept.

        `after` is the position to go on from.
        """
        most = pagination.bounded(limit, self._limits.page)
        waiting = await self._base.rows(_UNANSWERED, {"after": after, "most": most})
        return tuple(rows.read(records.RequestRecord, row) for row in waiting)

    @database.finished
    async def answer(
        self, request_id: str, *, refusal: str, fence: run_records.Fence | None
    ) -> None:
        """Say that it was taken (empty `refusal`) or why not; a second answer is ignored."""
        requests = tables.requests
        async with self._base.writing() as connection:
            await fences.check(connection, fence)
            await connection.execute(
                sa.update(requests)
                .where(requests.c.id == request_id, requests.c.answered.is_(None))
                .values(answered=self._clock.now(), refusal=refusal)
            )

    async def answer_of(self, request_id: str) -> run_records.RequestAnswer | None:
        """Return its answer; None: it has none yet, or there is no such request."""
        requests = tables.requests.c
        query = sa.select(requests.answered, requests.refusal).where(
            requests.id == request_id, requests.answered.is_not(None)
        )
        row = await self._base.row(query)
        if row is None:
            return None
        # That there is an answer counts, also where its time cannot be read.
        at = row.answered if isinstance(row.answered, datetime) else rows.EPOCH
        return run_records.RequestAnswer(request_id, at, row.refusal)

    async def get(self, request_id: str) -> records.RequestRecord | None:
        """Return it; None when there is none."""
        query = sa.select(tables.requests).where(tables.requests.c.id == request_id)
        row = await self._base.row(query)
        return rows.read(records.RequestRecord, row) if row else None
