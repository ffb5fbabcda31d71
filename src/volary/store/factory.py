"""Opens a store by its address: the one place that knows all addresses.

===========================================  =======================================
``memory:``                                   nothing outlives the process
``sqlite:volary.db``, ``sqlite:/var/lib/…``   a file, made when it is not there
``postgresql://user@host/name``               needs the extra ``volary[postgres]``
===========================================  =======================================
"""

import importlib.util
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import sqlalchemy as sa

from volary.model import clocks, errors
from volary.store import migrator, records, stores
from volary.store.sql.database import database

_LOG = logging.getLogger(__name__)

#: Of an address of PostgreSQL, those of its driver that make sense there.
_OPTIONS = frozenset(
    {
        *("host", "port", "user", "password", "passfile", "ssl", "target_session_attrs"),
        *("krbsrvname", "gsslib"),
    }
)
_HINT = "write memory:, sqlite:FILE or postgresql://USER:PASSWORD@HOST/NAME"


@asynccontextmanager
async def open_store(
    address: str,
    *,
    clock: clocks.Clock,
    limits: records.Limits | None = None,
    lease_clock: clocks.Clock | None = None,
    known: migrator.KnownSchema = migrator.KNOWN,
) -> AsyncIterator[stores.Store]:
    """Open the store, bring its schema up to date, and close it at the end.

    Leases go by the `lease_clock`; None: by the clock of the machine that the database is on.

    Raises:
        errors.UserError: The address is none, or the database belongs to a newer version by now.
        errors.TemporaryError: The database cannot be reached or used now.
    """
    limits = limits or records.Limits()
    url = parse(address)
    _make_private(url)
    base = database.Database(url, busy=limits.busy)
    try:
        await migrator.migrate(base, known)
        times = lease_clock or (clock if base.is_sqlite else None)
        yield stores.Store(base, clock=clock, limits=limits, lease_clock=times, known=known)
    finally:
        await base.close()


def parse(address: str) -> sa.URL:
    """Return the URL with the driver that belongs to `address`.

    Raises:
        errors.UserError: It is none we know; the message does not repeat it, for it may hold a
            password.
    """
    scheme, _, rest = address.partition(":")
    if address == "memory:":
        return sa.URL.create("sqlite+aiosqlite")
    if scheme == "sqlite" and rest:
        return _file(rest)
    if scheme in ("postgresql", "postgres") and rest.startswith("//"):
        if importlib.util.find_spec("asyncpg") is None:
            raise errors.user_error(
                "PostgreSQL needs a driver", hint="install volary with the extra: volary[postgres]"
            )
        return _server(rest)
    raise errors.user_error("the database's address is of no known kind", hint=_HINT)


def _file(rest: str) -> sa.URL:
    path = Path(rest.removeprefix("///") if rest.startswith("///") else rest)
    if not path.absolute().parent.is_dir():
        raise errors.user_error(
            f"the directory of the database {path} does not exist", hint="make it first"
        )
    if path.is_dir():
        raise errors.user_error(f"the database {path} is a directory", hint="name a file in it")
    return sa.URL.create("sqlite+aiosqlite", database=str(path))


def _make_private(url: sa.URL) -> None:
    """Make SQLite's file for its owner only; its companions get the same permissions.

    A file that is there already stays as somebody made it.
    """
    if url.get_backend_name() != "sqlite" or not url.database:
        return
    try:
        os.close(os.open(url.database, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        # Whoever opens it says what is the matter, and whether it may pass.
        _LOG.debug("%s cannot be made: %s", url.database, error.strerror)


def _server(rest: str) -> sa.URL:
    try:
        url = sa.make_url(f"postgresql+asyncpg:{rest}")
    except (sa.exc.ArgumentError, ValueError):
        # Not chained: the library's message repeats the address with its password.
        raise errors.user_error("the database's address cannot be read", hint=_HINT) from None
    if url.port is not None and not 0 < url.port < 65536:
        raise errors.user_error("the database's address has a port that is none", hint=_HINT)
    if unknown := sorted(set(url.query) - _OPTIONS):
        raise errors.user_error(
            f"the database's address has options that are not known: {', '.join(unknown)}",
            hint="ssl=require or ssl=verify-full stands in the place of sslmode"
            if "sslmode" in unknown
            else f"known are {', '.join(sorted(_OPTIONS))}",
        )
    return url
