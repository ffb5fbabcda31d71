"""Damages what is stored as nobody should: by writing into the database beside the store."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from volary.store import factory

#: JSON that cannot be read, or is none of ours, by what is wrong with it.
DOCUMENTS: Mapping[str, str] = {
    "a number without end": '{"reason": ' + "9" * 5000 + "}",
    "half a text": '{"reason": "it was ',
    "nothing": "",
    "another type": '["reason"]',
    "nested without end": '{"a":' * 5000 + "1" + "}" * 5000,
}


async def damage(address: str, table: str, column: str, value: object, **where: object) -> None:
    """Put a value into a column of the rows that have certain other values."""
    conditions = " AND ".join(f'"{name}" = :{name}' for name in where)
    statement = f'UPDATE {table} SET "{column}" = :damaged WHERE {conditions}'
    async with _connected(address) as connection:
        changed = await connection.execute(sa.text(statement), {"damaged": value, **where})
        assert changed.rowcount, "there is no such row"


async def stored(address: str, table: str, column: str, **where: object) -> object:
    """Return a column of the one row that has certain other values, as the database has it."""
    conditions = " AND ".join(f'"{name}" = :{name}' for name in where)
    query = f'SELECT "{column}" FROM {table} WHERE {conditions}'
    async with _connected(address) as connection:
        return (await connection.execute(sa.text(query), where)).scalar_one()


@asynccontextmanager
async def _connected(address: str) -> AsyncIterator[sa_async.AsyncConnection]:
    engine = sa_async.create_async_engine(factory.parse(address))
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()
