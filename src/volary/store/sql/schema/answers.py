"""Answers to requests, kept in the transaction of what they are about."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.model.runs import run_records
from volary.store import fencing
from volary.store.sql.schema import tables


async def unanswered(connection: sa_async.AsyncConnection, ids: Collection[str]) -> frozenset[str]:
    """Return which requests have no answer; nobody else answers one of them before the commit."""
    if not ids:
        return frozenset()
    requests = tables.requests.c
    known = await connection.execute(
        sa.select(requests.id)
        .where(requests.id.in_(sorted(ids)), requests.answered.is_(None))
        .order_by(requests.id)  # locked in the same order by everybody
        .with_for_update()
    )
    return frozenset(row.id for row in known)


def refusal(
    answers: Sequence[run_records.RequestAnswer], open_ids: Collection[str]
) -> fencing.RequestAnswered | None:
    """Return why a write with these answers may not happen; None: it may."""
    for answer in answers:
        if answer.request not in open_ids:
            return fencing.RequestAnswered(f"request {answer.request} was answered before")
    return None


async def keep(
    connection: sa_async.AsyncConnection, answers: Sequence[run_records.RequestAnswer]
) -> None:
    """Write answers to requests that have none."""
    requests = tables.requests
    if answers:
        await connection.execute(
            sa.update(requests)
            .where(requests.c.id == sa.bindparam("request"), requests.c.answered.is_(None))
            .values(answered=sa.bindparam("at_"), refusal=sa.bindparam("why")),
            [
                {"request": answer.request, "at_": answer.at, "why": answer.refusal}
                for answer in answers
            ],
        )
