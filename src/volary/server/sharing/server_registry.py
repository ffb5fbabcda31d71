"""Who else serves: each server says every few seconds that it is there, and hears who is.

Limits of one address are for all servers together, without a word about any request: each gives
everybody its share, one of as many as there are.
"""

import asyncio
import logging
import socket
from datetime import UTC, datetime, timedelta

from volary import __version__
from volary.controller.api import server_service
from volary.model import errors, server_settings
from volary.store import records, schema_versions, stores

_LOG = logging.getLogger(__name__)
#: Between two signs of life.
INTERVAL = timedelta(seconds=5)
#: How long nobody must have needed what is taken out of the schema: time to go back in.
QUIET = timedelta(days=1)
#: Between two tries to take something out of the schema.
_CONTRACTION = timedelta(minutes=10)
_GOODBYE = 2.0
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class ServerRegistry:
    """This server among the others of its database.

    Args:
        store: The database.
        identity: Of this life of the process.
        address: Where others reach it.
    """

    def __init__(self, store: stores.Store, identity: str, address: str) -> None:
        self._store = store
        self._own = records.ServerRecord(
            identity, socket.gethostname(), address, __version__, "", _BEGINNING, _BEGINNING
        )
        self._interval = INTERVAL.total_seconds()
        #: How many servers there are, this one among them.
        self.count = 1
        self._tried = float("-inf")

    async def register(self) -> None:
        """Say that this server is there, for the first time; if that cannot be said now, later.

        Raises:
            errors.UserError: Its program may not use this database any more.
        """
        try:
            await self._register()
        except errors.TemporaryError as error:
            _LOG.warning("the other servers cannot be told of this one now: %s", error)

    async def _register(self) -> None:
        self._own = await self._store.servers.register(self._own, keep=QUIET)
        await self._beat()

    async def keep_registered(self) -> None:
        """Say so again and again until cancelled, and say goodbye then.

        Raises:
            errors.UserError: This program may not use the database any more: it has to end.
        """
        try:
            while True:
                await asyncio.sleep(self._interval)
                try:
                    await self._beat()
                except errors.TemporaryError as error:
                    # As many as there were: none of the others is known to be gone.
                    _LOG.debug("the other servers cannot be asked for now: %s", error)
        finally:
            await self._say_goodbye()

    async def _beat(self) -> None:
        standing = await self._store.servers.beat(self._own.id, silence=server_service.SILENCE)
        if standing is None:
            # Forgotten, for it was silent for long; or never known.
            await self._register()
            return
        self.count = max(1, len(standing.live))
        await self._contract(standing.schema)

    async def _contract(self, schema: schema_versions.SchemaState) -> None:
        """Take out of the schema what nobody needs any more, if there is anything."""
        now = asyncio.get_running_loop().time()
        is_due = now - self._tried >= _CONTRACTION.total_seconds()
        if not is_due or schema.oldest >= min(schema.present, self._own.revision):
            return
        self._tried = now
        for revision in await self._store.contract(quiet=QUIET):
            _LOG.info("nobody needs the schema before %s any more: it was contracted", revision)

    async def _say_goodbye(self) -> None:
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._store.servers.end(self._own.id)
        except (errors.VolaryError, TimeoutError) as error:
            _LOG.debug("no goodbye was said: %s", error)


def address_of(settings: server_settings.Settings, taken: socket.socket) -> str:
    """Return where other processes reach a server: as the settings say, or where it listens."""
    if settings.advertise:
        return settings.advertise.rstrip("/")
    scheme = "https" if settings.tls else "http"
    host = settings.host
    if host in ("0.0.0.0", "::"):
        host = socket.getfqdn()
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{taken.getsockname()[1]}"
