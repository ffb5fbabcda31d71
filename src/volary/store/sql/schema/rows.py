"""Records to rows and back: a column is named as the field of the record.

A row may hold what cannot be read: half a JSON text, a number without end, a word that nobody
knows, a value of another type. Who put it there is not known, so it is neither guessed at nor
written over. A record that has a field for it says why; of any other record reading is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import sqlalchemy as sa

from volary.model.runs import run_records
from volary.store import records, unreadable
from volary.store.sql.schema import column_types

Values = dict[str, Any]
Row = sa.Row[Any]
Record = TypeVar("Record")

#: The field of a record that says why it cannot be read.
_WHY = "unreadable"
#: Of what cannot be read: before anything that is kept.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: What a row is of, and the columns that name it.
_NAMES: Mapping[type[Any], tuple[str, tuple[str, ...]]] = {
    records.ApiTokenRecord: ("API token", ("id",)),
    records.AgentRecord: ("agent", ("name",)),
    records.ApplicationRecord: ("application", ("name",)),
    records.ArtifactRecord: ("artifact", ("digest",)),
    records.AuditRecord: ("entry of the audit", ("position",)),
    records.ClusterRecord: ("cluster", ("name",)),
    records.CommitRecord: ("commit", ("application", "commit")),
    records.Finding: ("finding", ("run_id", "position")),
    records.Lease: ("lease", ("name",)),
    records.LogLine: ("line of the log", ("run_id", "position")),
    records.ProjectFilesRecord: ("set of project files", ("source",)),
    records.RequestRecord: ("request", ("id",)),
    records.ServerRecord: ("server", ("id",)),
    records.WorkspaceRecord: ("workspace", ("name",)),
    run_records.ApprovalRecord: ("approval", ("run_id", "position")),
    run_records.EventRecord: ("event", ("run_id", "number")),
    run_records.OutboxMessage: ("notification", ("id",)),
    run_records.RunHead: ("run", ("id",)),
    run_records.StageRecord: ("stage", ("run_id", "id")),
    run_records.TaskRecord: ("task", ("run_id", "stage", "target")),
}


def names(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a kind of record that are columns."""
    fields: tuple[str, ...] = kind.__match_args__
    return tuple(name for name in fields if name != _WHY)


def values(record: object, **others: object) -> Values:
    """Return the row of a record, with `others` of its columns."""
    return {name: getattr(record, name) for name in names(type(record))} | others


def read(kind: type[Record], row: Row) -> Record:
    """Read a record from a row, which may have more columns than the record has fields.

    Raises:
        unreadable.UnreadableError: It cannot be read, and the record has no field to say so.
    """
    record, why = recover(kind, row)
    if not why:
        return record
    if _WHY not in kind.__match_args__:  # type: ignore[attr-defined]
        raise unreadable.UnreadableError(described(kind, row, why))
    saying: Record = replace(record, unreadable=why)  # type: ignore[type-var]
    return saying


def recover(kind: type[Record], row: Row, **instead: object) -> tuple[Record, str]:
    """Return what can be read of a record, and why the rest cannot be; empty: all of it can.

    What cannot be read is empty, or what is given `instead` by the name of its column.
    """
    found, troubles = [], []
    for name, types, empty, is_of_texts in _columns(kind):
        value = getattr(row, name)
        if value.__class__ not in types or (is_of_texts and not _holds_texts(value)):
            troubles.append(_trouble(name, value))
            value = instead.get(name, empty)
        found.append(value)
    return kind(**dict(zip(names(kind), found, strict=True))), "; ".join(troubles)


def read_all(
    kind: type[Record], found: Iterable[Row], set_aside: unreadable.SetAside
) -> tuple[Record, ...]:
    """Read what can be read, in order; the others are logged, once each, and left as they are."""
    readable = []
    for row in found:
        record, why = recover(kind, row)
        if why:
            set_aside.note(described(kind, row, why))
        else:
            readable.append(record)
    return tuple(readable)


def described(kind: type[Any], row: Row, why: str) -> unreadable.UnreadableRow:
    """Return which row it is that cannot be read, and why."""
    what, keys = _NAMES[kind]
    return unreadable.UnreadableRow(what, "/".join(str(getattr(row, key)) for key in keys), why)


def documents(row: Row, *columns: str) -> tuple[tuple[dict[str, Any], ...], str]:
    """Return documents of a row, and why they cannot be read; empty: all of them can."""
    found = [getattr(row, name) for name in columns]
    troubles = [
        _trouble(name, value)
        for name, value in zip(columns, found, strict=True)
        if value.__class__ is not dict
    ]
    return tuple(value if value.__class__ is dict else {} for value in found), "; ".join(troubles)


def matching(table: sa.Table, **wanted: str) -> list[sa.ColumnElement[bool]]:
    """Return conditions on columns; what is empty does not narrow the list."""
    return [table.c[name] == value for name, value in wanted.items() if value]


#: Name, the types that it may have, what is empty, and whether it is an object of texts.
_Column = tuple[str, frozenset[type[Any]], object, bool]
_EMPTY: Mapping[type[Any], object] = {str: "", int: 0, bool: False, datetime: EPOCH}


#: Columns of the kinds of records that were read.
_KNOWN: dict[type[Any], tuple[_Column, ...]] = {}


def _columns(kind: type[Any]) -> tuple[_Column, ...]:
    """Return the columns of a kind of record."""
    if kind not in _KNOWN:
        _KNOWN[kind] = _found_columns(kind)
    return _KNOWN[kind]


def _found_columns(kind: type[Any]) -> tuple[_Column, ...]:
    hints = get_type_hints(kind)
    return tuple(
        (name, *_expected(hints[name]), get_args(hints[name]) == (str, str)) for name in names(kind)
    )


def _expected(hint: Any) -> tuple[frozenset[type[Any]], object]:
    if get_origin(hint) in (Union, UnionType):
        types = [part for inner in get_args(hint) for part in _expected(inner)[0]]
        return frozenset(types), None
    if hint is NoneType:
        return frozenset({NoneType}), None
    if hint in _EMPTY:
        return frozenset({hint}), _EMPTY[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return frozenset({hint}), next(iter(hint))
    return frozenset({dict}), {}


def _holds_texts(labels: Mapping[object, object]) -> bool:
    return all(value.__class__ is str for value in labels.values())


def joined(*troubles: str) -> str:
    """Return why a record cannot be read, of why its parts cannot be."""
    return "; ".join(filter(None, troubles))


def _trouble(name: str, value: object) -> str:
    if isinstance(value, column_types.Broken):
        return f"its {name} {value.why}"
    return f"its {name} is of another type"
