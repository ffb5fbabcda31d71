"""A webhook reaches any server, and the leader looks: the word goes through the database.

However many pushes come, a server that stands by writes once a second at most, and the leader asks
once a second.
"""

import asyncio
import logging
from collections.abc import Callable

from volary.model import errors
from volary.store import stores

_LOG = logging.getLogger(__name__)
#: Seconds between two looks or writes.
_INTERVAL = 1.0


class RefreshRelay:
    """Passes on which repositories somebody wants looked at.

    Args:
        refresh: Has a repository looked at, if this process is the leader; says whether it is.
    """

    def __init__(self, refresh: Callable[[str], bool]) -> None:
        self._refresh = refresh
        self._wanted: set[str] = set()
        self._seen: dict[str, int] | None = None

    def request(self, repository: str) -> None:
        """Have a repository looked at soon, by whoever leads; returns at once."""
        if not self._refresh(repository):
            self._wanted.add(repository)

    async def keep_relaying(self, store: stores.Store, is_leader: Callable[[], bool]) -> None:
        """Tell others and hear from them until cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            try:
                if is_leader():
                    await self._hear(store)
                else:
                    await self._tell(store)
            except errors.TemporaryError as error:
                _LOG.debug("no word about repositories can be passed on now: %s", error)

    async def _tell(self, store: stores.Store) -> None:
        # What the leader looks at first when it begins is everything.
        self._seen = None
        wanted, self._wanted = self._wanted, set()
        try:
            if wanted:
                await store.refreshes.ask(wanted)
        except errors.TemporaryError:
            self._wanted |= wanted
            raise

    async def _hear(self, store: stores.Store) -> None:
        counts = await store.refreshes.all()
        seen, self._seen = self._seen, counts
        wanted, self._wanted = self._wanted, set()
        changed = {name for name in counts if seen is not None and counts[name] != seen.get(name)}
        for name in wanted | changed:
            self._refresh(name)
