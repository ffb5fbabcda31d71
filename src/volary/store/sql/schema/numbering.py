"""What tables of many rows per task share: numbers per task, and only the newest are kept.

The database itself counts, in the statement that writes: a batch of the rows of a hundred tasks
is two statements, not a question for each task before them.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from volary.store.sql.database import connections
from volary.store.sql.schema import tables

#: What says whose a row is.
_TASK = ("run_id", "stage", "target")
#: What the database fills in.
_COUNTED = ("position", "number")


async def append(
    connection: connections.Connection,
    table: sa.Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    most: int,
) -> None:
    """Write rows in order, each with its task's next number; those of unknown runs are left out.

    Where the table has keys, a row whose key the task has already is left out, too.

    Args:
        connection: In a transaction.
        table: With the columns of a task, `position` and `number`.
        rows: The columns by name; what is counted is not taken from there.
        most: Rows kept of each task; the oldest beyond that are deleted.
    """
    if not rows:
        return
    await connection.execute(
        _insertion(table),
        [
            {_own(name): value for name, value in row.items() if name not in _COUNTED}
            for row in rows
        ],
    )
    tasks = dict.fromkeys(tuple(row[name] for name in _TASK) for row in rows)
    kept = {_own("most"): most}
    await connection.execute(
        _trimming(table),
        [dict(zip(map(_own, _TASK), task, strict=True)) | kept for task in tasks],
    )


@functools.cache
def _insertion(table: sa.Table) -> sa.Insert:
    names = [column.name for column in table.columns if column.name not in _COUNTED]
    given = [_given(table, name).label(name) for name in names]
    following = (_last(table) + 1).label("number")
    runs = tables.runs.c
    one = sa.select(*given, following).where(runs.id == _given(table, "run_id"))
    if "key" in table.c:
        one = one.where(_is_new(table))
    return sa.insert(table).from_select([*names, "number"], one)


@functools.cache
def _trimming(table: sa.Table) -> sa.Delete:
    columns = table.c
    too_old = columns.number <= _last(table) - sa.bindparam(_own("most"), type_=sa.BigInteger)
    return sa.delete(table).where(
        *(columns[name] == _given(table, name) for name in _TASK), too_old
    )


def _is_new(table: sa.Table) -> sa.ColumnElement[bool]:
    """Say whether the task has no row of the given key yet; without a key there never is one."""
    kept = table.alias()
    same = (kept.c[name] == _given(table, name) for name in (*_TASK, "key"))
    # As the index has it.
    return ~sa.select(kept.c.key).where(*same, kept.c.key != "").exists()


def _last(table: sa.Table) -> sa.ColumnElement[int]:
    """Return the number of the task's last row; 0 before the first."""
    rows = table.alias()
    mine = (rows.c[name] == _given(table, name) for name in _TASK)
    return sa.select(sa.func.coalesce(sa.func.max(rows.c.number), 0)).where(*mine).scalar_subquery()


def _given(table: sa.Table, name: str) -> sa.BindParameter[Any]:
    return sa.bindparam(_own(name), type_=table.c[name].type)


def _own(name: str) -> str:
    """Return the parameter's name: the column's own is the insert's."""
    return f"row_{name}"
