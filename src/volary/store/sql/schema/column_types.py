"""Column types that mean the same in both databases, and never fail when they are read.

A value that cannot be read comes out as `Broken`: one row of many then stops nobody, and who reads
it decides (`rows`).
"""

import datetime as dates
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import interfaces

from volary.model import json
from volary.store import encoding

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Broken:
    """What stands for a value that cannot be read."""

    #: A clause without a word of the value: it may be secret.
    why: str


class _Readable(sa.types.TypeDecorator[Value]):
    """Reads as its base does; what cannot be read is `Broken`."""

    cache_ok = True
    __abstract__ = True
    #: What it is not, when it cannot be read.
    what = ""

    def result_processor(self, dialect: interfaces.Dialect, coltype: object) -> Any:
        """Return what reads a value of the database."""
        process: Callable[[Any], Any] | None = super().result_processor(dialect, coltype)
        what = self.what

        def read(value: Any) -> Any:
            try:
                return value if process is None else process(value)
            # The drivers' own converters are among them: whatever they raise, it cannot be read.
            except (ValueError, TypeError, RecursionError, OverflowError, msgspec.MsgspecError):
                return Broken(what)

        return read


#: Text sorted by code points in every database, whatever its locale.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


class CleanText(sa.types.TypeDecorator[str]):
    """Text of any length from anywhere."""

    impl = TEXT
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: interfaces.Dialect) -> str | None:
        """Clean what comes in."""
        return None if value is None else encoding.clean(value)


class UtcTime(_Readable[dates.datetime]):
    """A time in UTC, to the microsecond; SQLite keeps it as text that sorts by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True
    what = "is not a time"

    def process_bind_param(
        self, value: dates.datetime | None, dialect: interfaces.Dialect
    ) -> dates.datetime | None:
        """Turn it to UTC."""
        if value is None:
            return None
        return value.astimezone(dates.UTC)

    def process_result_value(
        self, value: dates.datetime | None, dialect: interfaces.Dialect
    ) -> dates.datetime | None:
        """Say that it is UTC; SQLite does not."""
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=dates.UTC)


class Document(_Readable[dict[str, Any]]):
    """JSON made by the caller, kept as the text it is."""

    impl = sa.Text
    cache_ok = True
    what = "is not a JSON object that can be read"

    def process_bind_param(
        self, value: dict[str, Any] | None, dialect: interfaces.Dialect
    ) -> str | None:
        """Write it as JSON."""
        return None if value is None else encoding.encode(value)

    def process_result_value(
        self, value: str | None, dialect: interfaces.Dialect
    ) -> dict[str, Any] | None:
        """Read it."""
        return None if value is None else json.decode(value, dict[str, Any])


class Word(_Readable[StrEnum]):
    """One of the words of an enumeration."""

    impl = TEXT
    cache_ok = True
    what = "is a word that is not known"

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: StrEnum | None, dialect: interfaces.Dialect) -> str | None:
        """Write the word."""
        return None if value is None else value.value

    def process_result_value(
        self, value: str | None, dialect: interfaces.Dialect
    ) -> StrEnum | None:
        """Read it."""
        return None if value is None else self.kind(value)
