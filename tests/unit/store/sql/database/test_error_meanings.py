"""Every documented error of both databases has a meaning, with words and what to do about it."""

import sqlite3

import pytest
import sqlalchemy as sa

from volary.model import errors
from volary.store.sql.database import error_meanings, error_translation

Kind = error_meanings.Kind
#: sqlite.org/rescode.html: the primary result codes.
PRIMARY = """\
ABORT AUTH BUSY CANTOPEN CONSTRAINT CORRUPT DONE EMPTY ERROR FORMAT FULL INTERNAL INTERRUPT IOERR
LOCKED MISMATCH MISUSE NOLFS NOMEM NOTADB NOTFOUND NOTICE OK PERM PROTOCOL RANGE READONLY ROW SCHEMA
TOOBIG WARNING
"""
#: There too: the extended ones, also those newer than this machine's SQLite.
EXTENDED = """\
ABORT_ROLLBACK AUTH_USER BUSY_RECOVERY BUSY_SNAPSHOT BUSY_TIMEOUT CANTOPEN_CONVPATH
CANTOPEN_DIRTYWAL CANTOPEN_FULLPATH CANTOPEN_ISDIR CANTOPEN_NOTEMPDIR CANTOPEN_SYMLINK
CONSTRAINT_CHECK CONSTRAINT_COMMITHOOK CONSTRAINT_DATATYPE CONSTRAINT_FOREIGNKEY
CONSTRAINT_FUNCTION CONSTRAINT_NOTNULL CONSTRAINT_PINNED CONSTRAINT_PRIMARYKEY CONSTRAINT_ROWID
CONSTRAINT_TRIGGER CONSTRAINT_UNIQUE CONSTRAINT_VTAB CORRUPT_INDEX CORRUPT_SEQUENCE CORRUPT_VTAB
ERROR_MISSING_COLLSEQ ERROR_RETRY ERROR_SNAPSHOT IOERR_ACCESS IOERR_AUTH IOERR_BEGIN_ATOMIC
IOERR_BLOCKED IOERR_CHECKRESERVEDLOCK IOERR_CLOSE IOERR_COMMIT_ATOMIC IOERR_CONVPATH
IOERR_CORRUPTFS IOERR_DATA IOERR_DELETE IOERR_DELETE_NOENT IOERR_DIR_CLOSE IOERR_DIR_FSYNC
IOERR_FSTAT IOERR_FSYNC IOERR_GETTEMPPATH IOERR_IN_PAGE IOERR_LOCK IOERR_MMAP IOERR_NOMEM
IOERR_RDLOCK IOERR_READ IOERR_ROLLBACK_ATOMIC IOERR_SEEK IOERR_SHMLOCK IOERR_SHMMAP IOERR_SHMOPEN
IOERR_SHMSIZE IOERR_SHORT_READ IOERR_TRUNCATE IOERR_UNLOCK IOERR_VNODE IOERR_WRITE
LOCKED_SHAREDCACHE LOCKED_VTAB NOTICE_RBU NOTICE_RECOVER_ROLLBACK NOTICE_RECOVER_WAL
OK_LOAD_PERMANENTLY OK_SYMLINK READONLY_CANTINIT READONLY_CANTLOCK READONLY_DBMOVED
READONLY_DIRECTORY READONLY_RECOVERY READONLY_ROLLBACK WARNING_AUTOINDEX
"""
#: Appendix A of PostgreSQL's manual: the classes.
CLASSES = """\
00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42
44 53 54 55 57 58 72 F0 HV P0 XX
"""
DOCUMENTED_SQLITE = tuple(f"SQLITE_{name}" for name in f"{PRIMARY} {EXTENDED}".split())


def of_driver() -> tuple[str, ...]:
    """Return the result codes that Python's driver knows; other constants have other names."""
    known = set(DOCUMENTED_SQLITE)
    codes = {vars(sqlite3)[name] for name in known if name in vars(sqlite3)}
    # Authorizer actions share numbers with primary codes, but with no extended one.
    return tuple(
        name
        for name, number in vars(sqlite3).items()
        if name.startswith("SQLITE_")
        and isinstance(number, int)
        and (name in known or (number > 255 and number & 255 in codes))
    )


def of_asyncpg() -> tuple[str, ...]:
    """Return every SQLSTATE that PostgreSQL documents, as asyncpg lists them."""
    exceptions = pytest.importorskip("asyncpg.exceptions")
    return tuple(
        sorted(
            {
                kind.sqlstate
                for kind in vars(exceptions).values()
                if isinstance(kind, type) and getattr(kind, "sqlstate", None)
            }
        )
    )


