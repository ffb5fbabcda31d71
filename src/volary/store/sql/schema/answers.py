"""Answers to requests, kept in the transaction of what they are about."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import fencing
from volary.store.sql.database import connections
from volary.store.sql.schema import tables

#: The answers of requests by their ids; None: it has none. What is not known is not among them.
Given = dict[str, run_records.RequestAnswer | None]

_GIVEN = (
    sa.select(tables.requests.c.id, tables.requests.c.answered, tables.requests.c.refusal)
    .where(tables.requests.c.id.in_(sa.bindparam("ids", expanding=True)))
    .order_by(tables.requests.c.id)  # locked in the same order by everybody
    .with_for_update()
)
_ANSWER = (
    sa.update(tables.requests)
    .where(tables.requests.c.id == sa.bindparam("request"), tables.requests.c.answered.is_(None))
    .values(answered=sa.bindparam("at_"), refusal=sa.bindparam("why"))
)


async def given(connection: connections.Connection, ids: Collection[str]) -> Given:
    """Return the answers of requests; nobody else answers one of them before the commit."""
    if not ids:
        return {}
    known = await connection.execute(_GIVEN, {"ids": sorted(ids)})
    return {
        row.id: run_records.RequestAnswer(row.id, row.answered, row.refusal)
        if row.answered is not None
        else None
        for row in known
    }


def is_repeated(answers: Sequence[run_records.RequestAnswer], known: Given) -> bool:
    """Say whether a write with these answers was kept before, as it gave the very same."""
    return bool(answers) and all(known.get(answer.request) == answer for answer in answers)


def refusal(
    answers: Sequence[run_records.RequestAnswer], known: Given
) -> fencing.RequestAnswered | None:
    """Return why a write with these answers may not happen; None: it may."""
    for answer in answers:
        if answer.request not in known or known[answer.request] is not None:
            return fencing.RequestAnswered(f"request {answer.request} was answered before")
    return None


async def take(
    connection: connections.Connection, answers: Sequence[run_records.RequestAnswer]
) -> bool:
    """Write the answers of a write that is one transaction; False: it was kept before.

    Raises:
        fencing.RequestAnswered: A request has another answer, so the write may not happen.
    """
    known = await given(connection, [answer.request for answer in answers])
    if is_repeated(answers, known):
        return False
    if (refused := refusal(answers, known)) is not None:
        raise refused
    await keep(connection, answers)
    return True


async def keep(
    connection: connections.Connection, answers: Sequence[run_records.RequestAnswer]
) -> None:
    """Write answers to requests that have none."""
    if answers:
        await connection.execute(
            _ANSWER,
            [
                {"request": answer.request, "at_": answer.at, "why": answer.refusal}
                for answer in answers
            ],
        )
