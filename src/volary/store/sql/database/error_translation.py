"""What errors of databases mean, as two tables; translated here and nowhere else.

Messages name neither statements nor parameters nor addresses with passwords.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from volary.model import errors

_BUSY = "the database is locked by another process"
_FULL = "the database's disk is full"
_GONE = "the database cannot be reached"

#: Beginning of SQLite's error name → what to tell.
_SQLITE_TEMPORARY = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": "the database's disk does not work",
    "SQLITE_CANTOPEN": "the database's file cannot be opened",
    "SQLITE_READONLY": "the database's file is read-only",
    "SQLITE_INTERRUPT": "the database broke the work off",
}
_SQLITE_PERMANENT = {
    "SQLITE_CORRUPT": "the database's file is damaged; restore it from a backup",
    "SQLITE_NOTADB": "the file is not a database",
}

#: Beginning of PostgreSQL's SQLSTATE → what to tell.
_POSTGRES_TEMPORARY = {
    "08": _GONE,
    # Two made the same row at once (no statement here makes one twice by itself): whoever
    # tries again sees the other's.
    "23505": "another transaction came first",
    "25006": "the database is read-only now",
    "40001": "another transaction came first",
    "40P01": "another transaction came first",
    "53100": _FULL,
    "53": "the database has no room for more work",
    "55P03": _BUSY,
    "57014": "the database broke the work off",
    "57P": "the database is shutting down or starting",
}
_POSTGRES_USER = {
    "28": "the database refuses the user or the password",
    "3D000": "the database does not exist",
    "42501": "the database's user lacks a permission",
}


@contextmanager
def translated() -> Iterator[None]:
    """Turn a database's errors into ours; whatever is no known fault stays a bug."""
    try:
        yield
    except errors.VolaryError:
        raise
    except sa.exc.TimeoutError as error:
        raise errors.TemporaryError("no connection to the database became free") from error
    # Drivers raise many kinds; what is not understood goes on as it is.
    except Exception as error:
        meaning = translate(error)
        if meaning is None:
            raise
        raise meaning from error


def translate(error: BaseException) -> errors.VolaryError | None:
    """Return what `error` means; None when it is no fault of the database."""
    for fault in _causes(error):
        meaning = _of_sqlite(fault) or _of_postgres(fault)
        if meaning is not None:
            return meaning
    gone = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    if gone or any(isinstance(cause, OSError) for cause in _causes(error)):
        return errors.TemporaryError(_GONE)
    # asyncpg's own word for a connection that went away between two statements.
    if any(type(cause).__name__ == "InterfaceError" for cause in _causes(error)):
        return errors.TemporaryError(_GONE)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and those it was made from, at most ten."""
    current: BaseException | None = error
    for _ in range(10):
        if current is None:
            return
        yield current
        orig = getattr(current, "orig", None)
        current = orig if isinstance(orig, BaseException) else current.__cause__


def _of_sqlite(error: BaseException) -> errors.VolaryError | None:
    name = getattr(error, "sqlite_errorname", "")
    if sentence := _longest(_SQLITE_TEMPORARY, name):
        return errors.TemporaryError(sentence)
    if sentence := _longest(_SQLITE_PERMANENT, name):
        return errors.PermanentError(sentence)
    return None


def _of_postgres(error: BaseException) -> errors.VolaryError | None:
    code = getattr(error, "sqlstate", None) or ""
    if not re.fullmatch(r"[0-9A-Z]{5}", code):
        return None
    if sentence := _longest(_POSTGRES_TEMPORARY, code):
        return errors.TemporaryError(sentence)
    if sentence := _longest(_POSTGRES_USER, code):
        return errors.user_error(sentence)
    return None


def _longest(table: dict[str, str], code: str) -> str:
    """Return the entry whose key is the longest beginning of `code`; empty: none is."""
    fitting = [key for key in table if code.startswith(key)]
    return table[max(fitting, key=len)] if fitting else ""