class DriverError(Exception):
    """An error as a driver raises it."""

    def __init__(self, **said: str) -> None:
        super().__init__("SELECT secret")
        self.__dict__.update(said)


def wrapped(error: Exception) -> sa.exc.DBAPIError:
    return sa.exc.DBAPIError("SELECT secret", {"password": "hunter2"}, error)


def test_every_primary_code_and_every_class_has_a_line_of_its_own() -> None:
    assert {f"SQLITE_{name}" for name in PRIMARY.split()} <= error_meanings.SQLITE.keys()
    assert set(CLASSES.split()) <= error_meanings.POSTGRES.keys()
    assert error_meanings.SQLITE.keys() <= set(DOCUMENTED_SQLITE), "no line is a typing mistake"


def test_no_code_of_the_drivers_is_left_to_chance() -> None:
    for name in {*DOCUMENTED_SQLITE, *of_driver()}:
        assert any(name.startswith(key) for key in error_meanings.SQLITE), name
    codes = of_asyncpg()
    assert len(codes) > 200
    for code in codes:
        assert code[:2] in error_meanings.POSTGRES, code
    # "57P" stands for the codes of a class that only PostgreSQL has.
    single = {key for key in error_meanings.POSTGRES if len(key) > 2} - {"57P"}
    assert single <= set(codes), "no line is a typing mistake"


def test_every_error_says_what_and_what_to_do() -> None:
    raised = [
        error_translation.translate(wrapped(DriverError(sqlite_errorname=name)))
        for name in DOCUMENTED_SQLITE
    ] + [error_translation.translate(wrapped(DriverError(sqlstate=code))) for code in of_asyncpg()]

    for error in raised:
        assert isinstance(error, errors.TemporaryError | errors.PermanentError | errors.UserError)
        assert str(error)
        assert "secret" not in str(error)
        assert "hunter2" not in str(error)
    meanings = {*error_meanings.SQLITE.values(), *error_meanings.POSTGRES.values()}
    for meaning in meanings:
        waits = meaning.kind in (Kind.TEMPORARY, Kind.NO_ERROR)
        assert meaning.hint or waits, f"nobody knows what to do about {meaning.sentence}"
        assert bool(meaning.sentence) == (meaning.kind is not Kind.NO_ERROR)


SOME = [
    ({"sqlite_errorname": "SQLITE_PROTOCOL"}, Kind.TEMPORARY, "locked by another process"),
    ({"sqlite_errorname": "SQLITE_NOMEM"}, Kind.TEMPORARY, "no memory left"),
    ({"sqlite_errorname": "SQLITE_IOERR_WRITE"}, Kind.TEMPORARY, "disk does not work"),
    ({"sqlite_errorname": "SQLITE_IOERR_DATA"}, Kind.DAMAGED, "restore it from a backup"),
    ({"sqlite_errorname": "SQLITE_READONLY_DBMOVED"}, Kind.USER, "moved or replaced"),
    ({"sqlite_errorname": "SQLITE_CONSTRAINT_UNIQUE"}, Kind.REFUSED, "SQLITE_CONSTRAINT_UNIQUE"),
    ({"sqlstate": "58030"}, Kind.TEMPORARY, "disk does not work"),
    ({"sqlstate": "25P03"}, Kind.TEMPORARY, "broke the work off"),
    ({"sqlstate": "40003"}, Kind.TEMPORARY, "another transaction came first"),
    ({"sqlstate": "XX001"}, Kind.DAMAGED, "restore it from a backup"),
    ({"sqlstate": "42P01"}, Kind.USER, "has not the tables of this version"),
    ({"sqlstate": "57P04"}, Kind.USER, "does not exist any more"),
    ({"sqlstate": "26000"}, Kind.USER, "pool by session"),
    ({"sqlstate": "22P02"}, Kind.REFUSED, "(22P02)"),
    ({"sqlstate": "ZZ999"}, Kind.REFUSED, "(ZZ999)"),
]
RAISED = {
    Kind.TEMPORARY: errors.TemporaryError,
    Kind.USER: errors.UserError,
    Kind.DAMAGED: errors.PermanentError,
    Kind.REFUSED: errors.PermanentError,
}


@pytest.mark.parametrize(("said", "kind", "words"), SOME)
def test_who_can_help_is_told(said: dict[str, str], kind: Kind, words: str) -> None:
    error = error_translation.translate(wrapped(DriverError(**said)))

    assert isinstance(error, RAISED[kind])
    assert words in str(error)


def test_a_plan_that_the_server_dropped_is_made_anew() -> None:
    exceptions = pytest.importorskip("asyncpg.exceptions")
    error = error_translation.translate(wrapped(exceptions.InvalidCachedStatementError("old")))

    assert isinstance(error, errors.TemporaryError)
