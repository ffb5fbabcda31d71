"""Records to rows and back: a column is named as the field of the record."""

from typing import Any, TypeVar

import sqlalchemy as sa

Values = dict[str, Any]
Row = sa.Row[Any]
Record = TypeVar("Record")


def names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a kind of record."""
    fields: tuple[str, ...] = kind.__match_args__
    return fields


def values(record: object, **others: object) -> Values:
    """Return the row of a record, with `others` of its columns."""
    return {name: getattr(record, name) for name in names(type(record))} | others


def read(kind: type[Record], row: Row) -> Record:
    """Read a record from a row, which may have more columns than the record has fields."""
    return kind(*[getattr(row, name) for name in names(kind)])


def matching(table: sa.Table, **wanted: str) -> list[sa.ColumnElement[bool]]:
    """Return conditions on columns; what is empty does not narrow the list."""
    return [table.c[name] == value for name, value in wanted.items() if value]
