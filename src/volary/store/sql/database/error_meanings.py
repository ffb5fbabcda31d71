"""What each documented error of the two databases means: a table of each. Pure.

A code has the meaning of the longest key it begins with. Sources: the result codes of SQLite
(sqlite.org/rescode.html) and the error codes of PostgreSQL (appendix A of its manual). Each class
of PostgreSQL, and each primary code of SQLite, has a line; single codes have one where they mean
something else than their class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What helps."""

    #: It passes, or somebody mends it while everything waits: the same is tried again.
    TEMPORARY = "temporary"
    #: Somebody has to change settings, rights or tables of the database.
    USER = "user"
    #: What is stored cannot be read any more.
    DAMAGED = "damaged"
    #: A statement that should never have been sent, or that something added to the database broke.
    REFUSED = "refused"
    #: The call did what it should.
    NO_ERROR = "no error"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error means."""

    kind: Kind
    #: What users see.
    sentence: str = ""
    #: What to do about it.
    hint: str = ""


def _temporary(sentence: str, hint: str = "") -> Meaning:
    return Meaning(Kind.TEMPORARY, sentence, hint)


def _user(sentence: str, hint: str) -> Meaning:
    return Meaning(Kind.USER, sentence, hint)


_BUSY = _temporary("the database is locked by another process")
_FULL = _temporary("the database's disk is full", "free space, and everything goes on")
GONE = _temporary("the database cannot be reached")
_FIRST = _temporary("another transaction came first")
_BROKEN_OFF = _temporary("the database broke the work off")
_NO_ROOM = _temporary(
    "the database has no room for more work", "raise its limits, or let fewer processes use it"
)
_NO_MEMORY = _temporary("the database has no memory left", "give its machine more")
_DISK = _temporary("the database's disk does not work", "look at the machine's log")
_RESTARTING = _temporary("the database is shutting down or starting")
_BACKUP = "restore it from a backup"
_DAMAGED_FILE = Meaning(Kind.DAMAGED, "the database's file is damaged", _BACKUP)
_DAMAGED = Meaning(Kind.DAMAGED, "the database is damaged", _BACKUP)
_REFUSED = Meaning(
    Kind.REFUSED, "the database refused a statement", "this is a mistake of Volary: report it"
)
_ADDED = Meaning(
    Kind.REFUSED,
    "something that was added to the database failed",
    "remove triggers, rules and foreign tables that are not Volary's",
)
_POOLER = _user(
    "a connection pooler mixes sessions of the database up",
    "connect to PostgreSQL itself, or pool by session",
)
_TABLES = _user(
    "the database has not the tables of this version",
    "restart Volary, which brings them up to date; stop those of other versions",
)
_NO_ERROR = Meaning(Kind.NO_ERROR)

#: Beginning of a result code's name.
SQLITE: Mapping[str, Meaning] = {
    "SQLITE_ABORT": _BROKEN_OFF,
    "SQLITE_AUTH": _REFUSED,
    "SQLITE_BUSY": _BUSY,
    "SQLITE_CANTOPEN": _temporary(
        "the database's file cannot be opened", "look at its directory and its permissions"
    ),
    "SQLITE_CONSTRAINT": _REFUSED,
    "SQLITE_CORRUPT": _DAMAGED_FILE,
    "SQLITE_DONE": _NO_ERROR,
    "SQLITE_EMPTY": _REFUSED,
    "SQLITE_ERROR": _REFUSED,
    "SQLITE_ERROR_RETRY": _FIRST,
    "SQLITE_ERROR_SNAPSHOT": _FIRST,
    "SQLITE_FORMAT": _REFUSED,
    "SQLITE_FULL": _FULL,
    "SQLITE_INTERNAL": _REFUSED,
    "SQLITE_INTERRUPT": _BROKEN_OFF,
    "SQLITE_IOERR": _DISK,
    "SQLITE_IOERR_AUTH": _temporary(
        "the database's file is not accessible", "look at its permissions"
    ),
    "SQLITE_IOERR_BLOCKED": _BUSY,
    "SQLITE_IOERR_CORRUPTFS": _DAMAGED_FILE,
    "SQLITE_IOERR_DATA": _DAMAGED_FILE,
    "SQLITE_IOERR_NOMEM": _NO_MEMORY,
    # The file that its processes share could not be made as large as it has to be.
    "SQLITE_IOERR_SHMSIZE": _FULL,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_MISMATCH": _REFUSED,
    "SQLITE_MISUSE": _REFUSED,
    "SQLITE_NOLFS": _user(
        "the database's file system does not take large files", "keep it on another one"
    ),
    "SQLITE_NOMEM": _NO_MEMORY,
    "SQLITE_NOTADB": Meaning(Kind.DAMAGED, "the file is not a database", _BACKUP),
    "SQLITE_NOTFOUND": _REFUSED,
    "SQLITE_NOTICE": _NO_ERROR,
    "SQLITE_OK": _NO_ERROR,
    "SQLITE_PERM": _temporary(
        "the database's file cannot be given its permissions", "look at its directory"
    ),
    # Others changed how the file is locked, as when it is written ahead for the first time.
    "SQLITE_PROTOCOL": _BUSY,
    "SQLITE_RANGE": _REFUSED,
    "SQLITE_READONLY": _temporary(
        "the database's file is read-only", "look at its permissions and its file system"
    ),
    "SQLITE_READONLY_DBMOVED": _user(
        "the database's file was moved or replaced while it was in use", "restart Volary"
    ),
    "SQLITE_ROW": _NO_ERROR,
    # Another process migrated it: the statement is prepared anew.
    "SQLITE_SCHEMA": _FIRST,
    "SQLITE_TOOBIG": _REFUSED,
    "SQLITE_WARNING": _NO_ERROR,
}

#: Beginning of an SQLSTATE: a class of two characters, or a whole code.
POSTGRES: Mapping[str, Meaning] = {
    "00": _NO_ERROR,
    "01": _NO_ERROR,
    "02": _NO_ERROR,
    "03": _REFUSED,
    "08": GONE,
    "09": _ADDED,
    "0A": _REFUSED,
    "0B": _REFUSED,
    "0F": _REFUSED,
    "0L": _REFUSED,
    "0P": _user("the database does not know the user's role", "look at the settings' store"),
    "0Z": _REFUSED,
    "10": _REFUSED,
    "20": _REFUSED,
    "21": _REFUSED,
    "22": _REFUSED,
    "23": _REFUSED,
    # Two made the same row at once (no statement here makes one twice by itself): whoever
    # tries again sees the other's.
    "23505": _FIRST,
    "24": _REFUSED,
    "25": _REFUSED,
    "25006": _temporary("the database is read-only now", "it may be a stand-by of its cluster"),
    "25P03": _BROKEN_OFF,
    "25P04": _BROKEN_OFF,
    "26": _POOLER,
    "27": _ADDED,
    "28": _user("the database refuses the user or the password", "look at the settings' store"),
    "2B": _REFUSED,
    "2D": _REFUSED,
    "2F": _ADDED,
    "34": _REFUSED,
    "38": _ADDED,
    "39": _ADDED,
    "3B": _REFUSED,
    "3D": _user("the database does not exist", "create it, or look at the settings' store"),
    "3F": _user("the database's schema does not exist", "look at the user's search_path"),
    "40": _FIRST,
    "42": _REFUSED,
    "42501": _user("the database's user lacks a permission", "make it the owner of the database"),
    "42703": _TABLES,
    "42P01": _TABLES,
    "42P05": _POOLER,
    "44": _ADDED,
    "53": _NO_ROOM,
    "53100": _FULL,
    "53200": _NO_MEMORY,
    "54": _REFUSED,
    "55": _temporary("the database is not ready for that"),
    "55006": _BUSY,
    "55P03": _BUSY,
    "57": _BROKEN_OFF,
    "57P": _RESTARTING,
    "57P04": _user("the database does not exist any more", "restore it from a backup"),
    "58": _DISK,
    "58P01": Meaning(Kind.DAMAGED, "a file of the database is missing", _BACKUP),
    "72": _FIRST,
    "F0": _temporary("the database's own settings have errors", "look at the database's log"),
    "HV": _ADDED,
    "P0": _ADDED,
    "XX": _temporary("the database had an internal error", "look at the database's log"),
    "XX001": _DAMAGED,
    "XX002": Meaning(
        Kind.DAMAGED, "an index of the database is damaged", "REINDEX it, or restore a backup"
    ),
}

#: Of a code that is in no list: another vendor's.
UNKNOWN = _REFUSED


def of_sqlite(name: str) -> Meaning:
    """Return what a result code means, by its name: ``SQLITE_BUSY_SNAPSHOT``."""
    return _longest(SQLITE, name)


def of_postgres(code: str) -> Meaning:
    """Return what an SQLSTATE means, five characters."""
    return _longest(POSTGRES, code)


def _longest(table: Mapping[str, Meaning], code: str) -> Meaning:
    """Return the entry whose key is the longest beginning of `code`."""
    fitting = [key for key in table if code.startswith(key)]
    return table[max(fitting, key=len)] if fitting else UNKNOWN
