"""Column types that mean the same in both databases."""

import datetime as dates
from collections.abc import Callable
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import interfaces

#: A 64-bit number that counts up by itself; only INTEGER does so in SQLite.
POSITION = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def clean(text: str) -> str:
    """Return `text` with what no database takes (NUL, half a surrogate pair) replaced.

    Commit messages and answers of clusters may hold anything.
    """
    if "\x00" in text:
        text = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


class Words(sa.types.TypeDecorator[str]):
    """Text of any length from anywhere."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: interfaces.Dialect) -> str | None:
        """Clean what comes in."""
        return None if value is None else clean(value)


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
        return None if value is None else encode(value)

    def process_result_value(
        self, value: str | None, dialect: interfaces.Dialect
    ) -> dict[str, Any] | None:
        """Read it."""
        return None if value is None else msgspec.json.decode(value, type=dict[str, Any])


def encode(document: object) -> str:
    """Return `document` as JSON text; half surrogate pairs inside are replaced."""
    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_every_text(document, clean)).decode()


def _every_text(value: object, change: Callable[[str], str]) -> object:
    match value:
        case str():
            return change(value)
        case dict():
            return {change(key): _every_text(each, change) for key, each in value.items()}
        case list() | tuple():
            return [_every_text(each, change) for each in value]
        case _:
            return value
