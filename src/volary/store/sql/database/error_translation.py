"""Turns errors of databases into ours; what each means is said by `error_meanings`.

Messages name neither statements nor parameters nor addresses with passwords.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from volary.model import errors
from volary.store.sql.database import error_meanings

#: asyncpg's word for a plan that the server dropped because tables changed: it is made anew.
_STALE_PLAN = "InvalidCachedStatementError"


@contextmanager
def translated() -> Iterator[None]:
    """Turn a database's errors into ours; whatever no database said stays a bug."""
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
    """Return what `error` means; None when no database said it."""
    for fault in _causes(error):
        meaning = _of_sqlite(fault) or _of_postgres(fault)
        if meaning is not None:
            return meaning
    gone = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    if gone or any(isinstance(cause, OSError) for cause in _causes(error)):
        return errors.TemporaryError(error_meanings.GONE.sentence)
    # asyncpg's own word for a connection that went away between two statements.
    if any(type(cause).__name__ == "InterfaceError" for cause in _causes(error)):
        return errors.TemporaryError(error_meanings.GONE.sentence)
    return None


def is_read_only(error: BaseException) -> bool:
    """Say whether SQLite could open its file, and not write to it."""
    names = (getattr(cause, "sqlite_errorname", "") for cause in _causes(error))
    return any(name.startswith("SQLITE_READONLY") for name in names)


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
    return _raised(error_meanings.of_sqlite(name), name) if name else None


def _of_postgres(error: BaseException) -> errors.VolaryError | None:
    code = getattr(error, "sqlstate", None) or ""
    if not re.fullmatch(r"[0-9A-Z]{5}", code):
        return None
    names = {type(cause).__name__ for cause in _causes(error)}
    if _STALE_PLAN in names:
        return errors.TemporaryError("the database's tables have just changed")
    return _raised(error_meanings.of_postgres(code), code)


def _raised(meaning: error_meanings.Meaning, code: str) -> errors.VolaryError:
    """Return the error of a meaning; the code is named where it alone says what happened."""
    said = f"{meaning.sentence}; {meaning.hint}" if meaning.hint else meaning.sentence
    match meaning.kind:
        case error_meanings.Kind.TEMPORARY:
            return errors.TemporaryError(said)
        case error_meanings.Kind.USER:
            return errors.user_error(meaning.sentence, hint=meaning.hint)
        case error_meanings.Kind.DAMAGED:
            return errors.PermanentError(said)
        case error_meanings.Kind.REFUSED:
            return errors.PermanentError(f"{meaning.sentence} ({code}); {meaning.hint}")
        case error_meanings.Kind.NO_ERROR:
            return errors.PermanentError(f"the database answered {code}, which is no error")
