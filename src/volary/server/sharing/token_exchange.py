"""API tokens are the same on every server: what the file of one has goes to the others.

Each server keeps the file of its machine, which `volary token` writes without a running server, and
exchanges it with the database. Tokens are only made and, once and for good, revoked, so it does not
matter who comes first. A server that has not heard from the database for a while believes no token:
so a revoked one opens nothing anywhere after `LONGEST` at the latest.
"""

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime

import msgspec

from volary.model import errors, json
from volary.server.authentication import token_uses, tokens
from volary.store import records, stores

_LOG = logging.getLogger(__name__)
#: Seconds between two exchanges, and after which silence of the database no token is believed.
INTERVAL, LONGEST = 2.0, 15.0


class TokenExchange:
    """Exchanges the tokens of a file with the database.

    Args:
        store: The database.
        kept: The file.
        uses: When tokens were used here, and elsewhere.
    """

    def __init__(
        self, store: stores.Store, kept: tokens.TokenFile, uses: token_uses.TokenUses
    ) -> None:
        self._store, self._kept, self._uses = store.api_tokens, kept, uses
        self._exchanged: tuple[object, object] | None = None
        self._heard = float("-inf")
        self._told_uses = float("-inf")
        self._complaint = ""

    @property
    def is_current(self) -> bool:
        """Whether what was revoked elsewhere is known here, to `LONGEST` seconds."""
        return asyncio.get_running_loop().time() - self._heard <= LONGEST

    async def exchange(self) -> None:
        """Take what is new in the database, and give what is new in the file.

        Raises:
            errors.UserError: The file cannot be read or written.
            errors.TemporaryError: The database cannot be used now.
        """
        asked = asyncio.get_running_loop().time()
        state = (await self._store.stamp(), await asyncio.to_thread(self._kept.stamp))
        uses_are_due = asked - self._told_uses >= token_uses.INTERVAL.total_seconds()
        if state != self._exchanged or uses_are_due:
            await self._exchange(asked, with_uses=uses_are_due)
            # As it was before: what came in between is found the next time.
            self._exchanged = state
            self._told_uses = asked if uses_are_due else self._told_uses
        self._heard = asked

    async def try_exchanging(self) -> None:
        """Exchange; what cannot be done now is said in the log, once for each reason."""
        try:
            await self.exchange()
        except errors.VolaryError as error:
            if str(error) != self._complaint:
                _LOG.warning("API tokens cannot be exchanged with the database: %s", error)
            self._complaint = str(error)
        else:
            self._complaint = ""

    async def keep_exchanging(self) -> None:
        """Exchange again and again until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL)
            await self.try_exchanging()

    async def _exchange(self, asked: float, *, with_uses: bool) -> None:
        known = {row.id: row for row in await self._store.all()}
        for row in known.values():
            if row.used is not None:
                self._uses.note(row.id, row.used)
        merged = await asyncio.to_thread(self._kept.take_in, _tokens(known.values()))
        # Also where nothing can be written now, such as on a full disk.
        self._heard = asked
        uses = self._uses.all() if with_uses else {}
        news = [
            row
            for token in merged
            if _says_more(row := _row(token, uses.get(token.id)), known.get(token.id))
        ]
        gone = known.keys() - {token.id for token in merged}
        if news or gone:
            await self._store.keep(news, gone=gone)


def _row(token: tokens.Token, used: datetime | None) -> records.ApiTokenRecord:
    document = msgspec.to_builtins(msgspec.structs.replace(token, revoked=None))
    return records.ApiTokenRecord(token.id, document, token.revoked, used)


def _tokens(kept: Iterable[records.ApiTokenRecord]) -> list[tokens.Token]:
    return [
        msgspec.structs.replace(json.convert(row.document, tokens.Token), revoked=row.revoked)
        for row in kept
    ]


def _says_more(row: records.ApiTokenRecord, known: records.ApiTokenRecord | None) -> bool:
    """Say whether a row has something that the one in the database has not."""
    if known is None:
        return True
    is_used_later = row.used is not None and (known.used is None or row.used > known.used)
    return is_used_later or (row.revoked is not None and known.revoked is None)
