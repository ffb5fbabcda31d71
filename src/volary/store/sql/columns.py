"""Column types that mean the same in both databases."""

import datetime as dates
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import interfaces

from volary.store import texts

#: A 64-bit number that counts up by itself; only INTEGER does so in SQLite.
POSITION = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


#: Text sorted by code points in every database, whatever its locale.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


class Words(sa.types.TypeDecorator[str]):
    """Text of any length from anywhere."""

    impl = TEXT
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: interfaces.Dialect) -> str | None:
        """Clean what comes in."""
        return None if value is None else texts.clean(value)


class Instant(sa.types.TypeDecorator[dates.datetime]):
    """A time in UTC, to the microsecond; SQLite keeps it as text that sorts by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

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


class Document(sa.types.TypeDecorator[dict[str, Any]]):
    """JSON made by the caller, kept as the text it is."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(
        self, value: dict[str, Any] | None, dialect: interfaces.Dialect
    ) -> str | None:
        """Write it as JSON."""
        return None if value is None else texts.encode(value)

    def process_result_value(
        self, value: str | None, dialect: interfaces.Dialect
    ) -> dict[str, Any] | None:
        """Read it."""
        return None if value is None else msgspec.json.decode(value, type=dict[str, Any])
